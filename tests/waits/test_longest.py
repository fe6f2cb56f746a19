"""A service may ask for a wait up to `longest`; a longer one ends the run; none is shortened."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N1,
    N3,
    N5,
    Call,
    CircuitBreaker,
    CircuitOpen,
    Constant,
    Crowded,
    Delay,
    Limiter,
    NotReady,
    Throttled,
    at,
    backoff,
    call,
    plan,
)
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.fleet import instantly, simulate
from ixbackoff.observing import Ended, observed, story
from ixbackoff.testing import Virtual, always, answers, no_waits

from ..support.durable.journals import Memory, durably

DAY = "ixbackoff: not tried again: asked to wait 86400 s, longest is 60 s"


def fails(*failures: Exception) -> Any:
    left = iter(failures)

    def ask() -> str:
        for failure in left:
            raise failure
        return "page"

    return ask


def test_a_call_ends_at_once_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []
    ask = backoff(N3, longest=60)(fails(NotReady(), Throttled(60), Throttled(86_400)))
    with no_waits() as waits, observed(events.append), pytest.raises(Throttled) as raised:
        ask()
    assert waits.waited == [1, 60]
    assert raised.value.__notes__ == [DAY, "ixbackoff: tries: 3, waits: 2, 61 s in all"]
    assert [event.reason for event in events if isinstance(event, Ended)] == ["asked for too long"]
    assert caplog.messages[-1].startswith("ask: gave up after 3 tries and 61 s of waits: asked for")


def test_a_coroutine_function_ends_at_once() -> None:
    ask = fails(Throttled(61))

    @backoff(N3, longest=timedelta(minutes=1))
    async def awaited() -> str:
        answer: str = ask()
        return answer

    with no_waits() as waits, pytest.raises(Throttled):
        asyncio.run(awaited())
    assert waits.waited == []


@pytest.mark.parametrize("longest", [{}, {"longest": None}], ids=repr)
def test_a_function_has_a_limit_unless_it_is_taken_away(longest: Any) -> None:
    with no_waits() as waits:
        ask = backoff(N1, **longest)(fails(Throttled(901)))
        if longest:
            assert ask() == "page"
        else:
            with pytest.raises(Throttled):
                ask()
    assert waits.waited == ([901] if longest else [])
    assert backoff(N1)(fails(Throttled(0))) is not None


def test_a_program_has_the_limit_of_its_run_or_of_its_backoff() -> None:
    usual = at(N3).retry(call(print))
    for program, how, reason in (
        (usual, {"longest": 60}, "asked for too long"),
        (backoff(N3, longest=60).program(print), {}, "asked for too long"),
        (at(N3).do(call(print)).backoff().or_else(call(str)).end(), {"longest": 60}, None),
        (usual, {}, "gave up"),
    ):
        world = Virtual(Call.handled_by(always(Throttled(86_400))))
        untyped: Any = program
        with pytest.raises(Throttled) as raised:
            untyped.run(world.interpreter, **how)
        told = story(raised.value)
        assert told is not None
        assert told.reason == (reason or "asked for too long")
        assert (DAY in raised.value.__notes__) is bool(how or reason != "gave up")
        assert world.waits == ([] if reason != "gave up" else [86_400] * 3)


def test_what_a_gate_asks_for_counts_too() -> None:
    gate = Limiter(1, line=1)
    gate.close(86_400)
    world = Virtual(Call.handled_by(always("page")))
    with pytest.raises(Crowded) as raised:
        at(N3).retry(call(print)).run(world.interpreter, longest=60, through=gate)
    assert raised.value.__notes__ == [DAY, "ixbackoff: tries: 1, waits: 0, 0 s in all"]
    assert story(raised.value).reason == "asked for too long"  # type: ignore[union-attr]


def test_a_call_that_a_gate_inside_refuses_has_the_note_of_its_program() -> None:
    ask = backoff(N3, longest=60)(fails(Crowded(86_400)))
    with no_waits() as waits, pytest.raises(Crowded) as raised:
        ask()
    assert waits.waited == []
    assert raised.value.__notes__ == [DAY, "ixbackoff: tries: 1, waits: 0, 0 s in all"]
    assert story(raised.value).reason == "asked for too long"  # type: ignore[union-attr]


def test_the_last_try_gives_up_as_ever() -> None:
    world = Virtual(Call.handled_by(answers(NotReady(), Throttled(86_400))))
    with pytest.raises(Throttled) as raised:
        at(N1).retry(call(print)).run(world.interpreter, longest=60)
    assert story(raised.value).reason == "gave up"  # type: ignore[union-attr]


def test_what_is_not_chosen_is_not_a_matter_of_its_wait() -> None:
    with pytest.raises(Throttled) as raised:
        backoff(N3, on=NotReady, longest=60)(fails(Throttled(86_400)))()
    assert story(raised.value).reason == "not worth another try"  # type: ignore[union-attr]


def test_a_breaker_of_our_own_is_no_service() -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=1000)
    ask = backoff(N1, breaker=breaker, schedule=Constant(1))(fails(NotReady(), NotReady()))
    with no_waits() as waits, pytest.raises(CircuitOpen):
        ask()
    assert waits.waited == [1]
    world = Virtual(Call.handled_by(answers(CircuitOpen(1000), "page")))
    assert at(N1).retry(call(print)).run(world.interpreter, longest=60) == "page"


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=5), st.floats(0, 1000))
def test_a_wait_is_never_shorter_than_asked(asked: list[float], longest: float) -> None:
    world = Virtual(Call.handled_by(answers(*[Throttled(one) for one in asked], "page")))
    waits = at(N5).retry(call(print))
    if all(one <= max([longest, *(2**k for k in range(k + 1))]) for k, one in enumerate(asked)):
        assert waits.run(world.interpreter, longest=longest) == "page"
        assert len(world.waits) == len(asked)
    else:
        with pytest.raises(Throttled):
            waits.run(world.interpreter, longest=longest)
    assert all(wait >= one for wait, one in zip(world.waits, asked, strict=False))
    assert world.waits == sorted(world.waits)


@pytest.mark.parametrize("longest", [-1, nan, inf, "60"], ids=repr)
def test_it_is_a_number_of_seconds(longest: Any) -> None:
    with pytest.raises(ValueError, match="longest="):
        backoff(N3, longest=longest)
    with pytest.raises(ValueError, match="longest="):
        at(N3).retry(call(print)).run(
            Virtual(Call.handled_by(answers("page"))).interpreter, longest=longest
        )


def test_a_plan_is_not_changed_by_it() -> None:
    assert plan(backoff(N3, longest=1).program(print)) == plan(backoff(N3).program(print))


def test_a_client_of_a_fleet_ends_at_once_too() -> None:
    """On the short way of `retry`, and in the stream of another program."""
    for program in (
        backoff(N3, longest=60).program(print),
        backoff(N3, longest=60).program(print).or_else(call(str)),
    ):
        service = instantly(Call.handled_by(always(Throttled(86_400))))
        done = simulate(program, service, clients=1, seconds=10, think=4)
        assert done.gave_up > 0


def test_a_durable_run_ends_at_once_too_and_when_it_is_replayed() -> None:
    program = backoff(N3, longest=60).program(print)
    asked: list[object] = []

    def ask(command: Call[Any]) -> None:
        asked.append(command)
        raise Throttled(86_400)

    journal = Memory()
    for _ in range(2):
        with pytest.raises(Throttled) as caught:
            durably(program, Call.handled_by(ask) | Delay.handled_by(print), Defaults(), journal)
        assert caught.value.__notes__ == [
            DAY,
            "ixbackoff: tries: 1, waits: 0, 0 s in all",
        ]
        journal = Memory(journal.kept)
    assert len(asked) == 1
