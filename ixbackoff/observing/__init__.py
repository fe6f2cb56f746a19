"""Observers: who is told what programs, functions and blocks do, while they run."""

from .._limits.events import Answered, Began, Ended, Event, Issued, Run, Waits
from .._limits.nesting import tries_so_far
from .._limits.observers import Observer, observe, observed
from .._words.reasons import Reason, Story, story
from .counters import to_prometheus
from .events import to_structlog
from .spans import to_opentelemetry

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
    "to_opentelemetry",
    "to_prometheus",
    "to_structlog",
    "tries_so_far",
]

for _public in (
    Answered,
    Began,
    Ended,
    Issued,
    Observer,
    Run,
    Story,
    Waits,
    observe,
    observed,
    story,
    tries_so_far,
):  # or a traceback would say ixbackoff._limits.events.Began
    _public.__module__ = __name__
del _public
