"""Observers, which receive the events of programs, functions and blocks as they run."""

from .._limits.events import (
    Answered,
    Began,
    BreakerChanged,
    Ended,
    Event,
    Hedged,
    Issued,
    Run,
    WaitBegan,
)
from .._limits.nesting import tries_so_far
from .._limits.observers import Observer, observe, observed
from .._words.end_reasons import Reason
from .._words.notes import Story, story
from .._words.wrong_arguments import explain_arguments
from .json_lines import json_observer
from .opentelemetry import opentelemetry_observer
from .prometheus import prometheus_observer
from .structlog import structlog_observer

__all__ = [
    "Answered",
    "Began",
    "BreakerChanged",
    "Ended",
    "Event",
    "Hedged",
    "Issued",
    "Observer",
    "Reason",
    "Run",
    "Story",
    "WaitBegan",
    "observe",
    "observed",
    "story",
    "json_observer",
    "opentelemetry_observer",
    "prometheus_observer",
    "structlog_observer",
    "tries_so_far",
]

explain_arguments(globals(), ("observe", "observed", "story"))
# or a traceback would say ixbackoff._limits.events.Began
for _public in [globals()[_name] for _name in __all__]:
    if str(getattr(_public, "__module__", "")).startswith("ixbackoff._"):
        _public.__module__ = __name__
