"""Plans: what a program does at most, known before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple, TypeAlias

from .._limits.deadlines import checked_seconds
from .._limits.gate_base import checked_gates
from .._words.checks import finite
from .._words.commands import Misuse
from .._words.rungs import DEEPEST, ENDLESS
from ..schedules.algebra import Schedule, check_schedule
from .chains import Ladder, Step, program_of
from .effect_costs import NONE, Commands, Cost, cost_of, unknown_cost
from .steps import (
    AtStep,
    BackoffStep,
    BindStep,
    DoStep,
    DownStep,
    EndStep,
    JoiningStep,
    MapStep,
    OrElseStep,
    RetryStep,
    RetryWithStep,
    ThenStep,
    WaitStep,
)


class PlannedRung(NamedTuple):
    """The most that may happen on one rung.

    Attributes:
        rung: the number of waits left.
        tries: the number of commands and attempts tried here at most; `None` if it is unknown
            before the run.
        wait_seconds: the seconds of the wait that leads down from here; `None` if there is none.
        when: the state in which the run waits: "failed", "well", or "perhaps" if it is unknown
            before the run; "" without a wait.
        takes: the seconds of all tries here at most, by their limits (`.limit`) and `each`; `None`
            if a try has no limit, or `tries` is `None`.
        begins: the latest time at which the run reaches this rung, in seconds after its start;
            tries without a limit count 0.
    """

    rung: int
    tries: int | None
    wait_seconds: float | None
    when: str
    takes: float | None = None
    begins: float = 0.0


class Plan(NamedTuple):
    """The most that a program does, rung by rung; it prints as a table.

    A service's Retry-After may lengthen a wait, but nothing adds one.

    >>> from ixbackoff import N2, Log, at
    >>> known = plan(at(N2).retry(Log("try")))
    >>> known.tries, known.wait_count, known.seconds
    (3, 2, 3.0)

    Attributes:
        rungs: the rungs from the start of the program down to its end. A ladder without end shows
            the rungs of the deepest finite ladder, and repeats the last wait until success.
        tries: the number of commands and attempts tried at most; `None` if it is unknown before
            the run, inf if the program retries until it succeeds.
        wait_count: the number of waits at most.
        seconds: the seconds of all waits at most.
        commands: the commands issued at most, by kind; as text, they also name the functions whose
            commands are known only at run time.
        longest: the seconds of all tries and waits at most; `None` if they are unknown before the
            run, inf if the program retries until it succeeds. The time limits of tries (`.limit`)
            and `within` bound it, although a plain function may run past its limit.
        line: the seconds that a try may stand in line at gates, at most; `longest` includes them.
    """

    rungs: tuple[PlannedRung, ...]
    tries: float | None
    wait_count: float
    seconds: float
    commands: Commands
    longest: float | None = None
    line: float = 0.0

    def __str__(self) -> str:
        lines = ["rung  tries    then waits  if", *map(_line, self.rungs)]
        if self.wait_count == inf:
            lines.append("and so on, until it succeeds")
        else:
            tries = f"{self.tries} {'try' if self.tries == 1 else 'tries'}"
            if self.tries is None:
                tries = "as many tries as its functions decide"
            waits = "1 wait" if self.wait_count == 1 else f"{self.wait_count} waits"
            known = self.longest not in (None, self.seconds)
            whole = f"; {self.longest:g} s in all" if known else ""
            lines.append(f"at most {tries}, {waits}, {self.seconds:g} s{whole}")
        if self.commands.uncounted or sum(self.commands.kinds.values()) != self.tries:
            lines.append(f"commands: {self.commands}")
        if self.line:
            most = f" for {self.line:g} s at most" if self.line < inf else ""
            lines.append(f"each try may stand in line{most}")
        return "\n".join(lines)


def _line(planned: PlannedRung) -> str:
    tries = "?" if planned.tries is None else str(planned.tries)
    waits = "-" if planned.wait_seconds is None else f"{planned.wait_seconds:g} s"
    return f"{'N' + str(planned.rung):4}  {tries:>5}  {waits:>12}  {planned.when}".rstrip()


def plan(
    program: Ladder | Callable[..., object],
    schedule: Schedule | None = None,
    *,
    each: float | None = None,
) -> Plan:
    """Plan what `program` does at most, without running it.

    >>> from ixbackoff import N3, Download, at, plan
    >>> print(plan(at(N3).retry(Download("http://localhost/a", "a"))))
    rung  tries    then waits  if
    N3        1           1 s  failed
    N2        1           2 s  failed
    N1        1           4 s  failed
    N0        1             -
    at most 4 tries, 3 waits, 7 s

    The program that the function of a `bind` returns is known only at run time, so the plan says
    "perhaps" on every rung that this program may use. If the function is annotated, or `.at`
    follows with the rung where its program ends, fewer rungs say so.

    The plan of a function that is decorated with `backoff` is that of one call.

    >>> from ixbackoff import backoff
    >>> plan(backoff(N3)(print)).seconds
    7.0

    If each try has a limit, the plan has the seconds of the whole program:

    >>> from ixbackoff import do
    >>> plan(at(N3).retry(do(Download("http://localhost/a", "a")).limit(5))).longest
    27.0

    Args:
        program: the program, or a decorated function.
        schedule: the schedule of its waits, instead of its own.
        each: the seconds that each try takes at most, unless its own limit is shorter.

    Raises:
        Misuse: `program` is not a program, or `schedule` is not a schedule.
        ValueError: `each` is not a number of seconds, 0 or more.
    """
    given = program_of(program)
    if not isinstance(given, Ladder):
        raise Misuse(
            f"plan({program!r}): give a program, such as at(N3).retry(...), or a function that is "
            "decorated with backoff."
        )
    timing = given._defaults.schedule if schedule is None else schedule
    check_schedule(timing)
    if each is not None and not finite(each) >= 0:
        raise ValueError(f"each={each!r}: give a number of seconds, 0 or more.")
    return _Planner(given, timing, inf if each is None else each).planned(given)


class Worst(NamedTuple):
    """The most that can have happened on the way to a place."""

    tries: float = 0
    waits: float = 0
    seconds: float = 0.0
    longest: float = 0.0  # the seconds of waits and tries; a try without a limit counts 0
    open: bool = False  # true if a try has no limit
    commands: Commands = NONE
    # unknown: the rungs where each unknown program of a `bind` started and ended, as a pair
    unknown: frozenset[tuple[int, int]] = frozenset()

    def tried(self, cost: Cost) -> Worst:
        known = cost.seconds < inf
        return self._replace(
            tries=self.tries + 1,
            longest=self.longest + cost.seconds if known else self.longest,
            open=self.open or not known,
            commands=self.commands.plus(cost.commands),
        )

    def waited(self, seconds: float, times: int = 1) -> Worst:
        return self._replace(
            waits=self.waits + times,
            seconds=self.seconds + seconds,
            longest=self.longest + seconds,
        )

    def most(self, other: Worst | None) -> Worst:
        if other is None or other is self:
            return self
        return Worst(
            max(self.tries, other.tries),
            max(self.waits, other.waits),
            max(self.seconds, other.seconds),
            max(self.longest, other.longest),
            self.open or other.open,
            self.commands.most(other.commands),
            self.unknown | other.unknown,
        )


Place: TypeAlias = tuple[int, bool]
"""A rung, and whether the run is exactly there (`ProgramRun.rung` and `.sure`)."""

Ways: TypeAlias = dict[Place, Worst]
"""The most that can have happened on the way to each place where a run may be."""


def merged(*all_ways: Ways) -> Ways:
    merged: Ways = {}
    for ways in all_ways:
        for place, worst in ways.items():
            merged[place] = worst.most(merged.get(place))
    return merged


class _Planner:
    """A walk through the steps of a program, with all places where a run can be, well or failed."""

    def __init__(self, program: Ladder, schedule: Schedule, each: float) -> None:
        self.top = program.start
        self.schedule = schedule
        self.each = each  # seconds of a try at most; inf if they are not limited
        gates = checked_gates("through", program._defaults.through or ())
        self.before = sum(gate.longest for gate in gates)  # the longest time in line of each try
        self.line = 0.0
        self.longest: list[float] = []  # the longest k-th wait, s; never less than wait k - 1
        self.well: Ways = {(self.top, True): Worst()}
        self.failed: Ways = {}
        self.ended: Ways = {}  # the ways of runs that a misuse ends
        self.tries: dict[int, int | None] = {}
        self.takes: dict[int, float] = {}
        self.begins: dict[int, float] = {}
        self.waits: dict[int, tuple[float, str]] = {}

    def planned(self, program: Ladder) -> Plan:
        frames: list[tuple[Iterator[Step], Ways, Ways]] = [(iter(program.steps()), {}, {})]
        while frames:
            steps, well, failed = frames[-1]
            for step in steps:
                if not isinstance(step, JoiningStep) or step.known is None:
                    self.take(step)
                    continue
                frames.append((iter(step.known.steps()), *self.enter(step, step.known)))
                break
            else:
                frames.pop()
                self.well, self.failed = merged(self.well, well), merged(self.failed, failed)
        end = program.ends_at or 0
        last = [
            worst
            for ways in (self.well, self.failed)
            for (rung, sure), worst in ways.items()
            if rung == end or not sure
        ]
        for worst in last:
            self.mark(worst.unknown)
        most = Worst()
        for worst in [*last, *self.ended.values()]:
            most = most.most(worst)
        tries = None if None in self.tries.values() else most.tries
        return Plan(
            self.rungs(end),
            tries,
            most.waits,
            most.seconds,
            most.commands,
            longest_of(most, checked_seconds("within", program._defaults.within)),
            self.line,
        )

    def rungs(self, end: int) -> tuple[PlannedRung, ...]:
        first, last = (DEEPEST, 1) if self.top == ENDLESS else (self.top, end)
        return tuple(self.planned_rung(rung) for rung in range(first, last - 1, -1))

    def planned_rung(self, rung: int) -> PlannedRung:
        waits, when = self.waits.get(rung, (None, ""))
        tries, takes = self.tries.get(rung, 0), self.takes.get(rung, 0.0)
        known = None if tries is None or takes == inf else takes
        return PlannedRung(rung, tries, waits, when, known, self.begins.get(rung, 0.0))

    def enter(self, step: JoiningStep, known: Ladder) -> tuple[Ways, Ways]:
        """Enter a joined program; return the well and the failed places of runs that bypass it."""
        bind = isinstance(step, BindStep)
        taken = self.well if bind else self.failed
        over_well = {} if bind else self.moved(self.well, step)
        inside: Ways = {}
        for (rung, sure), worst in taken.items():
            fits = rung == known.start if sure else rung >= known.start
            self.arrive(inside if fits else self.ended, (known.start, True), worst)
        over_failed = self.moved(self.failed, step)
        self.well, self.failed = inside, {}
        return over_well, over_failed

    def take(self, step: Step) -> None:
        if isinstance(step, JoiningStep):
            self.take_unknown(step)
        elif isinstance(step, RetryStep):
            self.take_retry(step)
        elif isinstance(step, DoStep | ThenStep):
            tried = self.tried(self.well, step)
            self.well, self.failed = tried, merged(self.failed, tried)
        elif isinstance(step, OrElseStep):
            tried = self.tried(self.failed, step)
            self.well, self.failed = merged(self.well, tried), merged(self.failed, tried)
        elif isinstance(step, MapStep):
            self.failed = merged(self.failed, self.well)
        elif not isinstance(step, DownStep | AtStep | EndStep):
            raise NotImplementedError(f"A plan does not know what {step.__class__.__name__} does.")
        else:
            failed = self.waited(self.failed, "failed") if isinstance(step, BackoffStep) else {}
            well = self.waited(self.well, "well") if isinstance(step, WaitStep) else self.well
            self.failed = self.moved(merged(self.failed, failed), step)
            self.well = self.moved(well, step)

    def take_unknown(self, step: JoiningStep) -> None:
        bind = isinstance(step, BindStep)
        outcome: Ways = {}
        for (rung, _), worst in (self.well if bind else self.failed).items():
            start = rung if step.start is None else min(rung, step.start)
            ends = range(start + 1) if step.end is None else [step.end]
            if start == ENDLESS:
                ends = [0, ENDLESS] if step.end is None else [step.end]
            for end in ends:
                rungs = range(0) if start == ENDLESS else range(start, end, -1)
                waits = [self.wait(self.top - rung) for rung in rungs]
                after = worst.tried(unknown_cost(step.function)).waited(sum(waits), len(waits))
                after = after._replace(tries=inf, unknown=worst.unknown | {(start, end)})
                for done, rung in enumerate(range(start, end - 1, -1)):
                    self.reach(rung, worst.longest + sum(waits[:done]))
                if start == ENDLESS != end:
                    after = after._replace(waits=inf, seconds=inf, longest=inf)
                self.arrive(outcome, (end, True), after)
                if step.end is None:
                    self.arrive(outcome, (end, False), after)
        self.failed = merged(self.moved(self.failed, step), outcome)
        self.well = outcome if bind else merged(self.moved(self.well, step), outcome)

    def take_retry(self, step: RetryStep) -> None:
        cost = self.cost_of_a_try(step)
        outcome: Ways = {}
        for (rung, _), worst in self.well.items():
            endless = rung == ENDLESS
            after = worst
            for place in range(DEEPEST if endless else rung, 0 if endless else -1, -1):
                self.reach(place, after.longest)
                self.try_on(place, cost)
                after = after.tried(cost)
                if place:
                    self.wait_on(place, "failed")
                    after = after.waited(self.waits[place][0])
            if endless:
                commands = worst.commands.plus(cost.commands.times(inf))
                after = Worst(inf, inf, inf, inf, False, commands, worst.unknown)
            self.arrive(outcome, (0, True), after)
        self.well, self.failed = outcome, merged(self.moved(self.failed, step), outcome)

    def tried(self, ways: Ways, step: DoStep | ThenStep | OrElseStep) -> Ways:
        cost = self.cost_of_a_try(step)
        for rung in {rung for rung, _ in ways}:
            self.try_on(min(rung, DEEPEST), cost)
        return {place: worst.tried(cost) for place, worst in ways.items()}

    def waited(self, ways: Ways, when: str) -> Ways:
        after: Ways = {}
        for place, worst in ways.items():
            rung = place[0]
            self.wait_on(rung, when)
            after[place] = worst.waited(self.wait(self.top - rung))
        return after

    def moved(self, ways: Ways, step: Step) -> Ways:
        """Return the ways after the descent by `step`; in a run, `ProgramRun.descend` does this."""
        after: Ways = {}
        for (rung, sure), worst in ways.items():
            start = step.start
            here, known = (rung, sure) if sure or start is None else (min(rung, start), True)
            try:
                below = step.below(here if known else None)
                there = step.bound(here) if below is None else min(below, here)
            except Misuse:
                self.arrive(self.ended, (rung, sure), worst)
            else:
                self.reach(there, worst.longest)
                self.arrive(after, (there, below is not None), worst)
        return after

    def arrive(self, ways: Ways, place: Place, worst: Worst) -> None:
        ways[place] = worst.most(ways.get(place))

    def cost_of_a_try(self, step: DoStep | ThenStep | OrElseStep | RetryStep) -> Cost:
        if isinstance(step, ThenStep | RetryWithStep):
            cost = unknown_cost(step.function)
        else:
            cost = cost_of(step.effect)
        line = cost.line + self.before
        self.line = max(self.line, line)
        seconds = min(cost.seconds + self.before, self.each + line)
        return cost._replace(seconds=seconds, line=line)

    def reach(self, rung: int, seconds: float) -> None:
        """Record the time at which a run reaches a rung, unless it starts there."""
        if rung != self.top:
            self.begins[rung] = max(self.begins.get(rung, 0.0), seconds)

    def try_on(self, rung: int, cost: Cost) -> None:
        tries = self.tries.get(rung, 0)
        self.tries[rung] = None if tries is None else tries + 1
        self.takes[rung] = self.takes.get(rung, 0.0) + cost.seconds

    def wait_on(self, rung: int, when: str) -> None:
        top = min(self.top, DEEPEST)
        self.waits[rung] = (self.wait(top - rung), when)

    def mark(self, unknown: frozenset[tuple[int, int]]) -> None:
        for start, end in unknown:
            for rung in range(min(start, DEEPEST), end - 1, -1):
                self.tries[rung] = None
                if rung > end and rung not in self.waits:
                    self.wait_on(rung, "perhaps")

    def wait(self, k: int) -> float:
        """Return the longest k-th wait, in seconds: no wait is shorter than the one before."""
        while len(self.longest) <= k:
            before = self.longest[-1] if self.longest else 0.0
            self.longest.append(max(before, self.schedule.longest(len(self.longest))))
        return self.longest[k]


def longest_of(worst: Worst, within: float | None) -> float | None:
    """Return the most seconds of a run; `None` if neither `within` nor limits of tries bound it."""
    known = worst.longest if worst.waits == inf or not worst.open else None
    if within is None:
        return known
    return max(within, 0.0) if known is None else min(known, max(within, 0.0))
