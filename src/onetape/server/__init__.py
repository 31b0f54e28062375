"""The daemon's HTTP side, thin over sessions: one file per noun, and around them security, problems and streams.

Nothing is imported here: `onetape --help` must not wait for a web framework.
"""
