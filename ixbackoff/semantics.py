"""What a program means: one flat stream of commands."""

from __future__ import annotations

from collections.abc import Iterator
from operator import length_hint
from types import CoroutineType
from typing import Any

from .chains import Chain, Ladder, Step, chain, continued, ladder
from .commands import Command, Handlers, Misuse, unawaited
from .failures import Transient
from .nesting import check_begun
from .replay import Entry, Stream, replay
from .schedules import Schedule, powers_of_two, seconds_of
from .steps import (
    Backoff,
    Bind,
    Do,
    Map,
    OrBind,
    OrElse,
    Retry,
    Start,
    Task,
    Then,
    Wait,
    checked_effect,
    checked_task,
    performed,
)
from .vocabulary import Delay, delay

NOTE = "ixbackoff:"
StepsIterator = type(iter(()))


def unroll(
    program: Chain, schedule: Schedule = powers_of_two, handlers: Handlers | None = None
) -> Stream:
    """Every command of a program, in order, `Delay`s included; it is sent every answer.

    A command's failure is thrown in. It returns the program's value, or raises its last failure.
    What is no `Exception` (cancellation, `KeyboardInterrupt`) is never held back: it passes through
    the running attempts, innermost first, and the commands of their `finally` blocks are issued.

    The stack is explicit: `frames` holds what goes on when the present chain has ended, the rest of
    another chain or an attempt's generator. So depth costs no recursion.
    """
    check_begun(program)
    run = Run(program, schedule)
    handlers = handlers or {}
    frames: list[Any] = []
    steps: Iterator[Any] = iter(program.steps())
    attempt: int | None = None  # the depth of the stack where the running attempt began
    value: Any = None
    failure: BaseException | None = None
    effect: Any = None
    try:
        while True:
            effect = None
            for step in steps:
                try:
                    if failure is None:
                        if step.__class__ is Map:
                            value = step.function(value)
                        else:
                            effect = run.well(step, value)
                    elif isinstance(failure, Exception) and not isinstance(failure, Misuse):
                        effect = run.failed(step, failure)
                except BaseException as error:
                    failure = error
                if effect is not None:
                    break
            if effect is None:
                if not frames:
                    break
                frame = frames.pop()
                if len(frames) == attempt:
                    attempt = None
                if frame.__class__ is StepsIterator:
                    steps = frame
                    continue
                task = frame
            elif effect.__class__ is Delay:
                try:
                    yield effect
                except BaseException as error:
                    failure = error
                continue
            else:
                failure = None
                if isinstance(effect, Command):
                    run.tries += attempt is None
                    try:
                        value = yield effect
                    except BaseException as error:
                        failure = error
                    continue
                if attempt is None and not isinstance(effect, Ladder):
                    run.tries += 1
                    attempt = len(frames)
                    frames.append(steps)
                elif length_hint(steps):  # otherwise nothing would be left to go on with
                    frames.append(steps)
                value = None
                if isinstance(effect, Chain):
                    steps = iter(effect.steps())
                    continue
                task = effect
            # An attempt's generator runs until it asks for another attempt, with None, or ends.
            steps = iter(())
            send, throw = task.send, task.throw
            try:
                request = send(value) if failure is None else throw(failure)
                failure = None
                while request is not None:
                    try:
                        handler = handlers.get(request.__class__)
                        if handler is None:
                            value = yield request
                        else:
                            value = handler(request)
                            if value.__class__ is CoroutineType:
                                raise unawaited(value, request)
                    except BaseException as error:
                        request = throw(error)
                    else:
                        request = send(value)
                steps = iter(nested(task))
                frames.append(task)
                value = None
            except StopIteration as end:
                value, failure = end.value, None
            except BaseException as error:
                failure = error
        if failure is None:
            run.check_end()
            return value
        raise run.told(failure)
    finally:
        # An exception must not be kept alive by a frame in its own traceback.
        failure = effect = None
        for log in run.logs:
            log.clear()


class Run:
    """One run: where it stands on its ladder, what it has tried and waited, and what a step means.

    Attributes:
        top: the rung where the whole program starts.
        rung: where the run stands.
        sure: whether it stands exactly there. A `bind` that was passed over was never asked where
            it would have ended, so from then on the rung is an upper bound, until the next program
            that is bound says where it starts.
    """

    __slots__ = (
        "ladder",
        "logs",
        "rung",
        "schedule",
        "shortest",
        "sure",
        "top",
        "tries",
        "waited",
        "waits",
    )

    def __init__(self, program: Chain, schedule: Schedule) -> None:
        self.ladder = isinstance(program, Ladder)
        self.top = self.rung = program.start if isinstance(program, Ladder) else 0
        self.sure = True
        self.schedule = schedule
        self.shortest = 0.0
        self.tries = 0
        self.logs: list[list[Entry]] = []
        self.waits = 0
        self.waited = 0.0

    def well(self, step: Any, value: Any) -> Any:
        """What a step has to perform when the program is well: an effect, a ladder, or nothing."""
        kind = step.__class__
        if kind is Then:
            return performed(checked_effect(step.function(value)))
        if kind is Do:
            return performed(step.effect)
        if kind is Start:
            return checked_task(step.function(*step.arguments, **step.keywords), step.function)
        if kind is Retry:
            return self.tried(step)
        rung, sure = self.rung, self.sure
        self.descend(step)
        if kind is Bind:
            return self.entered(step.function(value), rung, sure)
        if kind is Wait:
            return self.delayed(rung, None)
        return None

    def failed(self, step: Any, failure: Exception) -> Any:
        """What a step has to perform when the program has failed."""
        kind = step.__class__
        rung, sure = self.rung, self.sure
        self.descend(step)
        if kind is OrElse and step.chosen(failure):
            return performed(step.effect)
        if kind is OrBind and step.chosen(failure):
            return self.entered(step.function(failure), rung, sure)
        if kind is Backoff and step.chosen(failure):
            return self.delayed(rung, failure)
        return None

    def descend(self, step: Step) -> None:
        """Go down as far as the step does, whether it is taken or passed over."""
        if not self.sure and step.start is not None:
            self.rung, self.sure = min(self.rung, step.start), True
        below = step.below(self.rung if self.sure else None)
        self.sure = below is not None
        if below is None:
            below = step.below(self.rung)
        if below is not None:
            self.rung = below

    def entered(self, program: Any, rung: int, sure: bool) -> Ladder:
        """The program that a `bind` goes on with, if it starts where the run stands."""
        if not isinstance(program, Ladder):
            raise Misuse(
                f"bind goes on with a program, and its function returned {program!r}: return one "
                "that starts with at(...), or use .then(...) for a command or an attempt."
            )
        continued(program, rung if sure else min(rung, program.start))
        self.rung, self.sure = program.start, True
        return program

    def tried(self, step: Retry) -> Ladder:
        """`retry` in terms of the other steps: try, then wait and try on every rung below."""
        effect = step.effect
        if step.resumes:
            effect = Resumed(effect)
            self.logs.append(effect.log)
        again = (Backoff(step.chosen), OrElse(effect, step.chosen))
        return ladder(Ladder, self.rung, 0, (Do(effect), *again * self.rung))

    def delayed(self, rung: int, failure: Exception | None) -> Delay:
        """The wait on `rung`: by the schedule, and never shorter than the last, or than asked for.

        Raises:
            ValueError: the schedule gave no usable number of seconds.
        """
        seconds = seconds_of(self.schedule, self.top - rung)
        asked = failure.retry_after if isinstance(failure, Transient) else None
        self.shortest = max(self.shortest, seconds, asked or 0.0)
        self.waits += 1
        self.waited += self.shortest
        return delay(self.shortest, rung, failure)

    def told(self, failure: BaseException) -> BaseException:
        """`failure`, with a note of what was done about it."""
        if self.ladder and isinstance(failure, Exception):
            earlier = getattr(failure, "__notes__", [])  # of a run before, for an exception kept
            earlier[:] = [note for note in earlier if not note.startswith(NOTE)]
            failure.add_note(
                f"{NOTE} attempts made: {self.tries}, waits: {self.waits}, {self.waited:g} s in all"
            )
        return failure

    def check_end(self) -> None:
        """A program that typed code can run has come down to N0."""
        if self.rung and self.sure:
            raise Misuse(
                f"The program ended at N{self.rung}, not at N0: end it with .give_up(), or go down "
                "with .retry(...)."
            )


class Resumed:
    """An effect that, performed again, goes on at the command that failed."""

    __slots__ = ("chain", "log")

    def __init__(self, effect: Any) -> None:
        self.chain = chain(Chain, None, Do(effect))
        self.log: list[Entry] = []

    def __iter__(self) -> Stream:
        return replay(unroll(self.chain), self.log)


def nested(task: Task) -> tuple[Step, ...]:
    """The steps of the attempt that a generator asks for, where `Attempt.__iter__` puts them."""
    place: list[tuple[Step, ...]] = []
    task.send(place)
    if not place:
        raise Misuse("An attempt yielded None: write `yield from` with a command or an attempt.")
    return place[0]
