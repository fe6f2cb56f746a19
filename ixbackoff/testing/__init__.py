"""Programs in tests: scripted answers, virtual time, and a trace of the performed commands."""

from .._running.traces import Performed
from .scripts import Answers, Unscripted, always, answers, by_command, computed, takes
from .switches import NoWaits, SingleTry, no_waits, single_try
from .virtual import Virtual, VirtualAsync, waited
from .worlds import Worlds

__all__ = [
    "Answers",
    "NoWaits",
    "SingleTry",
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
    "single_try",
    "takes",
    "waited",
]
