"""Schedules: how the k-th wait of a run becomes seconds."""

from .algebra import Schedule
from .base import Chance, Timing, WaitFunction
from .kinds import Computed, Constant, Exponential, Fibonacci, Listed

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
