"""The meaning of a program: one flat stream of commands.

`chained` walks a chain of steps; the tables have the meaning of each kind of step, one for a
program that is well and one for a program that has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from .._limits.breakers import CircuitBreaker, guarded_twice
from .._limits.budgets import RetryBudget, budgeted
from .._limits.deadlines import LEFT, Expired, Limit, checked_seconds
from .._limits.nesting import check_begun
from .._words.commands import Command, Handlers, Misuse, Stream
from .._words.failures import Predicate
from .._words.nat import ENDLESS
from .._words.vocabulary import CLOCK, Delay, Log, Now, Pick, Throw
from ..schedules.kinds import Schedule, check_schedule
from ..schedules.timings import Chance, Timing
from .chains import Chain, Ladder, Step, chain
from .defaults import USUAL
from .descents import After
from .machine import Enter, Task, driven
from .replay import Entry, replay
from .runs import InAttempt, Run
from .steps import (
    AtStep,
    BackoffStep,
    BindStep,
    DoStep,
    EndStep,
    Guarded,
    Limited,
    MapStep,
    OrBindStep,
    OrElseStep,
    ResumeStep,
    RetryStep,
    RetryWithStep,
    SkipStep,
    StartStep,
    ThenStep,
    WaitStep,
    checked_effect,
    fresh,
)

if TYPE_CHECKING:
    from datetime import timedelta

__tracebackhide__ = True

Place: TypeAlias = Run | InAttempt
"""Where a chain runs: on a ladder, or inside an attempt."""

Asked: TypeAlias = "Command[Any] | Enter | None"
"""What a step asks the machine for, if anything."""

NO_HANDLERS: Handlers = {}

WITHOUT_SERVICE = (Log, Now, Pick, Throw)
"""The commands that ask no service, so no breaker refuses them as steps."""


def unroll(
    program: Chain,
    schedule: Schedule | None = None,
    *,
    within: float | timedelta | None = None,
    budget: RetryBudget | None = None,
    breaker: CircuitBreaker | None = None,
) -> Stream:
    """Every command of a program, in order, waits included; it is sent every answer.

    A command's failure is thrown in. It returns the program's value, or raises its last failure.
    An exception that is not an `Exception` (cancellation, `KeyboardInterrupt`) is never swallowed:
    it passes through the running attempts, innermost first, and the commands of their `finally`
    blocks are issued.

    >>> from ixbackoff import N1, Log, at
    >>> list(unroll(at(N1).do(Log("one")).wait().do(Log("two"))))
    [Log(message='one', level=20), Delay(seconds=1.0, rung=1), Log(message='two', level=20)]

    Args:
        program: the program, or an attempt.
        schedule: the seconds of its waits, powers of two unless the program has its own.
        within: the seconds that it has in all; it then asks for the time, with `Now`.
        budget: its further tries are taken from it.
        breaker: lets its tries through or refuses them; it asks for the time, with `Now`.
    """
    usual = program._defaults if isinstance(program, Ladder) else USUAL
    how = usual.replace(schedule, within, budget, breaker)
    check_schedule(how.schedule)
    check_begun(program)
    return unrolled(
        program, how.schedule, within=how.within, budget=how.budget, breaker=how.breaker
    )


def unrolled(
    program: Chain,
    timing: Timing,
    handlers: Handlers = NO_HANDLERS,
    *,
    chance: Chance | None = None,
    within: float | timedelta | None = None,
    budget: RetryBudget | None = None,
    breaker: CircuitBreaker | None = None,
    run: Run | None = None,
) -> Stream:
    """`unroll`, where commands that `handlers` have are answered in place.

    A `Timing` that can shorten waits is for simulations. Whoever makes the `run` knows more of it.
    """
    run = run or Run(program, timing, chance)
    if breaker is not None:
        run.breaker = breaker
    task = chained(program, run) if run.ladder else attempted(program, run.inside)
    seconds = None if within is None else checked_seconds("within", within)
    if seconds is not None:
        task = limited(Enter(task), seconds, run)
    stream = driven(task, run, handlers, attempted)
    return stream if budget is None else budgeted(stream, budget)


def chained(chain: Chain, place: Place) -> Task:
    """Run a chain. It is well, and holds a value, or it has failed; each step says what it does.

    The table of the state that it is in has the meaning of each step.
    """
    on_ladder = place.__class__ is Run
    well = WELL if on_ladder else WELL_IN_ATTEMPT
    failed = FAILED if on_ladder else FAILED_IN_ATTEMPT
    value: Any = None
    failure: BaseException | None = None
    steps: tuple[Any, ...] = chain._flat or chain.steps()
    last = steps[-1] if steps else None
    try:
        for step in steps:
            kind = step.__class__
            try:
                if failure is None:
                    if kind is MapStep:
                        value = step.function(value)
                        continue
                    meaning = well.get(kind, refused)
                    if meaning is None:
                        continue
                    asked: Asked = meaning(step, place, value)
                else:
                    meaning = failed.get(kind, refused)
                    if meaning is None or not place.recoverable(failure):
                        continue
                    asked = meaning(step, place, failure)
                if asked is not None:
                    if step is last and asked.__class__ is Enter:
                        return asked
                    value = yield asked
                    failure = None
                    if place.expired is not None:  # an attempt held it back
                        raise place.expired
            except BaseException as error:
                failure = error
        if failure is not None:
            raise failure
        return value
    finally:
        failure = None


def attempted(attempt: Chain, inside: InAttempt) -> Task:
    """Run an attempt."""
    return (chained if attempt._recovers else in_order)(attempt, inside)


def in_order(attempt: Chain, inside: InAttempt) -> Task:
    """As `chained`, for an attempt where no step recovers: the first failure ends it."""
    value: Any = None
    steps: tuple[Any, ...] = attempt._flat or attempt.steps()
    last = steps[-1]
    for step in steps:
        kind = step.__class__
        if kind is MapStep:
            value = step.function(value)
            continue
        if kind is DoStep or kind is ThenStep:  # as `do` and `then`, in place
            effect = step.effect if kind is DoStep else checked_effect(step.function(value))
            if issubclass(effect.__class__, Command):
                value = yield effect
                continue
            asked: Asked = performed(effect, inside)
        else:
            asked = WELL_IN_ATTEMPT.get(kind, refused)(step, inside, value)
        if step is last and asked.__class__ is Enter:
            return asked
        value = yield asked
    return value


def do(step: DoStep, place: Place, _: Any) -> Asked:
    """Perform the effect. Its answer is the value.

    >>> from ixbackoff import N0, Log, at, unroll
    >>> list(unroll(at(N0).do(Log("one"))))
    [Log(message='one', level=20)]
    """
    return performed(step.effect, place)


def start(step: StartStep, place: Place, _: Any) -> Asked:
    """Start the generator function of an attempt in do-notation. What it returns is the value.

    >>> from ixbackoff import Log, attempt, unroll
    >>> @attempt
    ... def hello():
    ...     yield from Log("hello")
    >>> list(unroll(hello()))
    [Log(message='hello', level=20)]
    """
    place.tries += 1
    task = step.function(*step.arguments, **step.keywords)
    return Enter(task if step.fresh else fresh(task, step.function))


def then(step: ThenStep, place: Place, value: Any) -> Asked:
    """Perform the effect that the function makes of the value. Its answer is the next value.

    >>> from ixbackoff import N0, Log, Pick, at, unroll
    >>> stream = unroll(at(N0).do(Pick(6)).then(lambda number: Log(str(number))))
    >>> next(stream), stream.send(4)
    (Pick(count=6), Log(message='4', level=20))
    """
    return performed(checked_effect(step.function(value)), place)


def or_else(step: OrElseStep, place: Place, failure: Exception) -> Asked:
    """Perform the effect instead, if the failure is chosen. The program is then well.

    >>> from ixbackoff import N0, Log, NotReady, at, unroll
    >>> stream = unroll(at(N0).do(Log("one")).or_else(Log("other")))
    >>> next(stream), stream.throw(NotReady())
    (Log(message='one', level=20), Log(message='other', level=20))
    """
    return performed(step.effect, place) if step.chosen(failure) else None


def bind(step: BindStep, run: Run, value: Any) -> Asked:
    """Go on with the program that the function makes of the value.

    >>> from ixbackoff import N1, Log, at, unroll
    >>> list(unroll(at(N1).bind(lambda _: at(N1).wait())))
    [Delay(seconds=1.0, rung=1)]
    """
    rung, sure = run.descend(step)
    return entered_by(step, run, value, rung, sure)


def or_bind(step: OrBindStep, run: Run, failure: Exception) -> Asked:
    """Go on with the program that the function makes of the failure, if it is chosen.

    >>> from ixbackoff import N1, Log, NotReady, at, unroll
    >>> stream = unroll(at(N1).do(Log("one")).or_bind(lambda failure: at(N1).retry(Log("other"))))
    >>> next(stream), stream.throw(NotReady())
    (Log(message='one', level=20), Log(message='other', level=20))
    """
    stood = run.descend(step)  # also when its predicate breaks
    return entered_by(step, run, failure, *stood) if step.chosen(failure) else None


def wait(step: WaitStep, run: Run, value: Any) -> Asked:
    """Wait, and go on with the value, one rung down.

    >>> from ixbackoff import N2, at, unroll
    >>> list(unroll(at(N2).wait().wait()))
    [Delay(seconds=1.0, rung=2), Delay(seconds=2.0, rung=1)]
    """
    rung, _ = run.descend(step)
    return Enter(waited(rung, run, None, value))


def backoff(step: BackoffStep, run: Run, failure: Exception) -> Asked:
    """Wait, if the failure is chosen, and stay failed. One rung down in any case.

    >>> from ixbackoff import N1, Log, NotReady, at, unroll
    >>> stream = unroll(at(N1).do(Log("one")).backoff())
    >>> next(stream), stream.throw(NotReady())
    (Log(message='one', level=20), Delay(seconds=1.0, rung=1))
    """
    rung, _ = run.descend(step)  # also when its predicate breaks
    if step.chosen(failure):
        return Enter(waited(rung, run, failure, None))
    run.pass_on(failure, step.chosen)
    return None


def retry(step: RetryStep, run: Run, _: Any) -> Asked:
    """Perform the effect; while its failure is chosen, wait, go down, and perform it again.

    `retry_with` performs the effect that its function makes of the rung.

    >>> from ixbackoff import N1, Log, NotReady, at, unroll
    >>> stream = unroll(at(N1).retry(Log("try")))
    >>> next(stream), stream.throw(NotReady()), next(stream)
    (Log(message='try', level=20), Delay(seconds=1.0, rung=1), Log(message='try', level=20))
    """
    return Enter(retried(step.on, step.chosen, run))


def resume(step: ResumeStep, run: Run, _: Any) -> Asked:
    """As `retry`, but a command that was answered is not issued again.

    >>> from ixbackoff import N1, Log, NotReady, at, do, unroll
    >>> stream = unroll(at(N1).resume(do(Log("one")).then(lambda _: Log("two"))))
    >>> next(stream), next(stream)
    (Log(message='one', level=20), Log(message='two', level=20))
    >>> stream.throw(NotReady()), next(stream)
    (Delay(seconds=1.0, rung=1), Log(message='two', level=20))
    """
    return Enter(resumed(step, run))


def passed_over(step: Step, run: Run, _: Any) -> Asked:
    """Only go down as far as the step does.

    >>> from ixbackoff import N2, at, unroll
    >>> list(unroll(at(N2).skip().wait()))
    [Delay(seconds=2.0, rung=1)]
    """
    run.descend(step)
    return None


def refused(step: Step, place: Place, _: Any) -> Asked:
    """Refuse a step that is for a ladder, inside an attempt."""
    if isinstance(place, Run):
        raise NotImplementedError(f"{step.__class__.__name__} has no meaning in WELL and FAILED.")
    raise Misuse(
        f"{step.__class__.__name__} is a step of a program and cannot stand in an attempt, or "
        "waits would multiply: put it on the ladder."
    )


Meanings: TypeAlias = Mapping[type[Step], Any]
"""From a kind of step to its meaning: a function of the step, its place, and value or failure.

`None` passes over a step that stays on its rung.
"""

WELL_IN_ATTEMPT: Meanings = {DoStep: do, StartStep: start, ThenStep: then, OrElseStep: None}
FAILED_IN_ATTEMPT: Meanings = {
    DoStep: None,
    StartStep: None,
    ThenStep: None,
    MapStep: None,
    OrElseStep: or_else,
}
WELL: Meanings = {
    DoStep: do,
    StartStep: start,
    ThenStep: then,
    OrElseStep: None,
    BindStep: bind,
    OrBindStep: passed_over,
    BackoffStep: passed_over,
    WaitStep: wait,
    SkipStep: passed_over,
    AtStep: passed_over,
    RetryStep: retry,
    RetryWithStep: retry,
    ResumeStep: resume,
    EndStep: passed_over,
}
FAILED: Meanings = {
    DoStep: None,
    StartStep: None,
    ThenStep: None,
    MapStep: None,
    OrElseStep: or_else,
    BindStep: passed_over,
    OrBindStep: or_bind,
    BackoffStep: backoff,
    WaitStep: passed_over,
    SkipStep: passed_over,
    AtStep: passed_over,
    RetryStep: passed_over,
    RetryWithStep: passed_over,
    ResumeStep: passed_over,
    EndStep: passed_over,
}


def performed(effect: Any, place: Place) -> Asked:
    """Ask for a command, or enter an attempt: one try more."""
    place.tries += 1
    kind: type = effect.__class__
    breaker = place.breaker
    if breaker is None and issubclass(kind, Command):
        command: Asked = effect
        return command
    inside = place._inside or place.inside if isinstance(place, Run) else place
    if breaker is not None:
        return (
            effect if issubclass(kind, WITHOUT_SERVICE) else Enter(guarded(effect, breaker, inside))
        )
    if issubclass(kind, Chain):  # as `attempted`, in place
        return Enter((chained if effect._recovers else in_order)(effect, inside))
    if kind is Limited:
        task = attempted(effect.chain, inside)
        return Enter(limited(Enter(task), effect.seconds, inside))
    if kind is Guarded:
        return Enter(guarded(effect.chain, effect.breaker, inside))
    return Enter(fresh(iter(effect), kind))


def entered_by(step: BindStep | OrBindStep, run: Run, given: Any, rung: int, sure: bool) -> Enter:
    """Enter the program that a function makes; if its end is known, the run is there then."""
    program = run.entered(step, given, rung, sure)
    task = chained(program, run)
    return Enter(
        task if step.end is None or program.ends_at is not None else ending(task, run, step)
    )


def ending(task: Task, run: Run, step: BindStep | OrBindStep) -> Task:
    """Run `task`, which ends at a rung that its step knows and the task itself may not."""
    try:
        return (yield Enter(task))
    finally:
        run.left(step.end)


def waited(rung: int, run: Run, failure: Exception | None, value: Any) -> Task:
    """Wait on a rung, and be what it was: well with a value, or failed."""
    wait: Delay | None = None
    try:
        wait = run.begin_wait(rung, run.top - rung, run.descent(rung), failure)
        if wait is None:  # every ladder tries once, so nothing may try again
            run.not_waited = failure
        else:
            yield from paused(run, wait)
            wait = None
        if failure is not None:
            raise failure
        return value
    finally:
        failure = wait = None


def paused(run: Run, wait: Delay | None) -> Task:
    """Issue a wait; if it fails, nothing recovers from that."""
    try:
        yield wait
    except BaseException as error:
        run.not_waited = error
        raise
    finally:
        wait = None
    run.end_wait()


def retried(effect_on: Callable[[int], Any], chosen: Predicate, run: Run) -> Task:
    """Try; as long as there is a wait for the failure, wait, go down, and try again."""
    after: After | None = None
    failure: Exception | None = None
    wait: Delay | None = None
    k = run.top - run.rung
    try:
        while True:
            number = run.rung if run.rung < ENDLESS else run.number
            try:
                return (yield performed(effect_on(number), run))
            except Exception as error:
                # As `recoverable` says, in place: it is asked after each try that fails.
                if error is run.not_waited or run.expired is not None or isinstance(error, Misuse):
                    raise
                if run.rung and not chosen(error):
                    run.pass_on(error, chosen)
                    raise
                failure = error
            after = after or run.descent(run.rung)
            if 0 < run.rung < ENDLESS:
                run.rung -= 1
            wait = run.begin_wait(number, k, after, failure)
            if wait is None:
                raise failure
            failure = None  # nothing keeps it, and all that it knows of, for another try
            try:  # as `paused`, in place
                yield wait
            except BaseException as error:
                run.not_waited = error
                raise
            wait = None
            run.end_wait()
            k += 1
    finally:
        failure = wait = None
        run.rung, run.sure = 0, True


def resumed(step: ResumeStep, run: Run) -> Task:
    """Retry, with a log of what was answered, which each try is answered from first."""
    log: list[Entry] = []
    once = chain(Chain, None, DoStep(step.effect))
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
        return replay(unrolled(self.chain, USUAL.schedule), self.log)


def limited(asked: Asked, seconds: float, place: Place) -> Task:
    """Have what is asked for done within so many seconds, on the clock of the interpreter.

    While it runs, its limit is among those that hold for each command (`deadlines.timely`). Inside
    a handler that has less time itself, it has that.

    Raises:
        DeadlineExceeded: its time was over, whatever it made of that, or there was none.
    """
    given = LEFT.get()
    if given is not None and not given.over:
        seconds = min(seconds, given.seconds)
    now: float = yield CLOCK
    limit = Limit(now, seconds, whole=place.__class__ is Run)
    if seconds <= 0:
        raise limit.unbegun(now)
    place.limits.append(limit)
    outcome: BaseException | None = None
    try:
        value = yield asked
        if not limit.over:
            return value
    except Expired as error:
        if error.limit is not limit:
            raise
        outcome = error
    except Exception as error:
        if not limit.over:
            raise
        outcome = error
    finally:
        place.limits.remove(limit)
        cause = limit.cause
        if cause is not None:
            limit.cause = None
    if isinstance(place, Run):
        place.expired, place.reason = None, "no time left"
    try:
        raise limit.exceeded(outcome) from cause or without_expired(outcome)
    finally:  # an exception must not be kept alive by a frame in its own traceback
        outcome = cause = None


def guarded(effect: Any, breaker: CircuitBreaker, inside: InAttempt) -> Task:
    """Perform `effect`, if `breaker` lets it through, and tell the breaker its outcome.

    Raises:
        CircuitOpen: it does not.
        Misuse: it is asked inside a try that it has let through.
    """
    if breaker in inside.breakers:
        raise guarded_twice()
    probe = 0 if breaker.closed else breaker.admit((yield CLOCK))
    settle, around = breaker.release, inside.breakers
    inside.breakers = (*around, breaker)
    try:
        value = yield performed(effect, inside)
    except (Exception, Expired) as failure:
        blamed = breaker.blames(failure)
        if blamed:
            breaker.fail(probe, (yield CLOCK))
        elif blamed is False:
            settle = breaker.succeed
        raise
    else:
        settle = breaker.succeed
        return value
    finally:
        inside.breakers = around
        if probe:
            settle(probe)


def without_expired(outcome: BaseException | None) -> BaseException | None:
    """The failure that a part of a run ended with when its time was over, if it had one."""
    return None if isinstance(outcome, Expired) else outcome
