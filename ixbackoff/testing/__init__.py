"""Running programs in tests: scripted answers, virtual time, and a trace of what was performed."""

from .scripts import Answers, Unscripted, always, answers, by_command, computed, takes
from .switches import NoWaits, Once, no_waits, once
from .virtual import Performed, Virtual, VirtualAsync, waited
from .worlds import Worlds

__all__ = [
    "Answers",
    "NoWaits",
    "Once",
    "Performed",
    "Unscripted",
    "Virtual",
    "VirtualAsync",
    "Worlds",
    "always",
    "answers",
    "by_command",
    "computed",
    "no_waits",
    "once",
    "takes",
    "waited",
]
