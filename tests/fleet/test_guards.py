"""Clients that ask budgets, deadlines, gates and breakers in place do what their stream does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    Call,
    CircuitBreaker,
    CircuitOpen,
    Crowded,
    Gate,
    Limiter,
    Misuse,
    NotReady,
    RetryBudget,
    Throttle,
    at,
    backoff,
    do,
)
from ixbackoff.fleet import instantly, simulate
from ixbackoff.observing import story

from ..support.fleets.scripted import Script, fleet, in_a_row, seen
from ..support.fleets.streams import WAYS, performed_by, retried_by, some_clients
from ..support.ways.programs import Ask

BUDGETS: list[Any] = [
    None,
    lambda: RetryBudget(3),
    lambda: RetryBudget(2, cost=0.5, returned=0.3, returned_after_retry=0.1),
    RetryBudget.grpc,
    RetryBudget.finagle,
    lambda: RetryBudget.finagle(ttl=5, min_retries_per_second=1, percent_can_retry=0.1),
]
BREAKERS: list[Any] = [
    None,
    lambda: CircuitBreaker(failures=1, within=10, open_for=3),
    lambda: CircuitBreaker(failures=2, within=5, open_for=7, on=Exception),
    lambda: CircuitBreaker(rate=0.5, of=4, within=20, open_for=3),
]


class Often(Gate):
    """It lets tries in at whole seconds only, and refuses those that would stand for long."""

    timed = False

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def enter(self, now: float, came: float, until: float) -> float:
        turn = float(-(-now // 1))
        if turn - came > 0.8:
            raise Crowded(turn - now)
        self.heard.append((now, until))
        return turn

    def answer(self, value: object) -> None:
        if value == 5:
            raise NotReady("five")

    def hear(self, failure: Exception | None, now: float, began: float) -> None:
        self.heard.append((repr(failure), now, began))

    def leave(self, now: float) -> None:
        self.heard.append(now)

    def __repr__(self) -> str:
        return repr(self.heard)


GATES: list[Any] = [
    lambda: Limiter(1, line=2),
    lambda: Limiter(3, line=0),
    Throttle,
    Often,
    lambda: CircuitBreaker(failures=2, within=9, open_for=2),
]


def told(outcome: Any) -> Any:
    """What is seen of an outcome, and why its runs ended."""
    failures = [performed.failure for performed in outcome.trace if performed.failure is not None]
    return seen(outcome), [story(failure) for failure in failures]


@given(
    budget=st.sampled_from(BUDGETS),
    breaker=st.sampled_from(BREAKERS),
    within=st.none() | st.floats(0.05, 30) | st.sampled_from([0.0, 1.0, 3.0]),
    gates=st.lists(st.sampled_from(GATES), max_size=2),
    limit=st.none() | st.floats(0.5, 9),
    **some_clients,
)
def test_guards_in_place_are_those_of_the_stream(
    budget: Any,
    breaker: Any,
    gates: list[Callable[[], Any]],
    limit: float | None,
    each: tuple[Any, Any],
    **how: Any,
) -> None:
    rung, inner = each

    def outcome(way: str) -> Any:
        guards = [make() for make in gates]
        effect: Any = do(inner)
        for guard in guards:
            breaks = isinstance(guard, CircuitBreaker)
            effect = effect.guarded(guard) if breaks else effect.through(guard)
        effect = effect if limit is None else effect.limit(limit)
        purse, circuit = budget and budget(), breaker and breaker()
        makes: Any = {"budget": budget and (lambda _: purse)}
        makes["breaker"] = breaker and (lambda _: circuit)
        with performed_by(way):
            found = told(retried_by(each=(rung, effect), **makes, **how))
        return found, purse and purse.left, repr(circuit), repr(guards)

    retries, streams = map(outcome, WAYS)
    assert retries == streams


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("refusal", "reason"), [(CircuitOpen(1.0), "circuit open"), (Crowded(1.0), "crowded")]
)
def test_a_run_that_ends_at_an_open_circuit_is_said_to_end_so(
    way: str, refusal: Exception, reason: str
) -> None:
    def refuse(_: Ask) -> int:
        raise refusal

    with performed_by(way):
        outcome = simulate(
            at(N1).retry(Ask("a")),
            instantly(Ask.handled_by(refuse)),
            clients=1,
            seconds=9,
            trace=True,
        )
    last = outcome.trace[-1].failure
    assert last is refusal
    found = story(last)
    assert found is not None
    assert (found.reason, found.tries) == (reason, 2)


@pytest.mark.parametrize("way", WAYS)
def test_a_probe_that_runs_at_the_end_leaves_its_place(way: str) -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=2)
    script: Script = [(1.0, NotReady()), (500.0, 1)]
    with performed_by(way):
        fleet(at(N2).retry(Ask("a")), script, seconds=20, breaker=lambda _: breaker)
    assert breaker.state == "open"  # not half open: the next try is the probe


@pytest.mark.parametrize("way", WAYS)
def test_a_try_in_line_at_the_end_leaves_its_gate(way: str) -> None:
    class Later(Often):
        def enter(self, now: float, came: float, until: float) -> float:  # noqa: ARG002
            return now + 9

    gate = Later()
    with performed_by(way):
        fleet(at(N0).retry(do(Ask("a")).through(gate)), [(1.0, 1)], seconds=5)
    assert len(gate.heard) == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_try_goes_through_a_breaker_once(way: str) -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=2)
    twice = at(N1).retry(do(Ask("a")).guarded(breaker))
    inside = at(N1).retry(do(in_a_row(["a"])).then(lambda _: do(Ask("b")).guarded(breaker)))
    for program in (twice, inside):
        with performed_by(way), pytest.raises(Misuse, match="through one circuit breaker twice"):
            fleet(program, [(1.0, 1)], breaker=lambda _: breaker)


@pytest.mark.parametrize("way", WAYS)
def test_the_gates_of_a_program_are_around_its_own(way: str) -> None:
    limiter = Limiter(0.5, line=60)
    program = backoff(N1, through=limiter).program(int)
    services = instantly(Call.handled_by(lambda _: 0))
    with performed_by(way):
        outcome = simulate(program, services, clients=3, seconds=9, trace=True)
    assert outcome.ended == 4.0
    assert sorted(performed.at for performed in outcome.trace) == [0.0, 0.0, 0.0, 2.0, 4.0]
