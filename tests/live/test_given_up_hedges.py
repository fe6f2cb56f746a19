"""Hedges in threads that are given up, or told of a `Retry-After`: no request comes after that."""

from __future__ import annotations

import time
from threading import Thread
from typing import Any

import pytest

from ixbackoff import N0, N1, Hedge, Limiter, Throttled, all_of, at, do, read, time_limit
from ixbackoff.live import live


def warm() -> Hedge:
    """A hedge that knows that an answer takes 0.1 s, and may have a copy."""
    hedge = Hedge(0.25, known=1, least=0.1)
    for _ in range(4):
        hedge.begin()
    hedge.hear(None, 0.1, 0.0)
    return hedge


def test_a_retry_after_ends_the_race_and_is_heard() -> None:
    asked: list[float] = []
    limiter, began = Limiter(line=60), time.monotonic()

    def ask() -> str:
        asked.append(time.monotonic() - began)
        if len(asked) == 1:
            time.sleep(0.3)
            raise Throttled(0.9)
        if len(asked) == 2:
            time.sleep(time_limit(5))
        return "ok"

    asking = do(read(ask)).hedged(warm()).limit(1).through(limiter)
    assert at(N1).retry(asking).run(live()) == "ok"
    assert len(asked) == 3
    assert asked[2] - asked[0] >= 1.2, "the ladder and the limiter have heard the Retry-After"


def test_no_copy_begins_after_a_sibling_has_failed() -> None:
    asked: list[str] = []

    def slow() -> None:
        asked.append("slow")
        time.sleep(0.6)

    def fails() -> None:
        time.sleep(0.02)
        raise ValueError("as planned")

    both = all_of(do(read(slow)).hedged(warm()), read(fails))
    with pytest.raises(ValueError, match="as planned"):
        at(N0).do(both).run(live())
    assert asked == ["slow"]


def test_without_a_thread_for_the_copy_the_first_request_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Any] = []
    start = Thread.start

    def only_the_first(thread: Thread) -> None:
        started.append(thread)
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    def slow() -> str:
        time.sleep(0.3)
        return "ok"

    monkeypatch.setattr(Thread, "start", only_the_first)
    assert at(N0).do(do(read(slow)).hedged(warm())).run(live()) == "ok"
    assert len(started) == 2
