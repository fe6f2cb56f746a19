"""Programs in tests: scripted answers, virtual time, and a trace of the performed commands."""

from .._running.traces import Performed
from .._words.wrong_arguments import explain_arguments
from .scripts import Answers, Unscripted, always, answers, by_command, computed, takes
from .suite_switches import NoWaits, SingleTry, no_waits, single_try
from .virtual import Virtual, VirtualAsync, waited
from .virtual_fixture import Worlds

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

explain_arguments(globals(), ("Virtual", "VirtualAsync", "always", "by_command", "computed"))
explain_arguments(globals(), ("no_waits", "single_try", "takes", "waited"))
