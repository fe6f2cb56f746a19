"""A deadline around plain functions bounds all that they call: their times, waits and new calls."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import pytest

from ixbackoff import (
    N0,
    N3,
    Call,
    CircuitOpen,
    Constant,
    Crowded,
    DeadlineExceeded,
    NotReady,
    at,
    backoff,
    call,
    time_limit,
)
from ixbackoff.live import live
from ixbackoff.testing import Virtual

LONG = Constant(15)


def refused() -> None:
    raise NotReady("refused")


def in_a_function() -> None:
    backoff(N3, schedule=LONG).call(refused)


def in_a_function_with_a_deadline() -> None:
    backoff(N3, schedule=LONG, within=60).call(refused)


def in_a_program() -> None:
    at(N3).retry(call(refused)).run(live(), schedule=LONG)


def in_a_block() -> None:
    for attempt in backoff(N3, schedule=LONG):
        with attempt:
            refused()


@pytest.mark.parametrize(
    "inner", [in_a_function, in_a_function_with_a_deadline, in_a_program, in_a_block]
)
def test_a_wait_that_ends_after_the_deadline_around_is_not_begun(
    inner: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    begun = time.monotonic()
    with caplog.at_level(logging.WARNING), pytest.raises(NotReady, match="refused"):
        backoff(N0, within=5).call(inner)
    assert time.monotonic() - begun < 5
    assert "no time left" in caplog.text


@pytest.mark.parametrize("failure", [CircuitOpen(15), Crowded(15)], ids=repr)
def test_so_is_one_for_which_a_breaker_or_a_gate_asks(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def ask() -> None:
        raise failure

    for inner in (lambda: backoff(N3).call(ask), lambda: at(N3).retry(call(ask)).run(live())):
        caplog.clear()
        with caplog.at_level(logging.WARNING), pytest.raises(type(failure)):
            backoff(N0, within=5).call(inner)
        assert "no time left" in caplog.text


def test_each_call_finds_the_seconds_that_the_calls_before_it_have_left() -> None:
    found: list[float] = []

    @backoff(N3, within=60)
    def page() -> None:
        seconds = time_limit()
        assert seconds is not None
        found.append(seconds)
        time.sleep(0.05)

    def pages() -> None:
        page()
        page()

    backoff(N0, within=5).call(pages)
    assert 4 < found[1] <= found[0] - 0.05 < 5


def test_a_call_with_a_deadline_is_not_begun_once_the_deadline_around_it_has_passed() -> None:
    begun: list[float] = []

    def page() -> None:
        begun.append(time.monotonic())
        time.sleep(0.2)

    def pages() -> None:
        for _ in range(3):
            backoff(N3, within=60).call(page)

    with pytest.raises(DeadlineExceeded):
        backoff(N0, within=0.1).call(pages)
    assert len(begun) == 1


def test_an_earlier_refusal_is_not_the_reason_of_a_later_failure() -> None:
    def broken() -> None:
        raise KeyError("id")

    def both() -> None:
        with pytest.raises(NotReady):
            in_a_function()
        with pytest.raises(KeyError) as caught:
            backoff(N3).call(broken)
        assert "KeyError is not known to pass by itself" in caught.value.__notes__[0]

    backoff(N0, within=5).call(both)


def test_a_wait_that_leaves_time_is_begun() -> None:
    tries: list[None] = []

    def page() -> None:
        tries.append(None)
        refused()

    with pytest.raises(NotReady):
        backoff(N0, within=5).call(lambda: backoff(N3, schedule=Constant(0.001)).call(page))
    assert len(tries) == 4


def test_virtual_time_is_no_deadline_of_the_real_clock() -> None:
    found: list[float | None] = []
    world = Virtual(Call.handled_by(lambda _: found.append(time_limit())))
    at(N0).do(call(refused)).run(world.interpreter, within=5)
    assert found == [5.0]
