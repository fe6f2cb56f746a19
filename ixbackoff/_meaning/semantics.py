"""The meaning of a program: one flat stream of commands.

`chained` walks the steps of a program, by the table `WELL` while it has a value (`MapStep` is
inlined), and by `FAILED` while it has a failure. `in_attempt` walks the steps of an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .._limits.breakers import CircuitBreaker, guarded_twice
from .._limits.budgets import RetryBudget, budgeted
from .._limits.deadlines import Expired, Limit, checked_seconds, time_around
from .._limits.gate_base import Gate, checked_gates, checked_turn, deadline_of, heard, too_late
from .._limits.nesting import check_begun
from .._limits.observers import current_observer, with_events
from .._limits.stopping import checked_stop, stoppable
from .._words.commands import Command, Handlers, Misuse, Stream
from .._words.failure_classes import Crowded, Predicate, Stopped
from .._words.judging import chooses
from .._words.rungs import ENDLESS
from .._words.standard_commands import (
    CLOCK,
    IN_PASSAGE,
    PASSAGE,
    WITHOUT_SERVICE,
    Delay,
    Refused,
    Reserve,
    in_line,
)
from ..schedules.algebra import Schedule, check_schedule
from ..schedules.base import After
from .chains import Chain, Ladder, Step, chain
from .replay import Entry, replay
from .retrying import check_endless
from .run_defaults import USUAL, Defaults
from .run_state import InAttempt, ProgramRun
from .steps import (
    AtStep,
    BackoffStep,
    BindStep,
    DoStep,
    EndStep,
    FirstStep,
    Guard,
    Guarded,
    JoiningStep,
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
from .trampoline import Enter, Task, class_of, driven

if TYPE_CHECKING:
    from datetime import timedelta

__tracebackhide__ = True

Place: TypeAlias = ProgramRun | InAttempt

Asked: TypeAlias = "Command[Any] | Enter | None"
"""The request of a step to the trampoline; `None` if the step has none."""

NO_HANDLERS: Handlers = {}


def unroll(
    program: Chain,
    schedule: Schedule | None = None,
    *,
    within: float | timedelta | None = None,
    budget: RetryBudget | None = None,
    breaker: CircuitBreaker | None = None,
    through: Gate | Sequence[Gate] | None = None,
) -> Stream:
    """Return the stream of a program: a generator of its commands, in order, waits included.

    Send the answer of each command into it, or throw the failure. The stream returns the value of
    the program, or raises its last failure. An exception that is not an `Exception` (cancellation,
    `KeyboardInterrupt`) passes through the running attempts, innermost first, and the commands of
    their `finally` blocks are issued; no step recovers from it.

    >>> from ixbackoff import N1, Log, at
    >>> list(unroll(at(N1).do(Log("one")).wait().do(Log("two"))))
    [Log(message='one', level=20), Delay(seconds=1.0, rung=1), Log(message='two', level=20)]

    Args:
        program: the program, or an attempt.
        schedule: the seconds of the waits; by default that of the program, or powers of two.
        within: the seconds for the whole run, which then reads the clock, with `Now`.
        budget: the budget that pays for further tries.
        breaker: the circuit breaker that each try goes through; it reads the clock, with `Now`.
        through: the gates that each try goes through, outermost first; they read the clock, too.
    """
    usual = program._defaults if isinstance(program, Ladder) else USUAL
    how = usual.replace(schedule, within, budget, breaker, None, None, None, through)
    check_schedule(how.schedule)
    if isinstance(program, Ladder) and program._start == ENDLESS:
        check_endless(how.schedule)
    check_begun(program)
    return unrolled(program, how)


def unrolled(
    program: Chain,
    how: Defaults = USUAL,
    handlers: Handlers = NO_HANDLERS,
    run: ProgramRun | None = None,
    *,
    observed: bool = False,
) -> Stream:
    """Return the stream of a program inside its limits; only this function orders the limits.

    From the inside to the outside:

    1. the gates around each try, and inside them the circuit breaker;
    2. the deadline;
    3. the budget, which does not pay for a wait that the deadline refuses;
    4. the stop, which ends a wait that has begun;
    5. the observers, which get no event of a refused wait.

    Args:
        program: the program, or an attempt.
        how: the schedule and the limits.
        handlers: those that `driven` calls directly; unused in observed runs and in a time limit.
        run: the state of the run, if its caller needs it.
        observed: whether to call the current observers. A durable run has its journal between the
            stop and the observers, so it adds them itself.
    """
    run = run or ProgramRun(program, how.schedule)
    observer = current_observer() if observed else None
    if observer is not None:
        handlers = NO_HANDLERS
    if how.breaker is not None or how.through is not None:
        run.guards = guards_of(how)
    run.longest = how.longest
    task = chained(program, run) if run.ladder else attempted(program, run.inside)
    seconds = None if how.within is None else checked_seconds("within", how.within)
    if seconds is not None:
        task = limited(Enter(task), seconds, run)
    stream = driven(task, run, handlers, attempted)
    if how.budget is not None:
        stream = budgeted(stream, how.budget)
    if how.stop is not None:
        stream = stoppable(stream, checked_stop(how.stop))
    return stream if observer is None else with_events(stream, run, observer)


def part(attempt: Chain, ons: list[Predicate] | None, within: float | None = None) -> Stream:
    """Return the stream of an attempt that is part of a run with these `ProgramRun.ons`."""
    run = ProgramRun(attempt, USUAL.schedule)
    run.ons = ons
    return unrolled(attempt, Defaults(within=within), run=run)


def chained(chain: Chain, run: ProgramRun) -> Task:
    """Run the steps of a program, each by its meaning in the table of the current state."""
    value: Any = None
    failure: BaseException | None = None
    steps: tuple[Any, ...] = chain._flat or chain.steps()
    last = steps[-1] if steps else None
    ons = run.ons
    around = 0 if ons is None else len(ons)
    if ons is not None:
        choosing = OrElseStep | OrBindStep | BackoffStep
        ons += [step.chosen for step in reversed(steps) if isinstance(step, choosing)]
    try:
        for step in steps:
            kind = step.__class__
            try:
                if failure is None:
                    if kind is MapStep:
                        value = step.function(value)
                        continue
                    meaning = WELL[kind]
                    if meaning is None:
                        continue
                    asked: Asked = meaning(step, run, value)
                else:
                    meaning = FAILED[kind]
                    if meaning is None or not run.recoverable(failure):
                        continue
                    asked = meaning(step, run, failure)
                if asked is not None:
                    if step is last and asked.__class__ is Enter:
                        return asked
                    value = yield asked
                    failure = None
                    if run.expired is not None:  # an attempt has swallowed the timeout
                        raise run.expired
            except BaseException as error:
                failure = error
        if failure is not None:
            raise failure
        return value
    finally:
        failure = None
        if ons is not None:
            del ons[around:]


def attempted(attempt: Chain, inside: InAttempt) -> Task:
    only: Any = attempt._last if attempt._before is None else None
    if only.__class__ is StartStep and only.fresh:  # `start`, inlined
        generator: Task = only.function(*only.arguments, **only.keywords)
        return generator
    if only.__class__ is FirstStep:
        return in_turn(only, inside)
    return in_attempt(attempt, inside)


def in_attempt(attempt: Chain, inside: InAttempt) -> Task:
    """Run the steps of an attempt. If its last step performs an attempt, continue with that one."""
    value: Any = None
    failure: BaseException | None = None
    ons = inside.ons
    around = 0 if ons is None else len(ons)
    try:
        while True:
            steps: tuple[Any, ...] = attempt._flat or attempt.steps()
            last = steps[-1]
            if ons is not None:
                choosing = [step for step in reversed(steps) if isinstance(step, OrElseStep)]
                ons[around:] = [step.chosen for step in choosing]
            for step in steps:
                kind = class_of(step)
                try:
                    asked: Any
                    if failure is not None:
                        if kind is not OrElseStep or isinstance(failure, (Misuse, Stopped)):
                            continue
                        if not (isinstance(failure, Exception) and chooses(step.chosen, failure)):
                            continue
                        asked = step.effect
                    elif kind is DoStep:
                        asked = step.effect
                    elif kind is MapStep:
                        value = step.function(value)
                        continue
                    elif kind is ThenStep:
                        asked = checked_effect(step.function(value))
                    elif kind is OrElseStep:
                        continue
                    elif kind is FirstStep:
                        asked = Enter(in_turn(step, inside))
                    else:
                        asked = (start if kind is StartStep else rejected)(step, inside, value)
                    if not issubclass(type(asked), Command):
                        if step is last and isinstance(asked, Chain):  # `performed`, inlined
                            attempt, failure = asked, None
                            break
                        if type(asked) is not Enter:
                            asked = performed(asked, inside)
                        if step is last:
                            return asked
                    value = yield asked
                    failure = None
                except BaseException as error:
                    if not attempt._recovers:
                        raise
                    failure = error
            else:
                if failure is not None:
                    raise failure
                return value
    finally:
        failure = None
        if ons is not None:
            del ons[around:]


def do(step: DoStep, place: Place, _: Any) -> Asked:
    """Perform the effect; its answer is the value."""
    return performed(step.effect, place)


def start(step: StartStep, place: Place, _: Any) -> Asked:
    """Start the generator function of an attempt in do-notation; its return value is the value."""
    place.tries += 1
    task = step.function(*step.arguments, **step.keywords)
    return Enter(task if step.fresh else fresh(task, step.function))


def in_turn(step: FirstStep, inside: InAttempt) -> Task:
    """Perform the effects in turn until one succeeds; its index and answer are the value."""
    effects, count, ons = step.effects, len(step.effects), inside.ons
    turn: int = (yield step.pick) if step.start_at is None else step.start_at
    end, around = turn + count, 0 if ons is None else len(ons)
    try:
        while True:
            index = turn % count
            asked = effects[index]
            turn += 1
            if ons is not None:
                ons[around:] = [step.chosen] * (turn < end)  # not for the last effect's failure
            try:
                if not isinstance(asked, Command):
                    asked = performed(asked, inside)
                return step.answered(index, (yield asked))
            except Exception as failure:
                if turn == end or isinstance(failure, (Misuse, Stopped)):
                    raise
                if not chooses(step.chosen, failure):
                    raise
    finally:
        if ons is not None:
            del ons[around:]


def then(step: ThenStep, place: Place, value: Any) -> Asked:
    """Perform the effect that the function makes of the value; its answer is the next value."""
    return performed(checked_effect(step.function(value)), place)


def or_else(step: OrElseStep, place: Place, failure: Exception) -> Asked:
    """Perform the effect if the failure is chosen; its answer replaces the failure."""
    return performed(step.effect, place) if chooses(step.chosen, failure) else None


def bind(step: BindStep, run: ProgramRun, value: Any) -> Asked:
    """Continue with the program that the function makes of the value."""
    rung, sure = run.descend(step)
    return entered_by(step, run, value, rung, sure)


def or_bind(step: OrBindStep, run: ProgramRun, failure: Exception) -> Asked:
    """Continue with the program that the function makes of the failure, if it is chosen."""
    before = run.descend(step)  # before `chooses`, which may raise an exception
    return entered_by(step, run, failure, *before) if chooses(step.chosen, failure) else None


def wait(step: WaitStep, run: ProgramRun, value: Any) -> Asked:
    """Wait, and keep the value, one rung down."""
    rung, _ = run.descend(step)
    return Enter(waited(rung, run, None, value))


def backoff(step: BackoffStep, run: ProgramRun, failure: Exception) -> Asked:
    """Wait if the failure is chosen, and keep the failure; descend one rung in any case."""
    rung, _ = run.descend(step)  # before `chooses`, which may raise an exception
    if chosen := chooses(step.chosen, failure):
        return Enter(waited(rung, run, failure, None, chosen))
    run.leave_unchosen(failure, step.chosen)
    return None


def retry(step: RetryStep, run: ProgramRun, _: Any) -> Asked:
    """Perform the effect; while its failure is chosen, wait, descend, and perform it again."""
    return Enter(retried(step.on, step.chosen, run))


def resume(step: ResumeStep, run: ProgramRun, _: Any) -> Asked:
    """Do what `retry` does, but do not issue answered commands again."""
    return Enter(resumed(step, run))


def passed_over(step: Step, run: ProgramRun, _: Any) -> Asked:
    run.descend(step)
    return None


def rejected(step: Step, _place: InAttempt, _value: Any) -> Asked:
    raise Misuse(
        f"{step.__class__.__name__} is a step of a program and cannot be in an attempt, or "
        "waits would multiply: put it on the ladder."
    )


Meanings: TypeAlias = dict[type[Step], Any]
"""The meaning of each kind of step: a function of the step, the place, and value or failure.

If it is `None`, the run passes over the step and stays on its rung.
"""

WELL: Meanings = {
    DoStep: do,
    StartStep: start,
    ThenStep: then,
    OrElseStep: None,
    **dict.fromkeys((OrBindStep, BackoffStep, SkipStep, AtStep, EndStep), passed_over),
    BindStep: bind,
    WaitStep: wait,
    RetryStep: retry,
    RetryWithStep: retry,
    ResumeStep: resume,
}
FAILED: Meanings = {
    **dict.fromkeys((DoStep, StartStep, ThenStep, MapStep)),
    **dict.fromkeys((BindStep, WaitStep, SkipStep, AtStep, EndStep), passed_over),
    **dict.fromkeys((RetryStep, RetryWithStep, ResumeStep), passed_over),
    OrElseStep: or_else,
    OrBindStep: or_bind,
    BackoffStep: backoff,
}


def performed(effect: Any, place: Place) -> Asked:
    """Return the request for a command or an attempt, and count a try."""
    place.tries += 1
    kind: type = effect.__class__
    guards = place.guards
    if guards is None and issubclass(kind, Command):
        command: Asked = effect
        return command
    inside = place._inside or place.inside if isinstance(place, ProgramRun) else place
    if guards is not None:
        if issubclass(kind, WITHOUT_SERVICE):
            return Enter(fresh(iter(effect), kind))
        for guard in reversed(guards):
            effect = Guarded(effect, guard)
        kind = Guarded
    if issubclass(kind, Chain):
        return Enter(attempted(effect, inside))
    if kind is Limited:
        task = attempted(effect.chain, inside)
        return Enter(limited(Enter(task), effect.seconds, inside))
    if kind is Guarded:
        passing: Any = PASSING.get(effect.guard.__class__, through)
        return Enter(passing(effect.chain, effect.guard, inside))
    return Enter(fresh(iter(effect), kind))


def entered_by(step: JoiningStep, run: ProgramRun, given: Any, rung: int, sure: bool) -> Enter:
    program = run.entered(step, given, rung, sure)
    task = chained(program, run)
    return Enter(
        task if step.end is None or program.ends_at is not None else ending(task, run, step)
    )


def ending(task: Task, run: ProgramRun, step: JoiningStep) -> Task:
    """Run `task`, then set the rung of the run to the end that the step is annotated with."""
    try:
        return (yield Enter(task))
    finally:
        run.leave(step.end)


def waited(
    rung: int, run: ProgramRun, failure: Exception | None, value: Any, chosen: Any = True
) -> Task:
    wait: Delay | None = None
    try:
        wait = run.begin_wait(rung, run.top - rung, run.descent(rung), failure, chosen)
        if wait is None:  # too long a wait was asked for, or `ONE_TRY` allows only one try
            run.not_waited = failure
        else:
            try:
                yield wait
            except BaseException as error:  # no step recovers from an exception of a wait
                run.not_waited = error
                raise
            wait = None
            run.end_wait()
        if failure is not None:
            raise failure
        return value
    finally:
        failure = wait = None


def retried(
    effect_on: Callable[[int], Any], chosen: Predicate, run: ProgramRun, log: Sequence[Entry] = ()
) -> Task:
    """Try; while there is a wait for the failure, wait, descend, and try again."""
    after: After | None = None
    failure: Exception | None = None
    wait: Delay | None = None
    yes: Any = True
    ons = run.ons
    run.retrying = True
    if ons is not None:
        ons.append(chosen)
        run.kept = log
        if run.retries_begin is not None:
            run.retries_begin()
    k = run.top - run.rung if run.rung < ENDLESS else run.wait_count
    try:
        while True:
            number = run.rung if run.rung < ENDLESS else run.number
            try:
                return (yield performed(effect_on(number), run))
            except Exception as error:
                # `recoverable`, inlined, because this runs after each failed try.
                if error is run.not_waited or run.expired is not None or isinstance(error, Misuse):
                    raise
                if run.rung and not (yes := chooses(chosen, error)):
                    run.leave_unchosen(error, chosen)
                    raise
                failure = error
            after = after or run.descent(run.rung)
            if 0 < run.rung < ENDLESS:
                run.rung -= 1
            wait = run.begin_wait(number, k, after, failure, yes)
            if wait is None:
                raise failure
            failure = None  # or its frames would live until the next failure
            try:
                yield wait
            except BaseException as error:
                run.not_waited = error
                raise
            wait = None
            run.end_wait()
            k += 1
    finally:
        failure = wait = None
        run.retrying = False
        run.rung, run.sure = 0, True
        if ons is not None:
            ons.pop()
            run.kept = None


def resumed(step: ResumeStep, run: ProgramRun) -> Task:
    log: list[Entry] = []
    once = chain(Chain, None, DoStep(step.effect))

    def again(_: int) -> Chain:
        ons = [] if run.ons is None else run.ons  # `None` would tell gates that no try is replayed
        return chain(Chain, None, StartStep(replay, (part(once, ons), log, run.ons), {}))

    try:
        return (yield from retried(again, step.chosen, run, log))
    finally:
        log.clear()


def limited(asked: Asked, seconds: float, place: Place) -> Task:
    """Perform a request within `seconds` on the clock of the interpreter.

    Each command gets only the time left when it is issued (`deadlines.timely`). In a run that a
    handler starts, the request gets no more time than that handler has left. A request that exceeds
    its time fails with `DeadlineExceeded`, even if its attempt catches the interruption.
    """
    outer, foreign = time_around(), False
    if outer is not None and outer.seconds <= seconds:
        seconds, foreign = outer.seconds, outer.foreign
    now: float = yield CLOCK
    limit = Limit(now, seconds, whole=place.__class__ is ProgramRun)
    limit.foreign = foreign
    if seconds <= 0:
        limit.expire(": there was no time to begin", now)
        raise limit.exceeded(None)
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
    if isinstance(place, ProgramRun):
        place.expired, place.reason = None, "no time left"
    try:
        raised = None if isinstance(outcome, Expired) else outcome
        raise limit.exceeded(outcome) from cause or raised
    finally:  # break the cycle of exception, traceback and this frame
        outcome = cause = raised = None


def guarded(effect: Any, breaker: CircuitBreaker, inside: InAttempt) -> Task:
    """Perform `effect` if `breaker` admits it, and report the outcome to the breaker."""
    if breaker in inside.passed:
        raise guarded_twice()
    probe = 0 if breaker.closed else breaker.admit((yield CLOCK))
    settle, around = breaker.release, inside.passed
    inside.passed = (*around, breaker)
    try:
        value = yield performed(effect, inside)
    except (Exception, Expired) as failure:
        blamed = breaker.blames(failure)
        if blamed:
            breaker.fail(probe, (yield CLOCK))
        elif blamed is False:
            settle = breaker.succeed
            if breaker.rated:
                breaker.count(False, (yield CLOCK))
        raise
    else:
        settle = breaker.succeed
        if breaker.rated:
            breaker.count(False, (yield CLOCK))
        return value
    finally:
        inside.passed = around
        if probe:
            settle(probe)


def guards_of(how: Defaults) -> tuple[Guard, ...] | None:
    gates: tuple[Guard, ...] = checked_gates("through", () if how.through is None else how.through)
    return (gates if how.breaker is None else (*gates, how.breaker)) or None


def through(effect: Any, gate: Gate, inside: InAttempt) -> Task:
    """Stand in line at `gate`, perform `effect`, and report the outcome to the gate, once."""
    if gate in inside.passed:
        raise Misuse("A try goes through one gate twice, so it would count twice: give it once.")
    replays = inside.ons is not None
    now = came = yield PASSAGE if replays else CLOCK
    if now is None:  # in a replay, the try has passed the gate already
        return (yield performed(effect, inside))
    clock = IN_PASSAGE if replays else CLOCK
    until, around = deadline_of(inside.limits, now), inside.passed
    turn = began = None  # when the turn of the try comes, and when the try begins
    line: Delay | None = None
    outcome: Exception | None = None
    ended = False
    try:
        turn = gate.enter(now, came, until)
        while checked_turn(gate, turn) > now:
            if turn >= until:  # a gate may ignore `until`
                raise too_late(turn, now, until)
            line = in_line(turn - now)
            yield line
            now = yield clock
            turn = gate.turn(turn, now, came, until)
        began, inside.passed = now, (*around, gate)
        value = yield performed(effect, inside)
        gate.answer(value)
        if gate.timed:
            now = yield clock
        ended = True
        return value  # noqa: TRY300  `finally` reports the outcome
    except (Exception, Expired) as failure:
        if began is not None:
            outcome = heard(failure)
        elif replays and isinstance(failure, Crowded):
            yield Refused(failure)
        if outcome is not None:
            now = yield clock
            ended = True
        raise
    finally:
        inside.passed = around
        if line is not None:
            line._run = None  # so that no attempt can issue it again
        if ended and began is not None:
            gate.hear(outcome, now, began)
        elif turn is not None:
            gate.leave(now)
        outcome = None  # break the cycle of exception, traceback and this frame


def reserved(effect: Any, reserve: Reserve, inside: InAttempt) -> Task:
    """Reserve a turn, stand in line for it, and perform `effect`."""
    replays = inside.ons is not None
    now = yield PASSAGE if replays else CLOCK
    line: Delay | None = None
    try:
        if now is not None and (seconds := (yield reserve)) > 0:
            until = deadline_of(inside.limits, now)
            if now + seconds >= until:  # a handler may ignore the deadline
                raise too_late(now + seconds, now, until)
            line = in_line(seconds)
            yield line
    except (Exception, Expired) as error:  # journals record the error instead of the `Reserve`
        if replays and not isinstance(error, Misuse):
            yield Refused(error.limit.exceeded(None) if isinstance(error, Expired) else error)
        raise
    finally:
        if line is not None:
            line._run = None  # so that no attempt can issue it again
    return (yield performed(effect, inside))


PASSING: Mapping[type, Any] = {CircuitBreaker: guarded, Reserve: reserved}
"""The functions that lead a try through a guard, by the class of the guard; else `through`."""
