"""Attempts inside attempts of simulated clients run in place, and are what they are elsewhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from inspect import currentframe
from typing import Any

import pytest

from ixbackoff import N1, Do, Log, NotReady, all_of, at, attempt, do
from ixbackoff._meaning.trampoline import IN_PLACE
from ixbackoff.fleet import Outcome, instantly, simulate
from ixbackoff.fleet.task_performers import ROOM

from ..support.fleets.scripted import fleet, seen
from ..support.fleets.streams import WAYS, performed_by
from ..support.ways.programs import Ask


@attempt
def deep(levels: int) -> Do[Ask, int]:
    answer = yield from Ask("a")
    if not levels:
        return answer
    before = yield from once()
    return before + (yield from deep(levels - 1))


@attempt
def once() -> Do[Ask, int]:
    return (yield from Ask("b"))


@attempt
def silent(levels: int) -> Do[Ask, int]:
    return (yield from silent(levels - 1)) if levels else (yield from Ask("a"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("effect", [deep(2000), silent(20_000)])
def test_depth_is_not_limited(way: str, effect: Any) -> None:
    with performed_by(way):
        outcome = fleet(at(N1).retry(effect), [(0.001, 1)], trace=False)
    assert outcome.total(lambda second: second.well) == 1


@pytest.mark.parametrize("between", [once(), do(once()).map(str)])
def test_few_generators_are_nested(between: Any) -> None:
    depths: list[int] = []

    @attempt
    def descending(levels: int) -> Do[Ask, None]:
        frame, depth = currentframe(), 0
        while frame is not None:
            depth += frame.f_code.co_name == "descending"
            frame = frame.f_back
        depths.append(depth)
        yield from between
        if levels:
            yield from descending(levels - 1)

    fleet(at(N1).retry(descending(500)), [(0.001, 1)], trace=False)
    assert len(depths) == 501
    assert max(depths) <= ROOM + 1


def test_many_in_a_row_are_as_one() -> None:
    @attempt
    def row() -> Do[Ask, int]:
        total = 0
        for _ in range(500):
            total += yield from once()
            total += yield from do(once()).map(lambda answer: answer + 1)
        return total

    outcome = fleet(at(N1).retry(row()), [(0.001, 1)], trace=False)
    assert outcome.total(lambda second: second.answered) == 1000


def nested(seed: int) -> Outcome:
    script = [(0.1, 1), (0.3, NotReady()), (0.0, 2), (0.2, 3)]
    how = {"clients": 20, "seconds": 60, "think": 1.0, "seed": seed}
    return fleet(at(N1).retry(deep(60)), script, **how)


def test_simulations_in_threads_do_not_see_each_other() -> None:
    alone = [seen(nested(seed)) for seed in range(4)]
    with ThreadPoolExecutor(4) as threads:
        together = [seen(outcome) for outcome in threads.map(nested, range(4))]
    assert together == alone
    assert IN_PLACE == [None]


def test_a_program_runs_in_a_handler_of_a_simulation() -> None:
    ran: list[int] = []

    def log(_: Log) -> None:
        ran.append(at(N1).do(deep(100)).skip().run(Ask.handled_by(lambda _: 1)))

    @attempt
    def logging() -> Do[Log, None]:
        yield from Log("a")

    @attempt
    def outer() -> Do[Log, None]:
        yield from logging()

    services = instantly(Log.handled_by(log))
    simulate(at(N1).retry(outer()), services, clients=1, seconds=9)
    assert ran == [101]


@pytest.mark.parametrize("way", WAYS)
def test_what_runs_in_place_is_closed_innermost_first(way: str) -> None:
    seen_exceptions: list[tuple[int, type[BaseException]]] = []

    @attempt
    def careful(level: int) -> Do[Ask, int]:
        try:
            return (yield from careful(level - 1)) if level else (yield from Ask("a"))
        except BaseException as error:
            seen_exceptions.append((level, type(error)))
            raise
        finally:
            yield from Ask("in vain")

    with performed_by(way):
        fleet(at(N1).retry(careful(3)), [(50.0, 1)], seconds=10)
    assert seen_exceptions == [(level, GeneratorExit) for level in range(4)]


@pytest.mark.parametrize("way", WAYS)
def test_an_attempt_that_cannot_begin_fails_its_run_alone(way: str) -> None:
    @attempt
    def one(name: str) -> Do[Ask, int]:
        return (yield from Ask(name))

    cannot_begin: Any = one

    @attempt
    def around() -> Do[Any, int]:
        return (yield from do(cannot_begin()).then(Ask))

    for effect in (
        cannot_begin(),
        do(cannot_begin()),
        around(),
        all_of([cannot_begin(), Ask("a")]),
    ):
        with performed_by(way):
            outcome = fleet(at(N1).retry(effect), [(1.0, 1)], seconds=9, clients=2)
        assert outcome.gave_up == 2
