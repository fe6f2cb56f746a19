"""Running programs in tests: scripted answers, virtual time, and a trace of what was performed."""

from .scripts import Answers, Unscripted, always, answers, by_command, computed, takes
from .virtual import Performed, Virtual, VirtualAsync, waited

__all__ = [
    "Answers",
    "Performed",
    "Unscripted",
    "Virtual",
    "VirtualAsync",
    "always",
    "answers",
    "by_command",
    "computed",
    "takes",
    "waited",
]
