"""Clients that come from outside: a channel's throughput, and a service that retries keep down."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest

from ixbackoff import N0, N1, N3, Command, Constant, NotReady, Program, RetryBudget, Z, at, do
from ixbackoff.fleet import (
    BoundedQueue,
    Channel,
    Events,
    Outage,
    Outcome,
    Request,
    Service,
    Serving,
    simulate,
)


class Send(Command[None]):
    __slots__ = ()


FRAME = 0.01


def throughput(load: float, slotted: bool, seconds: float = 300.0) -> float:
    """The share of time in which frames are sent well, where so many begin per frame."""
    outcome = simulate(
        at(N0).do(Send()).end(),
        Channel(FRAME, slotted).serves(Send),
        arrivals=load / FRAME,
        seconds=seconds,
    )
    return outcome.total(lambda second: second.well) * FRAME / seconds


@pytest.mark.slow
@pytest.mark.parametrize(("slotted", "peak", "most"), [(True, 1.0, 0.3679), (False, 0.5, 0.1839)])
def test_the_peaks_of_slotted_and_pure_aloha(slotted: bool, peak: float, most: float) -> None:
    at_peak = throughput(peak, slotted)
    assert at_peak == pytest.approx(most, rel=0.02)
    assert throughput(peak / 2, slotted, 50.0) < at_peak > throughput(2 * peak, slotted, 50.0)


@pytest.mark.parametrize("load", [0.1, 3.0])
def test_a_channel_with_little_or_much_to_send(load: float) -> None:
    assert throughput(load, True, 40.0) == pytest.approx(load * exp(-load), rel=0.1)
    assert throughput(load, False, 40.0) == pytest.approx(load * exp(-2 * load), rel=0.3)


@pytest.mark.slow
def test_a_stopped_channel_loses_what_is_on_it() -> None:
    outcome = simulate(
        at(N0).do(Send()).end(),
        Channel(FRAME).serves(Send),
        arrivals=10,
        seconds=30,
        outages=[Outage(10, 10)],
    )
    assert [outcome.rate(lambda one: one.well, since, since + 10) > 5 for since in (0, 10, 20)] == [
        True,
        False,
        True,
    ]


def asked(rate: float, budget: RetryBudget | None = None) -> Outcome:
    """A server that can do 300/s is stopped for 10 s; who waits for a second asks once more."""
    return simulate(
        at(N1).retry(do(Send()).limit(1.0)),
        BoundedQueue(length=10_000, work=1 / 300).serves(Send),
        arrivals=rate,
        seconds=250,
        schedule=Constant(0.0),
        budget=None if budget is None else lambda _: budget,
        outages=[Outage(10, 10)],
    )


@pytest.mark.slow
def test_retries_hold_a_server_down_that_has_room_for_first_tries_only() -> None:
    stuck, well = asked(280), asked(140)
    assert stuck.rate(lambda one: one.asked, 200, 250) == pytest.approx(560, rel=0.02)
    assert stuck.rate(lambda one: one.well, 200, 250) < 1
    assert well.rate(lambda one: one.well, 200, 250) == pytest.approx(140, rel=0.05)
    assert well.rate(lambda one: one.asked, 200, 250) == pytest.approx(140, rel=0.05)


def test_those_who_have_left_are_forgotten() -> None:
    alive: list[int] = []

    class Counting(Service):
        def begin(self, events: Events) -> Serving:  # noqa: ARG002
            return Answering()

    class Answering(Serving):
        def ask(self, request: Request) -> None:
            alive.append(request.client)
            request.fail(NotReady())

    outcome = simulate(
        at(N3).retry(Send()), Counting().serves(Send), arrivals=20, seconds=60, seed=3
    )
    assert outcome.clients == max(alive) + 1 == pytest.approx(1200, rel=0.1)
    assert outcome.total(lambda one: one.gave_up) == pytest.approx(20 * (60 - 7), rel=0.1)


def test_a_function_of_the_number_makes_the_program_of_each_who_comes() -> None:
    numbers: list[int] = []

    def program(number: int) -> Program[N0, Z, None, Send]:
        numbers.append(number)
        return at(N0).do(Send())

    outcome = simulate(program, Channel(1e-6).serves(Send), arrivals=3, seconds=30)
    assert numbers == [*range(outcome.clients)]
    assert outcome.total(lambda one: one.well) == outcome.clients > 60


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"clients": 3, "arrivals": 1.0},
        {"arrivals": 0.0},
        {"arrivals": float("inf")},
        {"arrivals": 2.0, "think": 1.0},
    ],
    ids=str,
)
def test_either_clients_or_arrivals(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"arrivals|clients"):
        simulate(at(N0).do(Send()).end(), Channel(1).serves(Send), seconds=3, **wrong)


def test_the_same_seed_gives_the_same_arrivals() -> None:
    some = [
        simulate(at(N1).retry(Send()), Channel(0.1).serves(Send), arrivals=9, seconds=20, seed=seed)
        for seed in (1, 1, 2)
    ]
    assert some[0] == some[1] != some[2]


@pytest.mark.parametrize("frame", [0.0, -1.0, float("inf"), float("nan")])
def test_a_frame_takes_some_time(frame: float) -> None:
    with pytest.raises(ValueError, match="frame"):
        Channel(frame)
