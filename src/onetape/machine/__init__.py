"""The agents on this machine: which are there, how to get them, what they can do, and whether somebody is logged in.

Knows no agent by name: what is special about one stands in its `Agent`. Runs nothing but
`--version`, `--help`, npm, and a program that is asked for its models; sessions are not its business.
"""

from onetape.machine.asking import models
from onetape.machine.capabilities import capabilities, modes
from onetape.machine.finding import Found, find
from onetape.machine.installing import install
from onetape.machine.login import credentials

__all__ = ["Found", "capabilities", "credentials", "find", "install", "models", "modes"]
