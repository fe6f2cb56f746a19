"""An observer for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._limits.events import Ended, Event, Hedged, WaitBegan
from .._limits.observers import Observer
from .._words.extras import needed

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


def prometheus_observer(registry: CollectorRegistry | None = None) -> Observer:
    """Make an observer that counts runs, retries and the seconds of waits, and measures runs.

    - `ixbackoff_runs_total{run, outcome}`: runs that have ended, by the reason.
    - `ixbackoff_retries_total{run, error_type}`: waits after a failure, by its class.
    - `ixbackoff_run_seconds{run}`: a histogram of the seconds of runs, with their waits.
    - `ixbackoff_hedged_total{run, won}`: hedged tries, by whether their copy was answered first.
    - `ixbackoff_waited_seconds_total{run}`: the seconds of all waits, counted when they begin.

    Make one observer for each registry: a registry takes each name once.

    >>> from ixbackoff.observing import observed, prometheus_observer
    >>> from prometheus_client import CollectorRegistry
    >>> with observed(prometheus_observer(CollectorRegistry())):
    ...     pass

    Args:
        registry: the registry of the counters; by default that of `prometheus_client`.

    Raises:
        ImportError: prometheus-client is not installed.
        ValueError: the registry has such counters already.
    """
    with needed("prometheus_observer", "prometheus", {"prometheus_client"}):
        from prometheus_client import REGISTRY, Counter, Histogram
    into = REGISTRY if registry is None else registry
    runs = Counter("ixbackoff_runs", "Runs that have ended.", ("run", "outcome"), registry=into)
    retries = Counter(
        "ixbackoff_retries", "Waits after a failure.", ("run", "error_type"), registry=into
    )
    waited = Counter("ixbackoff_waited_seconds", "Seconds of all waits.", ("run",), registry=into)
    copies = Counter("ixbackoff_hedged", "Tries with a copy.", ("run", "won"), registry=into)
    seconds = Histogram("ixbackoff_run_seconds", "Seconds of runs.", ("run",), registry=into)

    def observer(event: Event) -> None:
        if isinstance(event, WaitBegan):
            name = event.run.name
            if event.failure is not None:
                retries.labels(name, event.failure.__class__.__qualname__).inc()
            waited.labels(name).inc(event.seconds)
        elif isinstance(event, Hedged):
            copies.labels(event.run.name, str(event.won).lower()).inc()
        elif isinstance(event, Ended):
            runs.labels(event.run.name, event.reason).inc()
            seconds.labels(event.run.name).observe(event.seconds)

    return observer
