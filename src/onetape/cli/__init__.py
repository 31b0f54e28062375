"""The command line: one file per family of commands, thin over the library."""
