"""What a program means: one flat stream of commands.

`chained` is what a chain of steps asks of the machine, step by step; `WELL` and `FAILED` have the
meaning of each kind of step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import GeneratorType
from typing import Any, TypeAlias

from .._limits.budgets import Budget, budgeted
from .._limits.deadlines import checked_seconds, limited
from .._limits.nesting import check_begun
from .._words.commands import Command, Handlers, Stream
from .._words.failures import Predicate
from ..schedules.kinds import Chance, Schedule, Timing, check_schedule, powers_of_two
from .chains import Chain, Step, chain
from .descents import After
from .machine import Inner, performed_on_a_stack
from .replay import Entry, replay
from .runs import Run, recoverable
from .steps import (
    Backoff,
    Bind,
    Do,
    Map,
    OrBind,
    OrElse,
    Resume,
    Retry,
    Start,
    Task,
    Then,
    Vary,
    Wait,
    checked_effect,
    checked_task,
)

NO_HANDLERS: Handlers = {}
Asked: TypeAlias = Command[Any] | Inner | None


def unroll(
    program: Chain,
    schedule: Schedule = powers_of_two,
    *,
    within: float | None = None,
    budget: Budget | None = None,
) -> Stream:
    """Every command of a program, in order, `Delay`s included; it is sent every answer.

    A command's failure is thrown in. It returns the program's value, or raises its last failure.
    What is no `Exception` (cancellation, `KeyboardInterrupt`) is never held back: it passes through
    the running attempts, innermost first, and the commands of their `finally` blocks are issued.

    >>> from ixbackoff import N1, Log, at
    >>> list(unroll(at(N1).do(Log("one")).wait().do(Log("two"))))
    [Log(message='one', level=20), Delay(seconds=1.0, rung=1), Log(message='two', level=20)]

    Args:
        program: the program, or an attempt.
        schedule: the seconds of its waits.
        within: the seconds that it has in all; it then asks for the time, with `Now`.
        budget: what its further tries are taken from.
    """
    within = checked_seconds("within", within)
    check_schedule(schedule)
    return bounded(unrolled(program, schedule), within, budget)


def bounded(stream: Stream, within: float | None, budget: Budget | None) -> Stream:
    """`stream`, which has so many seconds, and takes its further tries from `budget`."""
    if within is not None:
        stream = limited(stream, within)
    if budget is not None:
        stream = budgeted(stream, budget)
    return stream


def unrolled(
    program: Chain, timing: Timing, handlers: Handlers = NO_HANDLERS, chance: Chance | None = None
) -> Stream:
    """`unroll`, where commands that `handlers` has are answered on the spot.

    A `Timing` that can shorten waits is for simulations.
    """
    check_begun(program)
    run = Run(program, timing, chance)
    return performed_on_a_stack(chained(program, run), run, handlers)


def chained(chain: Chain, run: Run | None) -> Task:
    """A chain: well, it holds a value, or it has failed; each step says what it does in either.

    `run` is that of the program whose steps they are; the steps of an attempt have none.
    """
    value: Any = None
    failure: BaseException | None = None
    steps: tuple[Any, ...] = chain.steps()
    last = steps[-1] if steps else None
    try:
        for step in steps:
            kind = step.__class__
            try:
                if failure is None:
                    if kind is Map:
                        value = step.function(value)
                        continue
                    asked = WELL.get(kind, passed_over)(step, run, value)
                elif isinstance(failure, Exception) and recoverable(failure, run):
                    asked = FAILED.get(kind, passed_over)(step, run, failure)
                else:
                    continue
                if asked is not None:
                    if step is last and asked.__class__ is Inner:
                        return asked
                    value = yield asked
                    failure = None
                    if run is not None and run.expired is not None:  # an attempt held it back
                        raise run.expired
            except BaseException as error:
                failure = error
        if failure is not None:
            raise failure
        return value
    finally:
        failure = None


# The meaning of each step: from the step, the run and the value (`WELL`) or the failure
# (`FAILED`) to what is to be performed, if anything is.


def do(step: Do, run: Run | None, _: Any) -> Asked:
    """Perform the effect."""
    return performed(step.effect, run)


def start(step: Start, run: Run | None, _: Any) -> Asked:
    """Start the generator function."""
    task = step.function(*step.arguments, **step.keywords)
    return performed(checked_task(task, step.function), run)


def then(step: Then, run: Run | None, value: Any) -> Asked:
    """Perform the effect that the function makes of the value."""
    return performed(checked_effect(step.function(value)), run)


def or_else(step: OrElse, run: Run | None, failure: Exception) -> Asked:
    """Perform the effect instead."""
    return performed(step.effect, run) if step.chosen(failure) else None


def bind(step: Bind, run: Run, value: Any) -> Asked:
    """Go on with the program that the function makes of the value."""
    return Inner(chained(run.entered(step, value), run))


def or_bind(step: OrBind, run: Run, failure: Exception) -> Asked:
    """Go on with the program that the function makes of the failure."""
    if not step.chosen(failure):
        return passed_over(step, run, failure)
    return Inner(chained(run.entered(step, failure), run))


def wait(step: Wait, run: Run, value: Any) -> Asked:
    """Wait, and go on with the value. One rung down."""
    return Inner(waited(step, run, None, value))


def backoff(step: Backoff, run: Run, failure: Exception) -> Asked:
    """Wait, and stay failed. One rung down in any case."""
    if not step.chosen(failure):
        return passed_over(step, run, failure)
    return Inner(waited(step, run, failure, None))


def retry(step: Retry, run: Run, _: Any) -> Asked:
    """Perform the effect; while its failure is chosen, wait and perform it again."""
    return Inner(retried(step.on, step.chosen, run))


def resume(step: Resume, run: Run, _: Any) -> Asked:
    """As `retry`, where what was answered is not asked again."""
    return Inner(resumed(step, run))


def passed_over(step: Step, run: Run | None, _: Any) -> Asked:
    """Only go down as far as the step does."""
    if run is not None:
        run.descend(step)
    return None


WELL: Mapping[type[Step], Any] = {
    Do: do,
    Start: start,
    Then: then,
    Bind: bind,
    Wait: wait,
    Retry: retry,
    Vary: retry,
    Resume: resume,
}
FAILED: Mapping[type[Step], Any] = {OrElse: or_else, OrBind: or_bind, Backoff: backoff}


def waited(step: Step, run: Run, failure: Exception | None, value: Any) -> Task:
    """Wait, and be what it was: well with a value, or failed."""
    try:
        rung = run.rung
        run.descend(step)
        yield from run.waited(rung, run.descent(rung, object), failure)
        if failure is not None:
            raise failure
        return value
    finally:
        failure = None


def retried(effect_on: Callable[[int], Any], chosen: Predicate, run: Run) -> Task:
    """Try; as long as its `descent` has a wait for the failure, go down, and try again."""
    after: After | None = None
    failure: Exception | None = None
    try:
        while True:
            try:
                return (yield performed(effect_on(run.rung), run))
            except Exception as error:
                if not recoverable(error, run):
                    raise
                failure = error
            after = after or run.descent(run.rung, (), chosen)
            rung, run.rung = run.rung, max(run.rung - 1, 0)
            if not (yield from run.waited(rung, after, failure)):
                raise failure
    finally:
        failure = None
        run.rung = 0


def resumed(step: Resume, run: Run) -> Task:
    """`retried`, with a log of what was answered, which each try has read to it first."""
    log: list[Entry] = []
    once = chain(Chain, None, Do(step.effect))
    try:
        return (yield from retried(lambda _: Again(once, log), step.chosen, run))
    finally:
        log.clear()


class Again:
    """An effect that, performed again, goes on at the command that failed."""

    __slots__ = ("chain", "log")

    def __init__(self, chain: Chain, log: list[Entry]) -> None:
        self.chain = chain
        self.log = log

    def __iter__(self) -> Stream:
        return replay(unroll(self.chain), self.log)


class Limited:
    """An effect that has so many seconds."""

    __slots__ = ("chain", "seconds")

    def __init__(self, chain: Chain, seconds: float) -> None:
        self.chain = chain
        self.seconds = seconds

    def __iter__(self) -> Stream:
        return unroll(self.chain, within=self.seconds)


def performed(effect: Any, run: Run | None) -> Asked:
    """What is asked for so that `effect` is performed; if that is a try of `run`, it counts."""
    if run is not None:
        run.tries += 1
    if isinstance(effect, Command):
        return effect
    if isinstance(effect, Chain):
        return Inner(chained(effect, None))
    task = effect if isinstance(effect, GeneratorType) else iter(effect)
    return Inner(checked_task(task, effect.__class__))
