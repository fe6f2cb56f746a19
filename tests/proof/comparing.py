"""Runs a random program by the rules and in the library, and says what each came to."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from ixbackoff import Schedule, plan
from ixbackoff._meaning.run_state import ProgramRun
from ixbackoff._meaning.semantics import attempted, chained
from ixbackoff._meaning.trampoline import driven
from ixbackoff._words.standard_commands import Delay
from ixbackoff.schedules import Chance

from ..support.ways.programs import Ask
from . import calculus
from .calculus import Failure, Outcome, Planner, failed, over, well
from .making import KINDS, TOP_OF_FOREVER, Maker

ANSWERS = [0, 1, 2, 3, None]
FAILURES = [*["NotReady"] * 6, *["Throttled"] * 6, "KeyError", "KeyError", "KeyError"]
OVER = ["Misuse", "KeyboardInterrupt"]
PATIENCE = 60
"""On a ladder without end later commands are well and later waits fail, or it would go on."""
LONGEST = 1000
"""No run does more; a library that is wrong may never end."""


class World(NamedTuple):
    """What comes of each command, which wait fails, and how long the waits are.

    Attributes:
        script: the answer, or the kind of failure with the seconds that it asks for.
        broken: the number of the wait that fails; -1 if none does.
        seconds: of the k-th wait, which may be fewer than those of the one before.
        slope: more seconds for each k: above 13, no two waits of the schedule are the same.
    """

    script: list[Any]
    broken: int
    seconds: list[float]
    slope: float
    forever: bool

    def told(self, n: int) -> Any:
        return 1 if self.forever and n >= PATIENCE else self.script[n % len(self.script)]

    def answer(self, n: int) -> Outcome:
        told = self.told(n)
        if not isinstance(told, tuple):
            return well(told)
        return (over if told[0] in OVER else failed)(Failure(*told))

    def breaks(self, n: int) -> bool:
        return n == self.broken or (self.forever and n >= PATIENCE)

    def sleep(self, n: int) -> Failure | None:
        return Failure("SleepError") if self.breaks(n) else None

    def schedule(self, k: int) -> float:
        return self.seconds[k % len(self.seconds)] + self.slope * k


class Asked(Schedule):
    """The schedule of a world, which records the numbers that it is asked for.

    It may fall: that no wait is shorter than the one before is for the run to see to.
    """

    __slots__ = ("numbers", "world")
    deterministic = True

    def __init__(self, world: World) -> None:
        self.world = world
        self.numbers: list[int] = []

    def begin(self, chance: Chance | None = None) -> Callable[[int], float]:  # noqa: ARG002
        return self.wait

    def wait(self, k: int) -> float:
        self.numbers.append(k)
        return self.world.schedule(k)


class SleepError(Exception):
    """A wait was not waited."""


class Done(NamedTuple):
    """What a run came to: how it ended, its trace, and how often it tried."""

    ended: Any
    trace: list[tuple[Any, ...]]
    tries: int


class Case(NamedTuple):
    """A program for the calculus and for the library, and their world."""

    model: calculus.Program
    real: Any
    top: int
    world: World

    @property
    def setting(self) -> calculus.Setting:
        patience = PATIENCE + 1 if self.world.forever else None
        w = self.world
        return calculus.Setting(w.answer, w.sleep, w.schedule, self.top, patience)


def case(seed: int) -> Case:
    """Make the program and the world of this number."""
    maker = Maker(seed)
    random = maker.random
    forever = maker.chance(0.1)
    top = TOP_OF_FOREVER if forever else random.choice([0, 1, 2, 3, 4, 4, 5, 5, 5])
    model, real = maker.whole(top, forever)
    return Case(model, real, top, world(random, forever))


def world(random: Random, forever: bool) -> World:
    bad = random.choice([0.9, 1.0] if forever else [0.2, 0.5, 0.7, 0.9])
    script = [outcome(random, bad) for _ in range(random.randrange(3, 9))]
    broken = random.choice([-1] * 9 + [0, 1, 2])
    seconds = [random.choice([0.0, 0.5, 1, 2, 3, 5, 8, 13]) for _ in range(6)]
    return World(script, broken, seconds, random.choice([0.0, 0.0, 0.5, 16.0]), forever)


def outcome(random: Random, bad: float) -> Any:
    if random.random() > bad:
        return random.choice(ANSWERS)
    kind = random.choice(OVER) if random.random() < 0.04 else random.choice(FAILURES)
    asked = random.choice([0.0, 0.0, 1.0, 7.0, 20.0]) if kind == "Throttled" else 0.0
    return kind, asked


def modelled(case: Case, rules: type[calculus.Run] = calculus.Run) -> Done:
    """Run it by the rules."""
    run = rules(case.setting)
    o = run.eval(case.model)
    ended = (o.state, o.it) if o.state == "well" else o.it.kind
    return Done(ended, run.state.history, run.state.tried)


def real(case: Case) -> Done:
    """Run it in the library."""
    schedule = Asked(case.world)
    run = ProgramRun(case.real, schedule)
    stream = driven(chained(case.real, run), run, {}, attempted)
    trace: list[tuple[Any, ...]] = []
    waits = commands = 0
    answer: Any = None
    error: BaseException | None = None
    try:
        while len(trace) < LONGEST:
            command = stream.send(answer) if error is None else stream.throw(error)
            answer = error = None
            if isinstance(command, Delay):
                trace.append(("waited", command.rung, *schedule.numbers, command.seconds))
                schedule.numbers.clear()
                if case.world.breaks(waits):
                    error = SleepError()
                waits += 1
                continue
            assert isinstance(command, Ask)
            trace.append(("issued", command.name))
            told = case.world.told(commands)
            commands += 1
            if isinstance(told, tuple):
                error = KINDS[told[0]](Failure(*told))
            else:
                answer = told
    except StopIteration as end:
        return Done(("well", end.value), trace, run.tries)
    except BaseException as failure:
        return Done(type(failure).__name__, trace, run.tries)
    return Done("no end", trace, run.tries)


def difference(case: Case, rules: type[calculus.Run] = calculus.Run) -> str:
    """Say how the library and the rules differ; nothing if they do not."""
    one, other = modelled(case, rules), real(case)
    return (
        ""
        if one == other
        else f"{shown(case.model)}\n{case.world}\nby the rules: {one}\nin the library: {other}"
    )


def shown(p: calculus.Program) -> str:
    """Write a program on one line."""
    if p.before is None:
        return f"at({p.end})"
    inner = f"({shown(p.it)})" if isinstance(p.it, calculus.Program) else ""
    return f"{shown(p.before)}.{p.step}{inner}"


def unplanned(case: Case, planner: type[Planner] = Planner) -> str:
    """Say how the plan of the calculus differs from that of the library, or from a run of it."""
    known = plan(case.real, Asked(case.world))
    tries, waits, seconds = planner(case.top, case.world.schedule).planned(case.model)
    done = modelled(case)
    waited = [event[3] for event in done.trace if event[0] == "waited"]
    asked = any(isinstance(told, tuple) and told[1] for told in case.world.script)
    by_function = "bind" in shown(case.model)
    wrong = (
        len(waited) > waits
        or (not asked and sum(waited) > seconds)
        or waits > known.wait_count
        or seconds > known.seconds * (1 + 1e-12)
        or (not by_function and done.tries > tries)
        or (not by_function and (tries, waits) != (known.tries, known.wait_count))
        or (not by_function and abs(seconds - known.seconds) > 1e-9)
    )
    return f"{shown(case.model)}\n{(tries, waits, seconds)}\n{known}\n{done}" if wrong else ""
