"""The log: tapes and transcripts of all sessions, behind one interface."""
