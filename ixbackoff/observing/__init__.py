"""Observers: who is told what programs, functions and blocks do, while they run."""

from .._limits.nesting import tries_so_far
from .._limits.observers import (
    Answered,
    Began,
    Ended,
    Event,
    Issued,
    Observer,
    Run,
    Waits,
    observe,
    observed,
)
from .._words.reasons import Reason, Story, story

__all__ = [
    "Answered",
    "Began",
    "Ended",
    "Event",
    "Issued",
    "Observer",
    "Reason",
    "Run",
    "Story",
    "Waits",
    "observe",
    "observed",
    "story",
    "tries_so_far",
]
