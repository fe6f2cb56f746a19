"""The engine of `simulate`: the same events as in a virtual run, and always the same ones."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    N20,
    Budget,
    Command,
    Computed,
    Constant,
    Delay,
    Do,
    Exponential,
    Log,
    Misuse,
    NotReady,
    Now,
    Pick,
    ServerError,
    Throttled,
    Throw,
    all_of,
    at,
    attempt,
    do,
    first_of,
)
from ixbackoff._limits.deadlines import time_limit
from ixbackoff.fleet import (
    BoundedQueue,
    Outage,
    Outcome,
    Request,
    Second,
    Service,
    Serving,
    instantly,
    simulate,
)
from ixbackoff.fleet.events import Events
from ixbackoff.fleet.traces import Happened
from ixbackoff.schedules import Timing, powers_of_two
from ixbackoff.shortening import DecorrelatedJitter, EqualJitter, Every, FullJitter
from ixbackoff.testing import Performed, Virtual, takes

from ..language.test_laws import RUNGS, effects, failures, programs, schedules, transient
from ..support.observing import Ask
from ..support.random_schedules import random_schedule

LONG = 20_000.0
Script = list[tuple[float, Any]]
"""Seconds, and what comes after them."""

seconds = st.sampled_from([0.0, 0.1, 1 / 3, 1.0, 2.5, 7.0, 30.0])
scripts: st.SearchStrategy[Script] = st.lists(
    st.tuples(seconds, st.integers(0, 5) | failures), min_size=1, max_size=8
)


def fresh(outcome: Any) -> Any:
    return type(outcome)(*outcome.args) if isinstance(outcome, Exception) else outcome


@dataclass(frozen=True, eq=False)
class Scripted(Service):
    """It gives each client one outcome after the other, round and round, each in its time.

    Attributes:
        scripts: one for each client, or one for all.
        at_once: whether what takes no time is given before `ask` has returned.
        limits: of the requests, as they came.
        abandoned: the requests that were given up.
    """

    scripts: list[Script]
    at_once: bool = True
    limits: list[tuple[int, float | None]] = field(default_factory=list)
    abandoned: list[Request] = field(default_factory=list)

    def begin(self, events: Events) -> Serving:
        return ScriptedServing(self, events)


class ScriptedServing(Serving):
    def __init__(self, model: Scripted, events: Events) -> None:
        self.model = model
        self.events = events
        self.rounds: dict[int, Iterator[tuple[float, Any]]] = {}

    def ask(self, request: Request) -> None:
        self.model.limits.append((request.client, request.limit))
        scripts = self.model.scripts
        script = cycle(scripts[request.client % len(scripts)])
        seconds, outcome = next(self.rounds.setdefault(request.client, script))
        if seconds or not self.model.at_once:
            self.events.after(seconds, self.end, (request, outcome))
        else:
            self.end((request, outcome))
        self.events.random.random()  # what a service does after it has answered

    def end(self, ended: tuple[Request, Any]) -> None:
        request, outcome = ended
        if isinstance(outcome, Exception):
            request.fail(fresh(outcome))
        else:
            request.answer(outcome)

    def abandoned(self, request: Request) -> None:
        self.model.abandoned.append(request)


ZERO = instantly(Pick.handled_by(lambda _: 0))
"""Chance as `Virtual` has it."""


def fleet(program: Any, *scripts: Script, **how: Any) -> Outcome:
    model = Scripted(list(scripts), how.pop("at_once", True))
    how = {"clients": 1, "seconds": LONG, "trace": True, **how}
    return simulate(program, model.serves(Ask) | ZERO, **how)


def line(happened: Happened | Performed) -> tuple[Any, ...]:
    failure = happened.failure
    told = None if failure is None else type(failure)
    return happened.at, repr(happened.command), happened.answer, told


def lines(outcome: Outcome, client: int = 0) -> list[tuple[Any, ...]]:
    return [line(happened) for happened in outcome.trace if happened.client == client]


def virtual(program: Any, script: Script, **how: Any) -> tuple[list[tuple[Any, ...]], float, int]:
    """Its trace, when it ended, and whether it ended well, in `Virtual`."""
    rounds = cycle(script)

    def answer(_: Ask) -> Any:
        seconds, outcome = next(rounds)
        return takes(seconds, fresh(outcome))

    world = Virtual(Ask.handled_by(answer))
    try:
        program.run(world.interpreter, **how)
    except Exception:
        return [line(performed) for performed in world.trace], world.now, 0
    return [line(performed) for performed in world.trace], world.now, 1


def run(outcome: Outcome, client: int = 0) -> tuple[list[tuple[Any, ...]], float, int]:
    return lines(outcome, client), outcome.ended, int(outcome.total(lambda second: second.well))


@given(programs(), scripts, schedules, st.booleans())
def test_a_fleet_of_one_is_a_virtual_run(
    program: Any, script: Script, schedule: Any, at_once: bool
) -> None:
    schedule &= Constant(1000.0)  # each second is counted
    outcome = fleet(program, script, schedule=schedule, at_once=at_once)
    assert run(outcome) == virtual(program, script, schedule=schedule)


@given(
    effects,
    scripts,
    st.sampled_from(RUNGS),
    st.floats(0.05, 100),
    st.sampled_from(["retry", "resume"]),
)
def test_it_is_with_a_deadline(
    effect: Any, script: Script, rung: Any, within: float, step: str
) -> None:
    program = getattr(at(rung), step)(effect)
    assert run(fleet(program, script, within=within)) == virtual(program, script, within=within)


@given(effects, effects, scripts, st.floats(0.05, 10), st.floats(0.05, 10), st.booleans())
def test_it_is_with_time_limits(
    one: Any, other: Any, script: Script, inner: float, outer: float, resumes: bool
) -> None:
    limited = do(one).limit(inner).then(lambda _: other).limit(outer)
    program = at(N3).resume(limited) if resumes else at(N3).retry(limited)
    assert run(fleet(program, script)) == virtual(program, script)


@given(effects, scripts, st.sampled_from([Budget.grpc, Budget.finagle, lambda: Budget(2)]))
def test_it_is_with_a_budget(effect: Any, script: Script, budget: Callable[[], Budget]) -> None:
    program = at(N5).retry(effect)
    mine, other = budget(), budget()
    outcome = fleet(program, script, budget=lambda _: mine)
    assert run(outcome) == virtual(program, script, budget=other)
    assert mine.left == other.left


@given(st.lists(effects, min_size=1, max_size=3), scripts, st.booleans())
def test_it_is_with_alternatives(some: list[Any], script: Script, resumes: bool) -> None:
    tried = first_of([do(effect).limit(5) for effect in some])
    program: Any = at(N3).resume(tried) if resumes else at(N3).retry(tried)
    assert run(fleet(program, script)) == virtual(program, script)


@attempt
def in_a_row(names: list[str]) -> Do[Ask, int]:
    total = 0
    for name in names:
        total += yield from Ask(name)
    return total


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
    program: Any = at(N0).do(do(nested).or_else(Ask("late"), on=KeyError)).give_up()
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
    program: Any = at(N0).do(all_of(some)).give_up()
    outcome = simulate(program, service.serves(Ask), clients=1, seconds=30)
    assert outcome.ended == 2.5
    assert outcome.total(lambda second: second.gave_up) == 1


def test_many_effects_at_the_same_time_that_take_none_are_not_nested() -> None:
    @attempt
    def often() -> Do[Any, int]:
        for _ in range(3000):
            yield from all_of([Ask("a"), Ask("b")])
        return 0

    outcome = fleet(at(N0).do(often()).give_up(), [(0.0, 1)])
    assert outcome.total(lambda second: second.answered) == 6000
    assert outcome.total(lambda second: second.well) == 1


# What one retry of a command is, without a stream.

timings: st.SearchStrategy[Timing] = st.sampled_from(
    [
        powers_of_two,
        Constant(0.0),
        Every(2.0),
        Exponential().jittered(),
        Exponential(0.5, 1.1).jittered(3),
        Exponential(0.1) & Constant(1).jittered(),
        FullJitter(0.1, 10),
        EqualJitter(0.1, 10),
        DecorrelatedJitter(0.1, 10),
    ]
)
throttled = st.builds(Throttled, st.floats(0, 20))
tried = st.tuples(seconds, st.integers(0, 5) | failures | throttled)
ON: list[Any] = [
    (NotReady, KeyError),
    Exception,
    lambda failure: isinstance(failure, ConnectionError),
    lambda failure: failure.status == 503,  # which not all have
]


def seen(outcome: Outcome, noted: bool = True) -> Any:
    told = [
        (*line(happened), happened.client, noted and getattr(happened.failure, "__notes__", None))
        for happened in outcome.trace
    ]
    return told, outcome.seconds, outcome.ended, outcome.events


@given(
    rung=st.sampled_from(RUNGS),
    on=st.sampled_from(ON) | st.none(),
    timing=timings,
    some=st.lists(st.lists(tried, min_size=1, max_size=8), min_size=1, max_size=3),
    think=st.sampled_from([None, 5.0]),
    persistent=st.booleans(),
    at_once=st.booleans(),
    as_attempt=st.booleans(),
)
def test_a_retry_of_a_command_is_what_its_stream_is(
    rung: Any,
    on: Any,
    timing: Timing,
    some: list[Script],
    think: float | None,
    persistent: bool,
    at_once: bool,
    as_attempt: bool,
) -> None:
    how = {"schedule": timing, "clients": 3, "seconds": 61.5, "think": think, "at_once": at_once}
    effect: Any = do(Ask("a")) if as_attempt else Ask("a")
    program = at(rung).retry(effect) if on is None else at(rung).retry(effect, on)
    scripts = [[*script, (0.5, 1)] for script in some]  # or a persistent one would never move on
    lean = fleet(program, *scripts, persistent=persistent, **how)
    with patch("ixbackoff.fleet.engine.tried", lambda _: None):
        generic = fleet(program, *scripts, persistent=persistent, **how)
    assert seen(lean, not persistent) == seen(generic, not persistent)
    assert seen(fleet(program, *scripts, persistent=persistent, **how)) == seen(lean)


# A persistent client: a ladder without an end.

any_timing: st.SearchStrategy[Timing] = timings | st.builds(
    lambda seed: random_schedule(Random(seed), depth=2),  # noqa: S311
    st.integers(0, 10**6),
)
passing = st.tuples(seconds, st.integers(0, 5) | transient | throttled)
shallow: st.SearchStrategy[Any] = st.sampled_from([N0, N1, N3])


def without_rungs(outcome: Outcome) -> Any:
    told, *counted = seen(outcome, noted=False)
    return [tuple(re.sub("rung=.*", "", str(each)) for each in line) for line in told], counted


def without_the_short_cut(lean: bool) -> Any:
    return nullcontext() if lean else patch("ixbackoff.fleet.engine.tried", lambda _: None)


@given(
    rung=shallow,
    timing=any_timing,
    some=st.lists(st.lists(passing, max_size=18), min_size=1, max_size=3),
    names=st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    lean=st.booleans(),
    budget=st.none() | st.sampled_from([Budget.grpc, Budget.finagle, lambda: Budget(2)]),
    at_once=st.booleans(),
)
def test_a_persistent_client_has_a_ladder_without_an_end(
    rung: Any,
    timing: Timing,
    some: list[Script],
    names: list[str],
    lean: bool,
    budget: Callable[[], Budget] | None,
    at_once: bool,
) -> None:
    effect: Any = Ask("a") if lean else in_a_row(names)
    scripts = [script + [(0.5, 1)] * 20 for script in some]  # fewer failures than N20 has waits
    how = {"schedule": timing, "clients": 3, "seconds": 1e6, "at_once": at_once}

    def outcome(rung: Any, **more: Any) -> Any:
        mine = [] if budget is None else [budget(), budget(), budget()]
        found = fleet(
            at(rung).retry(effect),
            *scripts,
            budget=mine.__getitem__ if mine else None,
            **how,
            **more,
        )
        return without_rungs(found), [each.left for each in mine]

    assert outcome(rung, persistent=True) == outcome(N20)


@given(
    rung=shallow,
    timing=any_timing,
    some=st.lists(st.lists(passing, max_size=60), min_size=1, max_size=3),
    lean=st.booleans(),
)
def test_it_is_the_same_on_every_ladder(
    rung: Any, timing: Timing, some: list[Script], lean: bool
) -> None:
    scripts = [[*script, (0.5, 1)] for script in some]
    how = {"schedule": timing, "clients": 3, "seconds": 500, "think": 5.0, "persistent": True}
    with without_the_short_cut(lean):
        one = fleet(at(rung).retry(Ask("a")), *scripts, **how)
        other = fleet(at(N20).retry(Ask("a")), *scripts, **how)
    assert without_rungs(one) == without_rungs(other)


def persistently(program: Any, script: Script, **how: Any) -> list[tuple[float, str]]:
    outcome = fleet(program, script, persistent=True, **how)
    return [(happened.at, str(happened.command)) for happened in outcome.trace]


def begins(program: Any, script: Script, **how: Any) -> list[float]:
    """When the command was asked."""
    outcome = fleet(program, script, persistent=True, **how)
    return [happened.at for happened in outcome.trace if isinstance(happened.command, Ask)]


FAILS: Script = [(0.0, NotReady())]


@pytest.mark.parametrize("lean", [True, False])
def test_its_waits_grow_over_ladders(lean: bool) -> None:
    with without_the_short_cut(lean):
        found = begins(at(N1).retry(Ask("a")), FAILS, seconds=1023)
        assert found == [2.0**k - 1 for k in range(10)]
        outcome = fleet(at(N1).retry(Ask("a")), FAILS, seconds=1000, persistent=True)
        rungs = [
            happened.command.rung
            for happened in outcome.trace
            if isinstance(happened.command, Delay)
        ]
        assert rungs == [1, 0, 1, 0, 1, 0, 1, 0, 1]
        assert outcome.total(lambda second: second.gave_up) == 0


@pytest.mark.parametrize("lean", [True, False])
def test_what_the_service_asked_for_is_a_floor_over_ladders(lean: bool) -> None:
    script: Script = [(0.0, NotReady()), (0.0, Throttled(30.0)), *FAILS * 20]
    with without_the_short_cut(lean):
        found = begins(at(N1).retry(Ask("a")), script, seconds=200, schedule=Constant(5))
    assert found == [0.0, 5.0, *(35.0 + 30 * turn for turn in range(6))]


@pytest.mark.parametrize("lean", [True, False])
def test_it_waits_also_after_a_failure_that_is_not_tried_again(lean: bool) -> None:
    with without_the_short_cut(lean):
        script: Script = [(0.0, KeyError("bug")), (0.0, NotReady())]
        found = begins(at(N3).retry(Ask("a")), script, seconds=64)
    assert found == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0]


@pytest.mark.parametrize("lean", [True, False])
def test_a_program_that_ended_well_begins_with_short_waits(lean: bool) -> None:
    script: Script = [*FAILS * 4, (0.0, 1)]
    with without_the_short_cut(lean):
        outcome = fleet(at(N1).retry(Ask("a")), script, seconds=200, think=0.001, persistent=True)
    waits = [
        happened.command.seconds
        for happened in outcome.trace
        if isinstance(happened.command, Delay)
    ]
    assert waits[:12] == [1.0, 2.0, 4.0, 8.0] * 3


@pytest.mark.parametrize("lean", [True, False])
def test_a_misuse_ends_the_simulation(lean: bool) -> None:
    with without_the_short_cut(lean), pytest.raises(Misuse, match="wrong"):
        fleet(at(N1).retry(Ask("a")), [(1.0, Misuse("wrong"))], persistent=True)


def test_a_wait_that_cannot_be_told_ends_a_persistent_program() -> None:
    schedule = Computed(lambda k: [1.0, 2.0, 3.0][k])
    for lean in True, False:
        with without_the_short_cut(lean):
            outcome = fleet(at(N1).retry(Ask("a")), FAILS, schedule=schedule, persistent=True)
        assert (outcome.ended, outcome.total(lambda second: second.gave_up)) == (6.0, 1)


def test_each_run_of_a_persistent_client_has_its_deadline() -> None:
    # The wait of 4 s is not begun, since it would leave no time: it is that between two runs.
    program = at(N5).retry(Ask("a"))
    assert begins(program, [(1.0, NotReady())], within=6.0, seconds=150) == [
        0.0, 2.0, 5.0, 10.0, 19.0, 36.0, 69.0, 134.0,
    ]  # fmt: skip
    slow = begins(program, [(9.0, 1), (9.0, 1), (2.0, 1)], within=6.0, seconds=150)
    assert slow == [0.0, 7.0, 15.0]


@pytest.mark.parametrize("rung", [N1, N2, N3])
def test_an_empty_budget_ends_a_persistent_program(rung: Any) -> None:
    outcome = fleet(
        at(rung).retry(Ask("a")),
        FAILS,
        budget=lambda _: Budget(3, returned=0),
        clients=2,
        persistent=True,
    )
    assert [told[0] for told in lines(outcome, 1)] == [0, 0, 1, 1, 3, 3, 7]
    assert outcome.total(lambda second: second.gave_up) == 2


@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("every", [0.0, 1e-300])
def test_time_that_does_not_go_by_is_a_misuse(lean: bool, every: float) -> None:
    script: Script = [(1.0, NotReady()), *FAILS * 2000]
    how = {"clients": 2, "seconds": 10, "schedule": Constant(every), "trace": False}
    with (
        without_the_short_cut(lean),
        patch("ixbackoff.fleet.events.MOST", 1000),
        pytest.raises(Misuse, match="At 1 s 1200 events went by, and no time: give waits"),
    ):
        fleet(at(N1).retry(Ask("a")), script, persistent=True, **how)
    fleet(at(N20).retry(Ask("a")), script, **how)  # which has an end


def test_many_clients_at_the_same_time_are_well() -> None:
    with patch("ixbackoff.fleet.events.MOST", 0):
        outcome = fleet(at(N20).retry(Ask("a")), FAILS, clients=500, schedule=Constant(0))
    assert outcome.events == 21 * 500


@pytest.mark.parametrize("rung", [N0, N1, N3])
@pytest.mark.parametrize("made", [Budget.grpc, lambda: Budget(3, throttled_cost=2)])
def test_an_empty_budget_is_paid_once(rung: Any, made: Callable[[], Budget]) -> None:
    one, other = made(), made()
    schedule = Exponential().jittered()
    program = at(rung).retry(Ask("a"))
    how = {"clients": 3, "schedule": schedule}
    persistent = fleet(program, FAILS, budget=lambda _: one, persistent=True, **how)
    plain = fleet(at(N20).retry(Ask("a")), FAILS, budget=lambda _: other, **how)
    assert without_rungs(persistent) == without_rungs(plain)
    assert one.left == other.left


def test_what_a_persistent_client_holds_is_let_go_at_the_end() -> None:
    ended: list[float] = []

    @attempt
    def careful() -> Do[Ask, int]:
        try:
            return (yield from Ask("a"))
        finally:
            ended.append(1)

    fleet(at(N1).retry(careful()), [(1.0, NotReady()), (50.0, 1)], seconds=10, persistent=True)
    assert ended == [1, 1]


# One seed, one course of events.


def jittered(seed: int, **how: Any) -> Outcome:
    queue = BoundedQueue(length=20, service=0.1).serves(Ask)
    program = at(N5).retry(do(Ask("a")).limit(1.0))
    how = {"clients": 50, "seconds": 60, "think": 5.0, "outages": [Outage(20, 10)], **how}
    schedule = Exponential().jittered()
    return simulate(program, queue, schedule=schedule, seed=seed, trace=True, **how)


def told(outcome: Outcome) -> list[Any]:
    return [(happened.client, *line(happened)) for happened in outcome.trace]


def test_the_same_seed_gives_the_same_events() -> None:
    one, other = jittered(1), jittered(1)
    assert (told(one), one.seconds, one.events) == (told(other), other.seconds, other.events)
    assert told(one) != told(jittered(2))


def test_it_leaves_the_chance_of_others_alone() -> None:
    import random

    before = random.getstate()
    jittered(1)
    assert random.getstate() == before


@given(st.lists(st.tuples(programs(), scripts), min_size=2, max_size=4), schedules)
def test_clients_do_not_see_each_other(some: list[tuple[Any, Script]], schedule: Any) -> None:
    schedule &= Constant(1000.0)
    all_programs, all_scripts = zip(*some, strict=True)
    outcome = fleet(
        lambda number: all_programs[number], *all_scripts, clients=len(some), schedule=schedule
    )
    for number, (program, script) in enumerate(some):
        assert lines(outcome, number) == virtual(program, script, schedule=schedule)[0]


def test_a_time_limit_is_that_of_one_client() -> None:
    model = Scripted([[(0.5, NotReady()), (0.5, 1)]])
    seen_limits: list[float | None] = []

    def log(_: Log) -> None:
        seen_limits.append(time_limit())

    @attempt
    def logged() -> Do[Ask | Log, int]:
        yield from Log("a")
        return (yield from Ask("a"))

    def program(number: int) -> Any:
        limited = do(logged()).limit(3.0 + number)
        return at(N3).retry(limited if number % 2 else logged())

    services = model.serves(Ask) | instantly(Log.handled_by(log))
    simulate(program, services, clients=6, seconds=60, think=1.0)
    assert len(model.limits) > 100
    assert all((limit is None) == (client % 2 == 0) for client, limit in model.limits)
    assert {round(limit, 6) for client, limit in model.limits if client == 3 and limit} == {6.0}
    assert set(seen_limits) == {None}
    assert time_limit() is None


def test_a_request_is_given_up_when_its_time_is_over() -> None:
    model = Scripted([[(9.0, 1), (1.0, 1)]])
    program = at(N1).retry(do(Ask("a")).limit(2.0))
    outcome = simulate(program, model.serves(Ask), clients=1, seconds=30)
    assert [request.begun for request in model.abandoned] == [0.0]
    assert outcome.ended == 4.0
    assert (outcome.seconds[2].late, outcome.seconds[2].failed) == (1, 1)
    assert outcome.seconds[4].answered == 1
    assert outcome.total(lambda second: second.answered + second.failed) == 2


def test_a_deadline_of_a_client_begins_with_its_run() -> None:
    outcome = fleet(
        at(N0).do(Ask("a")).give_up(), [(7.0, 1)], clients=20, think=10.0, within=5.0, seconds=200
    )
    assert outcome.total(lambda second: second.well) == 0
    assert outcome.total(lambda second: second.gave_up) > 100


def test_a_budget_lasts_from_run_to_run() -> None:
    made: list[int] = []

    def budget(number: int) -> Budget:
        made.append(number)
        return Budget(2, returned=0)

    outcome = fleet(
        at(N5).retry(Ask("a")),
        [(0.5, NotReady())],
        budget=budget,
        clients=3,
        think=2.0,
        seconds=100,
    )
    assert made == [0, 1, 2]
    waits = [happened for happened in outcome.trace if "Delay" in repr(happened.command)]
    assert len(waits) == 3 * 2


def waits_of(timing: Timing, script: Script) -> list[float]:
    outcome = fleet(at(N5).retry(Ask("a")), script, schedule=timing)
    begun = [happened.at for happened in outcome.trace if isinstance(happened.command, Ask)]
    return [round(later - earlier, 6) for earlier, later in pairwise(begun)]


def test_every_is_measured_from_the_start_of_a_try() -> None:
    fails = NotReady()
    script = [(1.0, fails), (4.0, fails), (9.0, fails), (25.0, fails), (1.0, fails)]
    assert waits_of(Every(10), script) == [10.0, 10.0, 10.0, 25.0, 10.0]
    assert waits_of(Constant(10), script) == [11.0, 14.0, 19.0, 35.0, 11.0]


def test_every_is_measured_from_the_start_of_a_try_of_any_program() -> None:
    fails = NotReady()
    script = [(1.0, 1), (4.0, fails), (9.0, 1), (25.0, fails), (1.0, 1), (2.0, 1)]
    outcome = fleet(at(N5).retry(in_a_row(["a", "b"])), script, schedule=Every(10))
    assert [happened.at for happened in outcome.trace if happened.command == Ask("a")] == [
        0.0,
        10.0,
        44.0,
    ]


@pytest.mark.parametrize("lean", [True, False])
def test_timings_that_shorten_do_shorten_here(lean: bool) -> None:
    effect: Any = Ask("a") if lean else in_a_row(["a"])
    outcome = fleet(
        at(N5).retry(effect), [(0.0, NotReady())], clients=20, schedule=FullJitter(1.0, 60.0)
    )
    shorter = 0
    for client in range(20):
        waits = [told[0] for told in lines(outcome, client) if "Delay" in told[1]]
        shorter += sum(later < wait for wait, later in pairwise(waits))
        of_it = [
            happened.command.seconds
            for happened in outcome.trace
            if happened.client == client and hasattr(happened.command, "seconds")
        ]
        shorter += sum(later < wait for wait, later in pairwise(of_it))
    assert shorter > 5


# Afterwards.


@pytest.mark.filterwarnings("error")
def test_nothing_is_left_behind(recwarn: pytest.WarningsRecorder) -> None:
    ended: list[str] = []

    @attempt
    def careful() -> Do[Ask, int]:
        try:
            return (yield from Ask("a"))
        finally:
            ended.append("finally")
            yield from Ask("never answered")

    program = at(N3).retry(all_of([do(careful()).limit(100), careful()]))
    before = gc.get_threshold()
    fleet(program, [(50.0, 1)], clients=10, seconds=10, within=1000.0)
    gc.collect()
    assert ended == ["finally"] * 20
    assert not recwarn.list
    assert gc.get_threshold() == before


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_before_also_after_an_error(enabled: bool) -> None:
    class Broken(Exception):
        pass

    def broken(_: Ask) -> int:
        raise KeyboardInterrupt

    before = gc.get_threshold(), gc.isenabled()
    try:
        if not enabled:
            gc.disable()
        with pytest.raises(KeyboardInterrupt):
            simulate(
                at(N0).retry(Ask("a")), instantly(Ask.handled_by(broken)), clients=3, seconds=9
            )
        assert gc.get_threshold() == before[0]
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    assert (gc.get_threshold(), gc.isenabled()) == before


def test_it_can_be_part_of_a_program() -> None:
    @attempt
    def simulated() -> Do[Log, int]:
        yield from Log("simulate")
        return 0

    def log(_: Log) -> None:
        assert time_limit() is not None
        outcome = fleet(at(N3).retry(Ask("a")), [(1.0, NotReady()), (500.0, 1)])
        assert outcome.ended == 502.0
        assert time_limit() is not None

    clock: Any = Now.handled_by(lambda _: 0.0)
    at(N0).retry(simulated()).run(clock | Log.handled_by(log), within=9)


def test_throw_and_now_need_no_service() -> None:
    @attempt
    def timed() -> Do[Any, None]:
        yield from Ask("a")
        now = yield from Now()
        assert now == 2.0
        yield from Throw(ServerError(500))

    outcome = fleet(at(N0).do(timed()).give_up(), [(2.0, 1)])
    assert outcome.total(lambda second: second.gave_up) == 1
    assert outcome.ended == 2.0


# Events.


@given(st.lists(st.floats(0, 9), max_size=50), st.lists(st.floats(0, 10), max_size=5))
def test_events_come_in_the_order_of_time_and_then_of_asking(
    times: list[float], stops: list[float]
) -> None:
    events = Events(0)
    happened: list[tuple[float, int]] = []

    def happen(number: int) -> None:
        happened.append((events.now, number))
        if number < 500:  # something more, now and later
            events.after(0.0, happen, number + 1000)
            events.after(0.03, happen, number + 2000)

    expected: list[tuple[float, int]] = []
    for number, when in enumerate(times):
        events.at(when, happen, number)
        expected += [(when, number), (when, number + 1000), (when + 0.03, number + 2000)]
    for stop in sorted(stops):
        events.run(stop)
        assert events.now == stop
        assert all(when < stop for when, _ in happened)
    events.run(20.0)
    assert sorted(happened) == sorted(expected)
    assert [when for when, _ in happened] == sorted(when for when, _ in expected)
    firsts = [number for _, number in happened if number < 500]
    assert firsts == sorted(firsts, key=lambda number: times[number])
    assert events.count == len(expected)
    assert events.empty


def test_events_at_the_same_time_are_not_without_end() -> None:
    events = Events(0)
    events.most = 10
    happened = 0

    def happen(_: None) -> None:
        nonlocal happened
        happened += 1
        assert happened < 1000
        events.after(1e-4 if happened <= 100 else 0.0, happen)  # time goes by, and then does not

    events.at(0.5, happen)
    with pytest.raises(Misuse, match=r"At 0\.51 s 10 events went by, and no time"):
        events.run(1.0)
    assert 100 < happened <= 121


@pytest.mark.parametrize("when", [-1.0, 4.9, float("nan"), float("inf"), -float("inf")])
def test_an_event_is_yet_to_come(when: float) -> None:
    events = Events(0)
    events.run(5.0)
    with pytest.raises(ValueError, match="give a time to come"):
        events.at(when, print)
    if when != 4.9:
        with pytest.raises(ValueError, match="give a time to come"):
            events.after(when, print)


# What comes out.


def second(well: int) -> Second:
    return Second(0, 0, 0, 0, well, 0, 0.0, 0.0)


def recovered(wells: list[int], **how: Any) -> float | None:
    outcome = Outcome(tuple(map(second, wells)), 1, 0, 0.0, ())
    return outcome.recovered_after(**how)


def test_recovered_after() -> None:
    wells = [10] * 10 + [0] * 10 + [2, 4, 6, 8, 10, 10, 10, 9, 11, 10]
    assert recovered(wells, outage_end=20, steady=10, span=1) == 4.0
    assert recovered(wells, outage_end=20, steady=10, share=0.5, span=1) == 2.0
    assert recovered(wells, outage_end=19.5, steady=10, span=1) == 4.5
    assert recovered(wells, outage_end=20, steady=10, span=2) == 3.0
    assert recovered([*wells, 3], outage_end=20, steady=10, span=1) is None
    assert recovered(wells, outage_end=20, steady=100) is None
    assert recovered(wells, outage_end=0, steady=0) == 0.0
    assert recovered(wells, outage_end=28, steady=10) is None  # too few to see it
    assert recovered(wells, outage_end=25, steady=10) == 0.0


@pytest.mark.parametrize(
    "how", [{"outage_end": 31}, {"outage_end": -1}, {"outage_end": 3, "span": 0}]
)
def test_recovered_after_an_end_that_is_none(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="outage_end="):
        recovered([1] * 30, steady=1, **how)


def test_seconds_are_all_there() -> None:
    outcome = fleet(at(N0).retry(Ask("a")), [(0.5, 1)], clients=3, seconds=4.5)
    assert [each.well for each in outcome.seconds] == [3, 0, 0, 0, 0]
    assert outcome.seconds[0].latency == 0.5
    assert outcome.total(lambda each: each.asked) == 3


def test_a_service_is_watched_second_by_second() -> None:
    watched: list[tuple[int, Second]] = []
    outcome = fleet(
        at(N0).retry(Ask("a")),
        [(0.5, 1)],
        seconds=4.5,
        watch=lambda number, counted: watched.append((number, counted)),
    )
    assert watched == list(enumerate(outcome.seconds))


def test_a_service_that_serves_a_kind_serves_the_kinds_of_it() -> None:
    model = Scripted([[(0.5, 1)]])
    for effect in (Ask("a"), in_a_row(["a"])):
        outcome = simulate(
            at(N0).retry(effect), model.serves(Command), clients=1, seconds=9, trace=True
        )
        assert outcome.total(lambda each: each.answered) == 1


def test_equal_services_are_not_one() -> None:
    class Other(Ask):
        __slots__ = ()

    one, other = BoundedQueue(length=1, service=1.0), BoundedQueue(length=1, service=1.0)
    program = at(N0).do(all_of([Ask("a"), Other("b")])).give_up()
    apart = simulate(program, one.serves(Ask) | other.serves(Other), clients=1, seconds=9)
    same = simulate(program, one.serves(Ask) | one.serves(Other), clients=1, seconds=9)
    assert (apart.ended, same.ended) == (1.0, 2.0)


# Bad input.

QUEUE = BoundedQueue(length=5, service=0.1).serves(Ask)
RETRY = at(N1).retry(Ask("a"))


class Unserved(Command[None]):
    __slots__ = ()


@attempt
def unserved() -> Do[Any, None]:
    yield from Unserved()


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no clients": ({"clients": 0}, ValueError, "clients=0: give a number, 1 or more"),
    "fewer than none": ({"clients": -1}, ValueError, "clients=-1"),
    "half a client": ({"clients": 1.5}, ValueError, "clients=1.5"),
    "negative seconds": ({"seconds": -1}, ValueError, "seconds=-1: give a finite number"),
    "no seconds": ({"seconds": None}, ValueError, "seconds=None"),
    "seconds that are none": ({"seconds": float("nan")}, ValueError, "seconds=nan"),
    "for ever": ({"seconds": float("inf")}, ValueError, "seconds=inf"),
    "no thinking": ({"think": 0}, ValueError, "think=0"),
    "negative within": ({"within": -2}, ValueError, "within=-2"),
    "a seed of chance": ({"seed": None}, ValueError, "seed=None: give a whole number"),
    "outages of pairs": ({"outages": [(1, 2)]}, Misuse, r"give a list of Outage\(start, length\)"),
    "one outage": ({"outages": Outage(1, 2)}, Misuse, r"outages=\[1, 2\]: give a list"),
    "an outage that is too long": (
        {"outages": [Outage(5, 6)]}, ValueError, r"Outage\(start=5, length=6\) is not within"),
    "an outage before": ({"outages": [Outage(-1, 6)]}, ValueError, "is not within the 10 s"),
    "an outage of no time": ({"outages": [Outage(1, 0)]}, ValueError, "is not within"),
    "an outage that is none": ({"outages": [Outage(float("nan"), 1)]}, ValueError, "not within"),
    "overlapping outages": (
        {"outages": [Outage(3, 2), Outage(1, 3)]}, ValueError, "before the one before it is over"),
    "a service that cannot stop": (
        {"services": Scripted([[(1.0, 1)]]).serves(Ask), "outages": [Outage(1, 1)]},
        Misuse, "ScriptedServing cannot stop"),
    "nothing that could stop": (
        {"services": instantly(Ask.handled_by(lambda _: 1)), "outages": [Outage(1, 1)]},
        Misuse, "no service that could stop"),
    "a retry that nothing serves": (
        {"program": at(N1).retry(Unserved())}, Misuse, "No service serves Unserved: join one"),
    "a command that nothing serves": (
        {"program": at(N1).retry(unserved())}, Misuse, "No service serves Unserved: join one"),
    "an open program": ({"program": at(N1)}, Misuse, "it ends at N1"),
    "no program": ({"program": Ask("a")}, Misuse, "is no program"),
    "a function of no program": (
        {"program": lambda _: Ask("a")}, Misuse, r"Ask\(name='a'\) is no program"),
    "a schedule that is none": ({"schedule": 3}, Misuse, "schedule=3 is no Timing"),
    "a service without a kind": (
        {"services": BoundedQueue(1, 1.0)}, Misuse, "say what they serve, with service.serves"),
    "a budget that is none": ({"budget": Budget(3)}, Misuse, "give a function from the number"),
    "a budget that makes none": ({"budget": lambda _: 3}, Misuse, "is not a budget"),
}  # fmt: skip


@pytest.mark.parametrize(("how", "error", "words"), BAD.values(), ids=BAD)
def test_bad_input(how: dict[str, Any], error: type[Exception], words: str) -> None:
    given_all = {"program": RETRY, "services": QUEUE, "clients": 2, "seconds": 10, **how}
    with pytest.raises(error, match=words):
        simulate(given_all.pop("program"), given_all.pop("services"), **given_all)


@pytest.mark.parametrize("lean", [True, False])
def test_a_bug_of_a_service_is_no_failure_of_a_program(lean: bool) -> None:
    script: Script = [(0.5, 1), (-3.0, 1)]
    with without_the_short_cut(lean), pytest.raises(ValueError, match="give a time to come"):
        fleet(at(N3).retry(Ask("a")), script, think=1.0)


@pytest.mark.parametrize("lean", [True, False])
def test_a_wait_that_is_longer_than_all_times(lean: bool) -> None:
    with without_the_short_cut(lean):
        outcome = fleet(at(N3).retry(Ask("a")), FAILS, schedule=Constant(1.5e308))
    assert (outcome.events, outcome.total(lambda second: second.asked)) == (1, 1)


def test_a_kind_is_served_once() -> None:
    with pytest.raises(Misuse, match="Ask: served twice"):
        _ = QUEUE | BoundedQueue(length=1, service=1.0).serves(Ask)


def test_outages_that_touch_are_two() -> None:
    outages = [Outage(4, 2), Outage(2, 2)]
    queue = BoundedQueue(length=5, service=1.5).serves(Ask)
    outcome = simulate(
        at(N1).retry(Ask("a")), queue, clients=2, seconds=20, outages=outages, trace=True
    )
    assert [happened.at for happened in outcome.trace] == [0.0, 0.0]
    assert outcome.ended == 7.0  # 1.5 s, 0.5 s, four seconds of outage, 1 s


def test_a_queue_goes_on_where_it_stopped() -> None:
    queue = BoundedQueue(length=1, service=2.0, workers=2)
    outcome = simulate(
        at(N0).retry(Ask("a")),
        queue.serves(Ask),
        clients=4,
        seconds=20,
        outages=[Outage(0.5, 1.0), Outage(1.5, 4.0)],
        trace=True,
    )
    ended = [type(happened.failure).__name__ for happened in outcome.trace]
    assert ended == ["Throttled", "NoneType", "NoneType", "NoneType"]
    assert [each.answered for each in outcome.seconds if each.answered] == [2, 1]
    assert outcome.ended == 9.0
    assert outcome.seconds[0].load == 3.0


@pytest.mark.parametrize("how", [(-1, 1.0), (1, -1.0), (1, float("nan")), (1, 1.0, 0)])
def test_a_queue_that_cannot_be(how: Any) -> None:
    with pytest.raises(ValueError, match="give a length"):
        BoundedQueue(*how)
