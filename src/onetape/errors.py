"""Errors by whose fault they are; any other exception out of onetape is a bug of ours."""


class OnetapeError(Exception):
    """The parent of all our errors: its text is one line for a person."""


class Unparsed(OnetapeError):
    """The agent said something that cannot be decoded. Becomes `agent.unparsed`; nothing is lost."""


class Refused(OnetapeError):
    """The caller asked for something that cannot be done; the text names what, and what to do."""


class AgentFailed(OnetapeError):
    """The agent's process could not be started, or died."""
