"""Replay: what the journal has recorded holds, and what differs from it is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ixbackoff import N2, N3, Constant, Diverged, Interpreter, NotReady, at
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.durable.journal import Line, RunLost
from ixbackoff.durable.performing import run_durably
from ixbackoff.live import live, live_async

from ..support.durable.journals import Memory, durably
from ..support.ways.programs import Ask


def at_time(time: float, began: float = 0.0, kept: Any = ()) -> Memory:
    journal = Memory(kept)
    journal.time, journal.began = time, began
    return journal


def test_a_deadline_reads_recorded_times_again() -> None:
    journal = at_time(100.0)
    journal.entries["0"] = {"at": "0", "c": ["Ask", "", ""], "t": [1.0, 2.0]}
    line = Line(journal)
    assert [line.clock() for _ in range(3)] == [1.0, 2.0, 100.0]
    line.next()
    assert line.clock() == 100.0


def test_the_first_time_is_that_of_the_beginning_of_the_run() -> None:
    line = Line(at_time(100.0, began=5.0))
    assert [line.clock(), line.clock()] == [5.0, 100.0]
    line.next()
    assert line.clock() == 100.0


class Busy:
    """A service that is never ready, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, _: Ask) -> int:
        self.calls += 1
        raise NotReady

    @property
    def interpreter(self) -> Interpreter[Any]:
        return live() | Ask.handled_by(self)


def kept_until_the_second_try(how: Defaults) -> list[str]:
    """The journal of a run that dies after its first wait."""
    journal = Memory()
    with pytest.raises(NotReady):
        durably(at(N3).retry(Ask("a")), Busy().interpreter, how, journal)
    return journal.kept[:3]


def test_a_deadline_counts_from_the_beginning_after_a_death() -> None:
    how = Defaults(Constant(4.0), within=10.0)
    kept = kept_until_the_second_try(how)
    journal = at_time(9.0, kept=kept)
    busy = Busy()
    with pytest.raises((NotReady, TimeoutError)):
        durably(at(N3).retry(Ask("a")), busy.interpreter, how, journal)
    assert busy.calls == 1  # the wait after it would end at 13


@pytest.mark.parametrize(
    ("rung", "schedule"),
    [pytest.param(N3, Constant(5.0), id="seconds"), pytest.param(N2, Constant(4.0), id="rung")],
)
def test_a_wait_that_differs_from_the_recorded_one_diverges(rung: Any, schedule: Constant) -> None:
    kept = kept_until_the_second_try(Defaults(Constant(4.0)))
    journal = at_time(4.0, kept=kept)
    busy = Busy()
    with pytest.raises(Diverged, match="at 1 it issued"):
        durably(at(rung).retry(Ask("a")), busy.interpreter, Defaults(schedule), journal)
    assert busy.calls == 0


def test_a_failure_in_place_of_a_cancellation_is_not_recorded() -> None:
    asked: list[int] = []

    async def answer(_: Ask) -> int:
        asked.append(1)
        try:
            await asyncio.sleep(5 if len(asked) == 1 else 0)
        except asyncio.CancelledError:
            raise ConnectionError from None
        return 7

    interpreter = live_async() | Ask.awaited_by(answer)
    program, how = at(N3).retry(Ask("a")), Defaults(Constant(0.0))
    journal = Memory()

    async def cancelled() -> None:
        task = asyncio.ensure_future(run_durably(program, how, interpreter, journal))
        await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(RunLost):
            await task

    asyncio.run(cancelled())
    assert (len(asked), journal.kept) == (1, [])
    assert durably(program, interpreter, how, Memory(journal.kept)) == 7
