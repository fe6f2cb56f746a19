"""Observing by structlog."""

from __future__ import annotations

from typing import Any

from .._limits.events import Ended, Event, WaitBegan
from .._limits.observers import Observer
from .._words.extras import needed


def structlog_observer(logger: Any = None) -> Observer:
    """Make an observer that logs waits after failures, and runs that give up, as warnings.

    A run is bound by its name and its number, so that the lines of one run can be found.

    >>> from ixbackoff.observing import observed, structlog_observer
    >>> with observed(structlog_observer()):
    ...     pass

    Args:
        logger: a structlog logger; by default `structlog.get_logger("ixbackoff")`.

    Raises:
        ImportError: structlog is not installed.
    """
    with needed("structlog_observer", "structlog", {"structlog"}):
        import structlog
    to: Any = logger or structlog.get_logger("ixbackoff")

    def observer(event: Event) -> None:
        run = event.run
        if isinstance(event, WaitBegan) and event.failure is not None:
            to.warning(
                "waits",
                run=run.name,
                run_id=run.id,
                tries=run.tries,
                rung=event.rung,
                seconds=event.seconds,
                failure=repr(event.failure),
            )
        elif isinstance(event, Ended) and event.failure is not None:
            to.warning(
                "ended",
                run=run.name,
                run_id=run.id,
                reason=event.reason,
                tries=run.tries,
                wait_count=run.wait_count,
                wait_seconds=run.wait_seconds,
                failure=repr(event.failure),
            )

    return observer
