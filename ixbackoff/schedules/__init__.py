"""Schedules: how the k-th wait of a run becomes seconds."""

from .algebra import Schedule
from .kinds import Computed, Constant, Exponential, Fibonacci, Listed
from .timings import Chance, Timing, WaitFunction

__all__ = [
    "Chance",
    "Computed",
    "Constant",
    "Exponential",
    "Fibonacci",
    "Listed",
    "Schedule",
    "Timing",
    "WaitFunction",
]
