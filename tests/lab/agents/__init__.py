"""The subjects of the lab: for each agent, how it is pointed at the scripted model and what its tools are called.

`subject.py` says what is to be known of one; a new agent is a file here and a line below.
"""

from lab.agents import amp, claude, codex, opencode, pi
from lab.agents.subject import Subject

SUBJECTS: tuple[Subject, ...] = (claude.SUBJECT, codex.SUBJECT, opencode.SUBJECT, amp.SUBJECT, pi.SUBJECT)
