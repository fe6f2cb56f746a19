"""Schedules: how the k-th wait of a run becomes seconds."""

from .algebra import Schedule
from .kinds import Computed, Constant, Exponential, Fibonacci, Listed, check_schedule, powers_of_two
from .timings import Chance, Timing, Waits, usable

__all__ = [
    "Chance",
    "Computed",
    "Constant",
    "Exponential",
    "Fibonacci",
    "Listed",
    "Schedule",
    "Timing",
    "Waits",
    "check_schedule",
    "powers_of_two",
    "usable",
]
