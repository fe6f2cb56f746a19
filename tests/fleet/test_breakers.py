"""Circuit breakers in simulations: a service that is down is left alone, and comes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N3,
    N20,
    CircuitBreaker,
    Command,
    Do,
    Log,
    Misuse,
    NotReady,
    Now,
    ServerError,
    at,
    attempt,
    do,
)
from ixbackoff.fleet import (
    BoundedQueue,
    Layer,
    Metered,
    Outage,
    Outcome,
    instantly,
    simulate,
)
from ixbackoff.fleet.fleet_subcommands import main as fleet
from ixbackoff.schedules import Constant, Exponential


class Ask(Command[None]):
    """A request."""

    __slots__ = ()


ASKING = at(N20).retry(Ask())
QUEUE = BoundedQueue(length=20, work=0.1, workers=5)


def dead(_: Ask) -> None:
    raise ServerError(503)


def simulated(program: Any, clients: int, breakers: list[CircuitBreaker], **how: Any) -> Outcome:
    return simulate(
        program,
        instantly(Ask.handled_by(dead)),
        clients=clients,
        breaker=lambda client: breakers[client % len(breakers)],
        trace=True,
        **how,
    )


def asked(outcome: Outcome) -> list[float]:
    """The times at which the service was asked."""
    return [one.at for one in outcome.trace if one.command == Ask()]


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(1, 8),
    st.sampled_from([0.5, 3.0, 10.0]),
    st.none() | st.sampled_from([0.5, 5.0]),
    st.integers(0, 9),
)
def test_a_dead_service_is_asked_at_most_once_in_a_rest_by_each_breaker(
    clients: int, many: int, failures: int, rest: float, think: float | None, seed: int
) -> None:
    breakers = [CircuitBreaker(failures=failures, within=1000, open_for=rest) for _ in range(many)]
    outcome = simulated(
        ASKING,
        clients,
        breakers,
        seconds=100,
        think=think,
        seed=seed,
        schedule=Exponential(0.5).jittered(),
    )
    assert len(asked(outcome)) <= many * (failures + 100 / rest)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200), st.sampled_from([2.0, 10.0]), st.integers(0, 9))
def test_the_service_comes_back(clients: int, rest: float, seed: int) -> None:
    breaker = CircuitBreaker(failures=5, within=10, open_for=rest)
    outcome = simulate(
        at(N20).retry(do(Ask()).limit(1)),
        QUEUE.serves(Ask),
        clients=clients,
        seconds=150,
        think=10,
        breaker=lambda _: breaker,
        outages=[Outage(20, 30)],
        schedule=Exponential(cap=10).jittered(),
        seed=seed,
    )
    before = outcome.rate(lambda second: second.well, 10, 20)
    after = outcome.rate(lambda second: second.well, 110, 150)
    assert breaker.state == "closed" or clients > 2
    assert after >= 0.5 * before - 1


def test_a_breaker_that_never_opens_changes_nothing() -> None:
    def outcome(**how: Any) -> Outcome:
        return simulate(
            ASKING, QUEUE.serves(Ask), clients=200, seconds=30, think=5, trace=True, **how
        )

    bare = outcome()
    breaker = CircuitBreaker(failures=10**6, within=1, open_for=1)
    assert outcome(breaker=lambda _: breaker).trace == bare.trace


def test_an_effect_can_be_guarded_in_a_program() -> None:
    breaker = CircuitBreaker(failures=3, within=10, open_for=5)
    guarded = at(N3).retry(do(Ask()).guarded(breaker))
    services = instantly(Ask.handled_by(dead))
    outcome = simulate(guarded, services, clients=10, seconds=30, trace=True)
    assert asked(outcome)[:4] == [0.0, 0.0, 0.0, 5.0]
    assert len(asked(outcome)) <= 3 + 30 / 5
    assert outcome.gave_up == 10


def test_an_effect_can_be_guarded_in_do_notation() -> None:
    breaker = CircuitBreaker(failures=3, within=10, open_for=5)

    @attempt
    def asking() -> Do[Ask | Now | Log, None]:
        yield from Log("asking")
        yield from do(Ask()).guarded(breaker)

    services = instantly(Ask.handled_by(dead))
    outcome = simulate(at(N3).retry(asking()), services, clients=10, seconds=30, trace=True)
    assert asked(outcome)[:4] == [0.0, 0.0, 0.0, 5.0]
    assert len(asked(outcome)) <= 3 + 30 / 5


def test_a_layer_has_a_breaker() -> None:
    bottom = Metered(BoundedQueue(length=0, work=3600))
    breaker = CircuitBreaker(failures=2, within=10, open_for=5)
    layer = Layer(at(N0).do(Ask()).end(), bottom, breaker=lambda: breaker)
    simulate(at(N20).retry(Ask()), layer.serves(Ask), clients=20, seconds=60, schedule=Constant(1))
    assert bottom.asked.total() <= 1 + 2 + 60 / 5


@pytest.mark.parametrize("breaker", [CircuitBreaker(failures=1, within=1, open_for=1), 5], ids=repr)
def test_what_does_not_make_breakers_is_refused(breaker: Any) -> None:
    with pytest.raises(
        Misuse, match="give a function from the number of a client to a CircuitBreaker"
    ):
        simulate(ASKING, QUEUE.serves(Ask), clients=1, seconds=1, breaker=breaker)


def test_a_function_that_makes_something_else_is_refused() -> None:
    wrong: Any = int
    with pytest.raises(Misuse, match="breaker=0 is not a circuit breaker: give a CircuitBreaker"):
        simulate(ASKING, QUEUE.serves(Ask), clients=1, seconds=1, breaker=wrong)


class TestTheCommandLine:
    """`ixbackoff fleet simulate --breaker`."""

    WORDS = "simulate tests.fleet.test_breakers:ASKING --clients 100 --seconds 40 --outage 10:10"

    @pytest.mark.parametrize("shared", [[], ["--shared"]])
    def test_it_takes_a_breaker(
        self, shared: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = [*self.WORDS.split(), "--queue", "5", "--breaker", "3:10:2", *shared]
        assert fleet(words) in (0, 1)
        assert "recovery" in capsys.readouterr().out

    @pytest.mark.parametrize(
        "text", ["5", "5:10", "x:1:1", "0:1:1", "5:10:nan", "1.5:1:1", "5:0:1"]
    )
    def test_one_that_cannot_be_is_one_line(
        self, text: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            fleet([*self.WORDS.split(), "--breaker", text])
        assert ended.value.code == 2
        assert "write FAILURES:WITHIN:OPEN_FOR" in capsys.readouterr().err


def test_not_ready_opens_it_too() -> None:
    def not_ready(_: Ask) -> None:
        raise NotReady

    breaker = CircuitBreaker(failures=1, within=1, open_for=60)
    services = instantly(Ask.handled_by(not_ready))
    outcome = simulate(
        ASKING, services, clients=50, seconds=50, breaker=lambda _: breaker, trace=True
    )
    assert asked(outcome) == [0.0]
