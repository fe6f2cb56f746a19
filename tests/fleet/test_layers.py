"""Retries in nested layers: they multiply, and what limits them."""

from __future__ import annotations

from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N0, N1, N2, N3, Exponential, Misuse, RetryBudget, ServerError, at, do
from ixbackoff.fleet import (
    Answering,
    BoundedQueue,
    Events,
    Layer,
    Metered,
    Outage,
    Request,
    Service,
    Serving,
    simulate,
)

from ..support.ways.programs import Ask

RUNGS: list[Any] = [N0, N1, N2, N3]
TRYING: list[Any] = [at(rung).retry(Ask("x")) for rung in RUNGS]
LIMITED: list[Any] = [at(rung).retry(do(Ask("x")).limit(1)) for rung in RUNGS]
LONG = 100_000.0
pytestmark = pytest.mark.slow


class Down(Service):
    """Every request fails at once; or is never answered."""

    def __init__(self, answers: bool = True) -> None:
        self.answers = answers

    def begin(self, _: Events) -> Serving:
        return _Down(self)


class _Down(Serving):
    def __init__(self, model: Down) -> None:
        self.model = model

    def ask(self, request: Request) -> None:
        if self.model.answers:
            request.fail(ServerError(503))


def stack(program: Any, layers: int, bottom: Service, **how: Any) -> Service:
    service = bottom
    for _ in range(layers - 1):
        service = Layer(program, service, **how)
    return service


@given(st.integers(1, 4), st.integers(1, 4), st.floats(0.01, 1), st.floats(1, 3))
def test_tries_multiply_and_their_waits_do(
    tries: int, layers: int, base: float, factor: float
) -> None:
    bottom, schedule, program = Metered(Down()), Exponential(base, factor), TRYING[tries - 1]
    service = stack(program, layers, bottom, schedule=schedule)
    outcome = simulate(program, service.serves(Ask), clients=1, seconds=LONG, schedule=schedule)
    assert bottom.asked.total() == tries**layers
    waits = sum(schedule.preview(tries - 1)) if tries > 1 else 0.0
    times = sum(tries**layer for layer in range(layers))  # (r^n - 1) / (r - 1)
    assert isclose(outcome.ended, waits * times, rel_tol=1e-9)
    assert (outcome.gave_up, outcome.total(lambda second: second.asked)) == (1, tries)


@given(st.integers(1, 4), st.integers(1, 4))
def test_they_multiply_where_nobody_is_told_that_the_client_has_gone(
    tries: int, layers: int
) -> None:
    bottom, schedule, program = Metered(Down(answers=False)), Exponential(0.1), LIMITED[tries - 1]
    service = stack(program, layers, bottom, schedule=schedule)
    outcome = simulate(program, service.serves(Ask), clients=1, seconds=200, schedule=schedule)
    assert bottom.asked.total() == tries**layers
    waits = sum(schedule.preview(tries - 1)) if tries > 1 else 0.0
    assert isclose(outcome.ended, tries + waits, rel_tol=1e-9)


def test_the_next_one_above_gets_the_answer() -> None:
    bottom = Answering(BoundedQueue(9, 0.5), Ask.handled_by(lambda _: 7))
    service = Layer(at(N2).retry(do(Ask("x")).map(lambda answer: answer + 1)), bottom)
    outcome = simulate(at(N0).do(Ask("x")), service.serves(Ask), clients=2, seconds=9, trace=True)
    assert [happened.answer for happened in outcome.trace] == [8, 8]
    assert outcome.ended == 1.0


def test_the_next_one_above_gets_the_failure() -> None:
    service = stack(TRYING[0], 3, Down())
    outcome = simulate(at(N0).do(Ask("x")), service.serves(Ask), clients=1, seconds=9, trace=True)
    [happened] = outcome.trace
    assert isinstance(happened.failure, ServerError)


def test_a_budget_is_that_of_all_runs_of_a_layer_in_one_simulation() -> None:
    bottom = Metered(Down())
    service = Layer(TRYING[3], bottom, budget=lambda: RetryBudget(2))
    for _ in range(2):  # each begins with a new one
        bottom.asked.clear()
        simulate(at(N0).do(Ask("x")), service.serves(Ask), clients=5, seconds=99)
        assert bottom.asked.total() == 5 + 2


def test_an_outage_is_that_of_the_bottom() -> None:
    bottom = Metered(BoundedQueue(length=5, work=1.0))
    service = Layer(at(N0).do(Ask("x")), bottom)
    outcome = simulate(
        at(N0).do(Ask("x")), service.serves(Ask), clients=2, seconds=9, outages=[Outage(0.5, 3)]
    )
    assert outcome.ended == 5.0
    assert [second.load for second in outcome.seconds[:6]] == [2, 2, 2, 2, 1, 0]
    assert bottom.asked == {0: 2}


def test_a_metered_service_is_told_who_has_gone() -> None:
    gone: list[Request] = []

    class Hole(Serving):
        def ask(self, request: Request) -> None: ...

        def abandoned(self, request: Request) -> None:
            gone.append(request)

    class Black(Service):
        def begin(self, _: Events) -> Serving:
            return Hole()

    simulate(at(N0).do(do(Ask("x")).limit(1)), Metered(Black()).serves(Ask), clients=3, seconds=5)
    assert [request.client for request in gone] == [0, 1, 2]


def test_a_layer_takes_programs_that_can_run() -> None:
    with pytest.raises(Misuse, match="open"):
        Layer(at(N1).do(Ask("x")), Down())  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="not a program"):
        Layer("retry", Down())  # type: ignore[arg-type]
