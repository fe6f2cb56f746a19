"""A simulated program keeps the settings of its `backoff`, also if a function returns it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ixbackoff import (
    N3,
    Call,
    CircuitBreaker,
    Constant,
    Limiter,
    Misuse,
    RetryBudget,
    Throttled,
    backoff,
)
from ixbackoff.fleet import BoundedQueue, Outcome, instantly, simulate, simulate_many

from ..support.fleets.streams import WAYS, performed_by


def throttled(asked: float | None = None) -> Any:
    def refuse(_: Call[int]) -> int:
        raise Throttled(retry_after=asked)

    return instantly(Call.handled_by(refuse))


def program(**settings: Any) -> Any:
    return backoff(N3, **settings).program(int)


SETTINGS: dict[str, Callable[[], Any]] = {
    "schedule": lambda: Constant(3),
    "within": lambda: 2.5,
    "budget": lambda: RetryBudget(1),
    "breaker": lambda: CircuitBreaker(failures=2, within=100, open_for=100),
    "through": lambda: Limiter(0.25, line=60),
}


def events(program: Any, **how: Any) -> list[tuple[int | None, float, str, str]]:
    outcome = simulate(program, throttled(), clients=1, seconds=100, trace=True, **how)
    return [(one.client, one.at, repr(one.command), repr(one.failure)) for one in outcome.trace]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_program_from_a_function_keeps_its_settings(setting: str, way: str) -> None:
    def made(_: int = 0) -> Any:
        return program(**{setting: SETTINGS[setting]()})

    with performed_by(way):
        assert events(made()) == events(made) != events(program())


@pytest.mark.parametrize("way", WAYS)
def test_a_service_may_not_ask_for_longer_than_the_longest_wait(way: str) -> None:
    with performed_by(way):
        for one in (program(longest=4), lambda _: program(longest=4)):
            outcome = simulate(one, throttled(asked=5), clients=1, seconds=100)
            assert (outcome.ended, outcome.gave_up) == (0, 1)


@pytest.mark.parametrize("way", WAYS)
def test_clients_of_two_policies_are_simulated_together(way: str) -> None:
    def of_client(number: int) -> Any:
        return program(schedule=Constant(1 if number % 2 else 3))

    def times(outcome: Outcome, number: int) -> list[float]:
        calls = [one for one in outcome.trace if isinstance(one.command, Call)]
        return [one.at for one in calls if one.client == number]

    with performed_by(way):
        outcome = simulate(of_client, throttled(), clients=2, seconds=100, trace=True)
    assert times(outcome, 0) == [0.0, 3.0, 6.0, 9.0]
    assert times(outcome, 1) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("way", WAYS)
def test_an_argument_goes_before_the_settings(way: str) -> None:
    slow, quick = program(schedule=Constant(3), within=5), program(schedule=Constant(1))
    with performed_by(way):
        assert events(lambda _: slow, schedule=Constant(1), within=100) == events(quick)


def test_seeds_may_not_share_the_budget_of_a_function() -> None:
    budget = RetryBudget(1)
    queue = BoundedQueue(length=1, work=1).serves(Call)
    how: dict[str, Any] = {"clients": 2, "seconds": 5, "seeds": 2, "jobs": 1}
    with pytest.raises(Misuse, match="all seeds would share"):
        simulate_many(lambda _: program(budget=budget), queue, **how)
    simulate_many(lambda _: program(budget=RetryBudget(1)), queue, **how)
