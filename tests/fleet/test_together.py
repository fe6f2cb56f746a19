"""Effects at the same time, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N0, N1, Do, Log, NotReady, all_of, at, attempt, do
from ixbackoff.fleet import Events, Request, Service, Serving, simulate
from ixbackoff.testing import Virtual, takes

from ..support.fleets.scripted import LONG, fleet, fresh, in_a_row
from ..support.generators.programs import transient
from ..support.ways.programs import Ask


class ByName(Service):
    """It gives each command what the script has for its name; all names differ."""

    def __init__(self, script: dict[str, tuple[float, Any]]) -> None:
        self.script = script

    def begin(self, events: Events) -> Serving:
        return ByNameServing(self.script, events)


class ByNameServing(Serving):
    def __init__(self, script: dict[str, tuple[float, Any]], events: Events) -> None:
        self.script = script
        self.events = events

    def ask(self, request: Request) -> None:
        assert isinstance(request.command, Ask)
        seconds, outcome = self.script[request.command.name]
        end = request.answer if isinstance(outcome, int) else request.fail
        self.events.after(seconds, end, fresh(outcome))


@st.composite
def branches(draw: st.DrawFn) -> tuple[list[Any], dict[str, tuple[float, Any]]]:
    """Attempts at the same time, and what comes of each command, never two at the same time."""
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    names = [[f"{place}.{turn}" for turn in range(length)] for place, length in enumerate(lengths)]
    script: dict[str, tuple[float, Any]] = {}
    for name in (name for some in names for name in some):
        taken = draw(st.integers(1, 50)) / 10 + 1e-4 * 2 ** len(script)
        script[name] = taken, draw(st.integers(0, 5) | st.integers(0, 5) | transient)
    return [in_a_row(some) for some in names], script


@pytest.mark.slow
@given(branches(), st.floats(0.5, 20) | st.none(), st.floats(0.5, 20) | st.none())
def test_it_is_with_effects_at_the_same_time(
    some: tuple[list[Any], dict[str, tuple[float, Any]]], limit: float | None, within: float | None
) -> None:
    effects, script = some
    together = all_of(effects)
    program = at(N1).retry(together if limit is None else together.limit(limit))
    outcome = simulate(
        program,
        ByName(script).serves(Ask),
        clients=1,
        seconds=LONG,
        trace=True,
        within=within,
    )
    world = Virtual(
        Ask.handled_by(
            lambda command: takes(script[command.name][0], fresh(script[command.name][1]))
        )
    )
    well = 1
    try:
        program.run(world.interpreter, within=within)
    except Exception:
        well = 0
    assert sorted(issued(outcome.trace)) == sorted(issued(world.trace))
    assert (outcome.ended, outcome.total(lambda second: second.well)) == (world.now, well)


def issued(trace: Any) -> list[tuple[float, str]]:
    return [(round(happened.at, 9), repr(happened.command)) for happened in trace]


def test_effects_at_the_same_time_end_each_other() -> None:
    ended: list[str] = []

    @attempt
    def slow() -> Do[Ask | Log, int]:
        try:
            return (yield from Ask("slow"))
        finally:
            yield from Log("cleaned up")
            ended.append("slow")

    service = ByName({"slow": (9.0, 1), "bad": (2.0, KeyError("bad")), "late": (1.0, 1)})
    some: list[Any] = [all_of([slow(), slow()]), Ask("bad"), slow()]
    nested: Any = all_of(some)
    program: Any = at(N0).do(do(nested).or_else(Ask("late"), on=KeyError)).end()
    outcome = simulate(program, service.serves(Ask), clients=2, seconds=30, trace=True)
    assert ended == ["slow"] * 6
    assert outcome.ended == 3.0
    assert outcome.total(lambda second: second.well) == 2
    assert [happened.command for happened in outcome.trace if happened.client == 1].count(
        Log("cleaned up")
    ) == 3


def test_what_a_branch_is_ended_by_takes_its_time() -> None:
    @attempt
    def slow() -> Do[Ask, int]:
        try:
            return (yield from Ask("slow"))
        finally:
            yield from Ask("clean")

    service = ByName({"slow": (9.0, 1), "bad": (2.0, NotReady()), "clean": (0.5, 1)})
    some: list[Any] = [slow(), Ask("bad")]
    program: Any = at(N0).do(all_of(some)).end()
    outcome = simulate(program, service.serves(Ask), clients=1, seconds=30)
    assert outcome.ended == 2.5
    assert outcome.total(lambda second: second.gave_up) == 1


def test_many_effects_at_the_same_time_that_take_none_are_not_nested() -> None:
    @attempt
    def often() -> Do[Any, int]:
        for _ in range(3000):
            yield from all_of([Ask("a"), Ask("b")])
        return 0

    outcome = fleet(at(N0).do(often()).end(), [(0.0, 1)])
    assert outcome.total(lambda second: second.answered) == 6000
    assert outcome.total(lambda second: second.well) == 1
