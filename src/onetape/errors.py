"""Errors by whose fault they are; any other exception out of onetape is a bug of ours."""


class OnetapeError(Exception):
    """The parent of all our errors: its text is one line for a person."""


class Unparsed(OnetapeError):
    """The agent said something that cannot be decoded. Becomes `agent.unparsed`; nothing is lost."""


class Refused(OnetapeError):
    """The caller asked for something that cannot be done; the text names what, and what to do."""


class AgentFailed(OnetapeError):
    """The agent's process could not be started, or died."""


class Missing(Refused):
    """What the caller named is not there."""


class NotInstalled(Missing):
    """The agent's program is not on this machine; the text says how to get it."""


class Conflict(Refused):
    """It is there already, or was decided otherwise before."""


class Exists(Conflict):
    """A session of this id is there already."""


class Forbidden(Refused):
    """The caller may not do this here."""


class StoreFailed(OnetapeError):
    """The log could not be written (a full disk, a broken file). What was committed before is safe."""


class ModeNotSupported(Refused):
    """The agent has no such mode; the text lists those that it has."""


class InstallFailed(OnetapeError):
    """npm could not install an agent, or what it installed does not run; the text has npm's last words."""
