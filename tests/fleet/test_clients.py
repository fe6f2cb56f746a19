"""Many clients: each has its own time, limits and chance, and nothing is left behind."""

from __future__ import annotations

import gc
from itertools import pairwise
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N3,
    N5,
    Constant,
    Do,
    Exponential,
    Log,
    NotReady,
    Now,
    RetryBudget,
    ServerError,
    Throw,
    all_of,
    at,
    attempt,
    do,
)
from ixbackoff._limits.deadlines import time_limit
from ixbackoff.fleet import BoundedQueue, Outage, Outcome, instantly, simulate
from ixbackoff.schedules import Timing
from ixbackoff.schedules.shortening_jitter import Every, FullJitter

from ..support.fleets.scripted import Script, Scripted, fleet, in_a_row, line, lines
from ..support.ways.programs import Ask


def jittered(seed: int, **how: Any) -> Outcome:
    queue = BoundedQueue(length=20, work=0.1).serves(Ask)
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
        at(N0).do(Ask("a")).end(), [(7.0, 1)], clients=20, think=10.0, within=5.0, seconds=200
    )
    assert outcome.total(lambda second: second.well) == 0
    assert outcome.total(lambda second: second.gave_up) > 100


def test_a_budget_lasts_from_run_to_run() -> None:
    made: list[int] = []

    def budget(number: int) -> RetryBudget:
        made.append(number)
        return RetryBudget(2, returned=0)

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

    outcome = fleet(at(N0).do(timed()).end(), [(2.0, 1)])
    assert outcome.total(lambda second: second.gave_up) == 1
    assert outcome.ended == 2.0
