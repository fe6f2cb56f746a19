"""An observer for structlog."""

from __future__ import annotations

from typing import Any

from .._limits.events import BreakerChanged, Ended, Event, Run, WaitBegan
from .._limits.observers import Observer
from .._words.extras import needed


def structlog_observer(logger: Any = None) -> Observer:
    """Make an observer that logs warnings: waits after failures, failed runs, breakers that change.

    Each line about a run has its name and its id, so the lines of one run can be found.

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

    def warn(what: str, run: Run, failure: BaseException, details: dict[str, Any]) -> None:
        named = {"run": run.name, "run_id": run.id, "tries": run.tries}
        to.warning(what, **named, **details, failure=repr(failure))

    def observer(event: Event) -> None:
        if isinstance(event, BreakerChanged):
            to.warning("circuit breaker", breaker=event.name, state=event.state)
        elif isinstance(event, WaitBegan) and event.failure is not None:
            details = {"rung": event.rung, "seconds": event.seconds}
            warn("waits", event.run, event.failure, details)
        elif isinstance(event, Ended) and event.failure is not None:
            run = event.run
            waits = {"wait_count": run.wait_count, "wait_seconds": run.wait_seconds}
            warn("ended", run, event.failure, {"reason": event.reason, **waits})

    return observer
