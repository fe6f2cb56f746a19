"""What a program means: one flat stream of commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from operator import length_hint
from types import CoroutineType
from typing import Any

from .budgets import Budget, budgeted
from .chains import Chain, Ladder, Step, chain
from .commands import Command, Handlers, Misuse, unawaited
from .deadlines import Expired, checked_seconds, limited
from .nesting import check_begun
from .replay import Entry, Stream, replay
from .runs import Run
from .schedules import Chance, Schedule, Timing, check_schedule, powers_of_two
from .steps import Again, Do, Map, Task
from .vocabulary import Delay

CLOSED = 100
"""How often an attempt may ask for something in its `finally` blocks when nobody answers."""
NO_HANDLERS: Handlers = {}
NO_STEPS: Iterator[Any] = iter(())
StepsIterator = type(NO_STEPS)


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
    """`unroll`, where commands of attempts that `handlers` has are answered on the spot.

    A `Timing` that can shorten waits is for simulations.

    The stack is explicit: `frames` holds what goes on when the present chain has ended, the rest of
    another chain or an attempt's generator. So depth costs no recursion.
    """
    check_begun(program)
    run = Run(program, timing, chance, Resumed)
    frames: list[Any] = []
    steps: Iterator[Any] = iter(program.steps())
    attempt_depth: int | None = None  # of the stack, where the running attempt began
    closing = 0  # how often the stream was told to end
    value: Any = None
    failure: BaseException | None = None
    expired: Expired | None = None
    effect: Any = None
    request: Any = None
    try:
        while True:
            effect = request = None
            for step in steps:
                try:
                    if failure is None:
                        if step.__class__ is Map:
                            value = step.function(value)
                        elif step.__class__ is not Again:
                            effect = run.well(step, value)
                    elif isinstance(failure, Exception) and not run.over(failure):
                        effect = run.failed(step, failure)
                except BaseException as error:
                    failure = error
                if effect is not None:
                    break
                if step.__class__ is Again:
                    run.end_retry()
                    steps = NO_STEPS
                    break
            if effect is None:
                if not frames:
                    break
                frame = frames.pop()
                if len(frames) == attempt_depth:
                    attempt_depth = None
                    if expired is not None and (failure is None or isinstance(failure, Exception)):
                        failure = expired  # the attempt held it back
                if frame.__class__ is StepsIterator:
                    steps = frame
                    continue
                task = frame
            elif effect.__class__ is Delay:
                try:
                    yield effect
                    run.waits += 1
                    run.waited += effect.seconds
                except BaseException as error:
                    failure = run.not_waited = error
                    closing += isinstance(error, GeneratorExit)
                continue
            else:
                failure = None
                if isinstance(effect, Command):
                    run.tries += attempt_depth is None
                    try:
                        value = yield effect
                    except BaseException as error:
                        failure = error
                        closing += isinstance(error, GeneratorExit)
                    continue
                if attempt_depth is None and not isinstance(effect, Ladder):
                    run.tries += 1
                    attempt_depth = len(frames)
                    frames.append(steps)
                elif length_hint(steps):  # otherwise nothing would be left to go on with
                    frames.append(steps)
                value = None
                if isinstance(effect, Chain):
                    steps = iter(effect.steps())
                    continue
                task = effect
            # An attempt's generator runs until it asks for another attempt, with None, or ends.
            steps = NO_STEPS
            send, throw = task.send, task.throw
            try:
                request = send(value) if failure is None else throw(failure)
                failure = None
                while closing or request is not None:
                    try:
                        if closing:  # nobody answers any more
                            raise GeneratorExit
                        handler = handlers.get(request.__class__)
                        if handler is None:
                            if request.__class__ is Delay:
                                raise Misuse("An attempt cannot wait: raise NotReady instead.")
                            value = yield request
                        else:
                            value = handler(request)
                            if value.__class__ is CoroutineType:
                                raise unawaited(value, request)
                    except BaseException as error:
                        closing += isinstance(error, GeneratorExit)
                        expired = error if isinstance(error, Expired) else expired
                        if closing > CLOSED:
                            raise RuntimeError(
                                "An attempt goes on although it is closed."
                            ) from None
                        request = throw(error)
                    else:
                        request = send(value)
                steps = iter(nested(task))
                frames.append(task)
                value = None
            except StopIteration as end:
                value, failure = end.value, GeneratorExit() if closing else None
            except BaseException as error:
                failure = error
        if failure is None:
            run.check_end()
            return value
        raise run.told(failure)
    finally:
        # An exception must not be kept alive by a frame in its own traceback.
        failure = expired = effect = request = run.not_waited = None
        for log in run.logs:
            log.clear()


class Resumed:
    """An effect that, performed again, goes on at the command that failed."""

    __slots__ = ("chain", "log")

    def __init__(self, effect: Any, log: list[Entry]) -> None:
        self.chain = chain(Chain, None, Do(effect))
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


def nested(task: Task) -> tuple[Step, ...]:
    """The steps of the attempt that a generator asks for, where `Attempt.__iter__` puts them."""
    place: list[tuple[Step, ...]] = []
    with suppress(StopIteration):
        task.send(place)
    if not place:
        raise Misuse("An attempt yielded None: write `yield from` with a command or an attempt.")
    return place[0]
