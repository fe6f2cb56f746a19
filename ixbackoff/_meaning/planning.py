"""What a program would do, known before it runs: its waits, their sum, its tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .._words.commands import Command, Misuse
from ..schedules.kinds import Schedule, check_schedule, powers_of_two
from .chains import Ladder, Step
from .steps import Backoff, Bind, Do, Map, OrBind, OrElse, Retry, Then, Wait


class PlannedRung(NamedTuple):
    """What may happen on one rung.

    Attributes:
        rung: how many waits are left.
        tries: how many commands and attempts are tried here at most; `None` if only the run tells.
        waits: seconds of the wait that leads down from here; `None` if none does.
        when: "failed", "well", or "perhaps" if only the run tells; "" without a wait.
    """

    rung: int
    tries: int | None
    waits: float | None
    when: str


class Worst(NamedTuple):
    """The most that can have happened on the way to a place."""

    tries: int = 0
    waits: int = 0
    seconds: float = 0.0


class Plan(NamedTuple):
    """What a program does at most, rung by rung; it prints as a table.

    A service's Retry-After may lengthen a wait, nothing adds one.

    >>> from ixbackoff import N2, Log, at
    >>> known = plan(at(N2).retry(Log("try")))
    >>> known.tries, known.waits, known.seconds
    (3, 2, 3.0)

    Attributes:
        rungs: from the one where the program starts down to the last.
        tries: how many commands and attempts it tries at most; `None` if only the run tells.
        waits: how often it waits at most.
        seconds: how many seconds it waits in all at most.
    """

    rungs: tuple[PlannedRung, ...]
    tries: int | None
    waits: int
    seconds: float

    def __str__(self) -> str:
        lines = ["rung  tries    then waits  if", *map(_line, self.rungs)]
        tries = (
            "as many tries as its bind will tell"
            if self.tries is None
            else (f"{self.tries} {'try' if self.tries == 1 else 'tries'}")
        )
        waits = "1 wait" if self.waits == 1 else f"{self.waits} waits"
        return "\n".join([*lines, f"at most {tries}, {waits}, {self.seconds:g} s"])


def _line(planned: PlannedRung) -> str:
    tries = "?" if planned.tries is None else str(planned.tries)
    waits = "-" if planned.waits is None else f"{planned.waits:g} s"
    return f"{'N' + str(planned.rung):4}  {tries:>5}  {waits:>12}  {planned.when}".rstrip()


def plan(program: Ladder, schedule: Schedule = powers_of_two) -> Plan:
    """What `program` would do, without doing it.

    >>> from ixbackoff import N3, Download, at, plan
    >>> print(plan(at(N3).retry(Download("http://localhost/a", "a"))))
    rung  tries    then waits  if
    N3        1           1 s  failed
    N2        1           2 s  failed
    N1        1           4 s  failed
    N0        1             -
    at most 4 tries, 3 waits, 7 s

    What a `bind` with a function goes on with is known only when it runs: the plan then has a
    "perhaps" on every rung that is left to it.

    Raises:
        Misuse: it is no program, or `schedule` is no schedule.
    """
    if not isinstance(program, Ladder):
        raise Misuse(f"plan({program!r}): give a program, such as at(N3).retry(...).")
    check_schedule(schedule)
    return _Planner(program, schedule).planned(program)


class _Planner:
    """Walks a program's steps with the most that can have happened when it is well, and failed.

    A program that cannot be well, or cannot have failed, at a place has `None` for it there.
    """

    def __init__(self, program: Ladder, schedule: Schedule) -> None:
        self.top = self.rung = program.start
        self.sure = True
        self.schedule = schedule
        self.shortest = 0.0
        self.well: Worst | None = Worst()
        self.failed: Worst | None = None
        self.tries: dict[int, int | None] = {}
        self.waits: dict[int, tuple[float, str]] = {}

    def planned(self, program: Ladder) -> Plan:
        """Take all steps, into programs that are joined and out again, and sum up."""
        frames: list[tuple[Iterator[Step], Worst | None, Worst | None]]
        frames = [(iter(program.steps()), None, None)]
        while frames:
            steps, well, failed = frames[-1]
            for step in steps:
                if not isinstance(step, Bind | OrBind) or step.known is None:
                    self.take(step)
                    continue
                self.locate(step.known.start)
                passed_over = None if isinstance(step, Bind) else self.well
                frames.append((iter(step.known.steps()), passed_over, self.failed))
                self.well = self.well if isinstance(step, Bind) else self.failed
                self.failed = None
                break
            else:
                frames.pop()
                self.well, self.failed = _most(self.well, well), _most(self.failed, failed)
        self.locate(0 if program.end is None else program.end)
        worst = _most(self.well, self.failed) or Worst()
        rungs = tuple(
            PlannedRung(rung, self.tries.get(rung, 0), *self.waits.get(rung, (None, "")))
            for rung in range(self.top, self.rung - 1, -1)
        )
        tries = None if None in self.tries.values() else worst.tries
        return Plan(rungs, tries, worst.waits, worst.seconds)

    def take(self, step: Step) -> None:
        """Take one step."""
        if isinstance(step, Bind | OrBind):
            self.sure = False
            self.well = self.failed = _most(self.well, self.failed)
        elif isinstance(step, Retry):
            self.take(_TRY)
            for _ in range(self.rung):
                self.take(_BACKOFF)
                self.take(_OR_ELSE)
        elif isinstance(step, Do | Then):
            self.well, self.failed = (tried := self.tried(self.well)), _most(self.failed, tried)
        elif isinstance(step, OrElse):
            tried = self.tried(self.failed)
            self.well, self.failed = _most(self.well, tried), _most(self.failed, tried)
        elif isinstance(step, Map):
            self.failed = _most(self.failed, self.well)
        elif isinstance(step, Backoff):
            self.failed = self.waited(self.failed, "failed")
        elif isinstance(step, Wait):
            self.well = self.waited(self.well, "well")
        below = step.below(self.rung if self.sure else None)
        if below is not None:
            self.locate(below)

    def tried(self, before: Worst | None) -> Worst | None:
        """One try more, if this place can be reached."""
        if before is None:
            return None
        if self.sure:
            tries = self.tries.get(self.rung, 0)
            self.tries[self.rung] = None if tries is None else tries + 1
        return before._replace(tries=before.tries + 1)

    def waited(self, before: Worst | None, when: str) -> Worst | None:
        """One wait more, if this place can be reached."""
        if before is None or not self.sure:
            return before
        self.shortest = max(self.shortest, self.schedule.longest(self.top - self.rung))
        self.waits[self.rung] = (self.shortest, when)
        return before._replace(waits=before.waits + 1, seconds=before.seconds + self.shortest)

    def locate(self, rung: int) -> None:
        """Here the program stands at `rung`; if it was unsure, it may have waited on the way."""
        if not self.sure:
            for between in range(self.rung, rung, -1):
                self.rung, self.sure = between, True
                self.tries[between] = None
                self.well = self.waited(self.well, "perhaps")
                self.failed = self.well
            self.tries[rung] = None
        self.rung, self.sure = rung, True


_TRY, _BACKOFF, _OR_ELSE = Do(Command()), Backoff(bool), OrElse(Command(), bool)


def _most(one: Worst | None, other: Worst | None) -> Worst | None:
    if one is None or other is None:
        return one or other
    return Worst(
        max(one.tries, other.tries), max(one.waits, other.waits), max(one.seconds, other.seconds)
    )
