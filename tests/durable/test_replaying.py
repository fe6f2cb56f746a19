"""Replay: what the journal has recorded holds, and what differs from it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import N2, N3, Constant, Diverged, Interpreter, NotReady, at
from ixbackoff._meaning.defaults import Defaults
from ixbackoff.durable.journal import Line
from ixbackoff.live import live

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
