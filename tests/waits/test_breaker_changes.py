"""Circuit breakers that go by a rate, and what they tell when they open and close."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from ixbackoff import (
    N0,
    N1,
    Call,
    CircuitBreaker,
    CircuitOpen,
    Constant,
    NotReady,
    at,
    backoff,
    call,
    do,
)
from ixbackoff.fleet import instantly, simulate
from ixbackoff.live import live
from ixbackoff.observing import BreakerChanged, Event, observed, structlog_observer
from ixbackoff.testing import Virtual, always, answers

from ..support.ids import shown

Way = Callable[[CircuitBreaker, list[Any]], list[str]]
"""Calls with one try each, which end as they are told; what came of each of them."""


def outcome(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as failure:
        return type(failure).__name__
    return "well"


def give(ends: list[Any]) -> Callable[[], object]:
    left = iter(ends)

    def ask() -> object:
        end = next(left)
        if isinstance(end, Exception):
            raise end
        return end

    return ask


def functions(breaker: CircuitBreaker, ends: list[Any]) -> list[str]:
    ask = backoff(N0, breaker=breaker)(give(ends))
    return [outcome(ask) for _ in ends]


def async_functions(breaker: CircuitBreaker, ends: list[Any]) -> list[str]:
    plain = give(ends)

    @backoff(N0, breaker=breaker)
    async def ask() -> object:
        return plain()

    async def main() -> object:
        return await ask()

    return [outcome(lambda: asyncio.run(main())) for _ in ends]


def blocks(breaker: CircuitBreaker, ends: list[Any]) -> list[str]:
    plain = give(ends)

    def ask() -> None:
        for one_try in backoff(N0, breaker=breaker):
            with one_try:
                plain()

    return [outcome(ask) for _ in ends]


def programs(breaker: CircuitBreaker, ends: list[Any]) -> list[str]:
    asked = at(N0).do(call(give(ends))).end()
    return [outcome(lambda: asked.run(live(), breaker=breaker)) for _ in ends]


def guarded(breaker: CircuitBreaker, ends: list[Any]) -> list[str]:
    asked = at(N0).do(do(call(give(ends))).guarded(breaker)).end()
    return [outcome(lambda: asked.run(live())) for _ in ends]


each_way = pytest.mark.parametrize(
    "way", [functions, async_functions, blocks, programs, guarded], ids=shown
)
BAD = NotReady("down")


@each_way
def test_it_opens_if_enough_of_the_last_tries_failed(way: Way) -> None:
    breaker = CircuitBreaker(rate=0.5, of=4, within=60, open_for=60)
    assert way(breaker, [BAD, 1, 1, KeyError(), BAD, 1, BAD]) == [
        *("NotReady", "well", "well", "KeyError", "NotReady", "well", "NotReady"),
    ]
    assert breaker.state == "open"  # two of the last four; a KeyError is an answer
    assert way(breaker, [1]) == ["CircuitOpen"]


@each_way
def test_it_stays_closed_if_fewer_failed(way: Way) -> None:
    breaker = CircuitBreaker(rate=0.5, of=4, within=60, open_for=60)
    assert way(breaker, [BAD, 1, 1, 1] * 5).count("NotReady") == 5
    assert breaker.closed


def test_tries_before_the_time_do_not_count_nor_do_those_before_it_closed() -> None:
    breaker = CircuitBreaker(rate=1, of=2, within=5, open_for=10)
    ends = [BAD, BAD, BAD, "probe", BAD, "page"]
    world = Virtual(Call.handled_by(answers(*ends)))
    ask = at(N1).retry(call(str))
    with pytest.raises(NotReady):
        ask.run(world.interpreter, breaker=breaker, schedule=Constant(6))
    assert breaker.closed
    with pytest.raises(CircuitOpen):
        ask.run(world.interpreter, breaker=breaker)
    assert ask.run(world.interpreter, breaker=breaker) == "probe"
    assert ask.run(world.interpreter, breaker=breaker) == "page"
    assert breaker.closed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Give failures=5, or rate=0.5 and of=20"),
        ({"failures": 5, "rate": 0.5, "of": 20}, "Give failures=5, or rate=0.5 and of=20"),
        ({"rate": 0.5}, "Give failures=5, or rate=0.5 and of=20"),
        ({"failures": 5, "of": 20}, "Give failures=5, or rate=0.5 and of=20"),
        ({"rate": 0, "of": 20}, "rate=0: give a number of failures a try"),
        ({"rate": 1.5, "of": 20}, "rate=1.5: give a number of failures a try"),
        ({"rate": 0.5, "of": 0}, "of=0: give a whole number"),
    ],
)
def test_wrong_arguments(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CircuitBreaker(**given, within=10, open_for=30)


def test_its_repr_has_the_rate_and_the_name() -> None:
    breaker = CircuitBreaker(rate=0.25, of=20, within=10, open_for=30, name="payments")
    opens = "opens for 30 s after 25% of 20 tries failed within 10 s"
    assert repr(breaker) == f"<CircuitBreaker 'payments': closed, {opens}>"


@each_way
def test_observers_and_the_log_are_told(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    breaker = CircuitBreaker(failures=2, within=60, open_for=0.001, name="payments")
    events: list[Event] = []
    with observed(events.append), caplog.at_level(logging.INFO, "ixbackoff"):
        assert way(breaker, [BAD, BAD]) == ["NotReady", "NotReady"]
        while "well" not in way(breaker, [1]):
            pass
    changes = [event for event in events if isinstance(event, BreakerChanged)]
    assert changes == [BreakerChanged("payments", "open"), BreakerChanged("payments", "closed")]
    told = [record for record in caplog.records if record.message.startswith("circuit breaker")]
    assert [(record.levelname, record.message) for record in told] == [
        ("WARNING", "circuit breaker 'payments' is open for 0.001 s: 2 failures within 60 s"),
        ("INFO", "circuit breaker 'payments' is closed: its probe succeeded"),
    ]
    assert {record.__dict__["ixbackoff_breaker"] for record in told} == {"payments"}


def test_a_probe_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    breaker = CircuitBreaker(failures=1, within=60, open_for=0.001)
    while functions(breaker, [BAD]) != ["NotReady"] or breaker._probe == 0:
        pass
    told = [message for message in caplog.messages if message.startswith("circuit breaker")]
    assert told == [
        "circuit breaker is open for 0.001 s: 1 failure within 60 s",
        "circuit breaker is open for 0.001 s: its probe failed",
    ]


def test_an_observer_that_fails_changes_nothing() -> None:
    breaker = CircuitBreaker(failures=1, within=60, open_for=60)

    def wrong(event: Event) -> None:
        if isinstance(event, BreakerChanged):
            raise ZeroDivisionError

    with observed(wrong), pytest.warns(RuntimeWarning, match="the observer"):
        assert functions(breaker, [BAD, 1]) == ["NotReady", "CircuitOpen"]


def test_fleets_are_silent(caplog: pytest.LogCaptureFixture) -> None:
    breaker = CircuitBreaker(failures=1, within=60, open_for=2)
    events: list[Event] = []
    service = instantly(Call.handled_by(always(NotReady())))
    asked = at(N1).retry(call(print))
    with observed(events.append):
        simulate(asked, service, clients=1, seconds=100, think=1, breaker=lambda _: breaker)
    assert breaker.state == "open"
    assert (events, caplog.messages) == ([], [])


def test_structlog_has_a_line() -> None:
    with capture_logs() as lines, observed(structlog_observer()):
        functions(CircuitBreaker(failures=1, within=9, open_for=9, name="payments"), [BAD])
    assert [line for line in lines if "breaker" in line] == [
        {
            "event": "circuit breaker",
            "log_level": "warning",
            "breaker": "payments",
            "state": "open",
        }
    ]
