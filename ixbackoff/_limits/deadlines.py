"""Deadlines: what a stream of commands may take, and what becomes of it when that is over."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from .._words.checks import is_finite
from .._words.commands import Command, Stream
from .._words.failures import WORTH_ANOTHER_TRY, DeadlineExceeded
from .._words.vocabulary import CLOCK, Delay

NOTE = "ixbackoff:"
"""How the notes begin that are added to failures."""


class Expired(BaseException):
    """What is thrown into a stream at its deadline.

    It is no failure there, so that nothing recovers from it and goes on: the `finally` blocks run,
    with the commands in them, as they do when a program is cancelled.

    Attributes:
        where: where the stream was, for whoever reads of it.
    """

    where = ""
    refused: float | None = None


class Left:
    """What one command may take, while it is being answered."""

    __slots__ = ("over", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.over = False


LEFT: ContextVar[Left | None] = ContextVar("ixbackoff_left", default=None)


def time_limit() -> float | None:
    """For handlers: the seconds that the command may take, from when it was issued.

    `None` if nothing limits it. A handler gives it to what it calls, as a time-out; one that is
    awaited is cancelled when it is over.

    >>> from ixbackoff import N0, Log, Now, at
    >>> clock = Now.handled_by(lambda command: 0.0)
    >>> at(N0).do(Log("hello")).run(clock | Log.handled_by(lambda _: print(time_limit())), within=5)
    5.0
    """
    left = LEFT.get()
    return None if left is None or left.over else left.seconds


def checked_seconds(name: str, seconds: float | None) -> float | None:
    """`seconds`, if so many can be given.

    Raises:
        ValueError: they are no number, not finite, or not above 0.
    """
    if seconds is not None and not (is_finite(seconds) and seconds > 0):
        raise ValueError(f"{name}={seconds!r}: give a finite number of seconds, above 0.")
    return seconds


def limited(stream: Stream, seconds: float) -> Stream:
    """`stream`, which has so many seconds, on the clock of the interpreter.

    Before each of its commands the time is asked, and handlers are told what is left of it. A wait
    that would leave no time for what follows it is not begun. What is running at the deadline is
    ended there. Inside a handler that has less time itself, it has that.

    Raises:
        DeadlineExceeded: the stream was ended.
    """
    given = time_limit()
    seconds = seconds if given is None else min(seconds, given)
    deadline: float = (yield CLOCK) + seconds
    expired = Expired()
    over = False
    ending = False  # it was told to end, by this deadline or otherwise: now it cleans up
    answer: Any = None
    failure: BaseException | None = None
    command: Command[Any] = CLOCK
    try:
        while True:
            if failure is None:
                command = stream.send(answer)
            else:
                over = over or failure is expired
                ending = ending or not isinstance(failure, Exception)
                command = stream.throw(failure)
            answer = failure = None
            try:
                if command.__class__ is Delay:
                    if over:
                        raise expired
                    ending = False  # what goes on to wait has not ended
                    check_wait(command, deadline - (yield CLOCK), seconds)
                    answer = yield command
                elif ending or command is CLOCK:
                    answer = yield command
                else:
                    answer = yield from ended(command, deadline, expired)
            except BaseException as error:
                failure = error
    except StopIteration as end:
        if over:  # it held the end back, and so it is late
            raise exceeded(seconds, expired, expired) from expired.__cause__
        return end.value
    except Expired as error:
        if error is not expired:
            raise
        raise exceeded(seconds, expired, expired) from expired.__cause__
    except Exception as error:
        if not over:
            raise
        raise exceeded(seconds, expired, error) from expired.__cause__ or error
    finally:  # an exception must not be kept alive by a frame in its own traceback
        failure = None
        del expired, command


def ended(command: Command[Any], deadline: float, expired: Expired) -> Stream:
    """Issue `command`, which has to be answered by the deadline."""
    kind = command.__class__.__name__
    now: float = yield CLOCK
    left = deadline - now
    if left <= 0:
        expired.where = f" (before {kind})"
        expired.refused = now
        raise expired
    end = min(deadline, now + left)  # the sum may be rounded to a little less
    before = LEFT.get()
    if before is not None and not before.over:
        left = min(left, before.seconds)
    mine = Left(left)
    LEFT.set(mine)
    try:
        answer = yield command
    except Exception as error:
        mine.over = True
        if not isinstance(error, WORTH_ANOTHER_TRY) or (yield CLOCK) < end:
            raise  # a bug stays one, also when it comes late
        expired.where = f" ({kind} was running)"
        raise expired from error
    finally:
        mine.over = True
        if LEFT.get() is mine:  # what is closed by the collector is closed anywhere
            LEFT.set(before)
        del expired
    return answer


def check_wait(wait: Any, left: float, seconds: float) -> None:
    """Give up, with the last failure, rather than begin a wait that ends too late.

    After a wait that follows a failure there has to be time for another try.
    """
    failure: Exception | None = wait.failure
    if wait.seconds < left or (failure is None and wait.seconds == left):
        return
    told = f"a wait of {wait.seconds:g} s would end after the deadline, {seconds:g} s in all"
    if failure is None:
        raise DeadlineExceeded(f"not done within {seconds:g} s: {told}")
    try:
        with suppress(Exception):  # there are exceptions that take no note
            failure.add_note(f"{NOTE} not tried again: {told}")
        raise failure
    finally:
        del failure, wait


def exceeded(seconds: float, expired: Expired, outcome: BaseException) -> DeadlineExceeded:
    """The failure of what was ended, with the notes of what came of it."""
    made = DeadlineExceeded(f"not done within {seconds:g} s{expired.where}")
    made.refused = expired.refused
    with suppress(Exception):  # there are exceptions that take no note
        for note in getattr(outcome, "__notes__", ()):
            made.add_note(note)
    return made
