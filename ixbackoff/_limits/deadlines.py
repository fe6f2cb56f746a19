"""Deadlines: the seconds that a part of a run has, and the end of it when they are over."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, Any

from .._words.checks import finite, in_seconds
from .._words.commands import Command, Stream
from .._words.failures import DeadlineExceeded
from .._words.reasons import NOTE, add_note
from .._words.verdicts import is_transient
from .._words.vocabulary import CLOCK, Delay

if TYPE_CHECKING:
    from datetime import timedelta

__tracebackhide__ = True


class Limit:
    """A limit on the seconds of a part of a run: of the whole run, or of one attempt.

    Attributes:
        deadline: the time at which the part has to end, on the interpreter's clock.
        seconds: the seconds that the part has in all.
        whole: true if the part is the whole run.
        over: true once the part was told that its time is over.
        ending: true while the part cleans up, since it was told to end by this limit or otherwise.
        where: the command at which the time was over, as the error message says it.
        refused: the time at which the next command was refused, if none was running.
        cause: the failure of the command that was running, if one was.
    """

    # Class attributes, since most limits change none of them.
    over = ending = False
    where = ""
    refused: float | None = None
    cause: Exception | None = None

    def __init__(self, now: float, seconds: float, whole: bool) -> None:
        self.deadline = now + seconds
        self.seconds = seconds
        self.whole = whole

    def expire(self, where: str = "", refused: float | None = None) -> Expired:
        """Note that the time is over, and return the exception to throw into the part."""
        self.over = True
        if where:
            self.where, self.refused = where, refused
        return Expired(self)

    def unbegun(self, now: float) -> DeadlineExceeded:
        """Make the failure of a part that has no time at all."""
        made = DeadlineExceeded(f"not done within {self.seconds:g} s: there was no time to begin")
        made.refused = now
        return made

    def exceeded(self, outcome: BaseException | None) -> DeadlineExceeded:
        """Make the failure of a part whose time was over, with the notes of its own failure."""
        made = DeadlineExceeded(f"not done within {self.seconds:g} s{self.where}")
        made.refused = self.refused
        with suppress(Exception):  # some exceptions take no note
            for note in getattr(outcome, "__notes__", ()):
                made.add_note(note)
        return made


class Expired(BaseException):
    """Thrown into a part of a run whose time is over.

    It is not a failure, so nothing recovers from it. Only `finally` blocks run, with the commands
    in them, as they do when a program is cancelled.
    """

    def __init__(self, limit: Limit) -> None:
        super().__init__()
        self.limit = limit


class Left:
    """The seconds that one command may take, while it is being answered."""

    __slots__ = ("over", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.over = False


LEFT: ContextVar[Left | None] = ContextVar("ixbackoff_left", default=None)


def time_limit() -> float | None:
    """Return the seconds that a command may take from when it was issued: for its handler.

    `None` means that nothing limits it. A handler passes the seconds on as a time-out. An awaited
    handler is cancelled when they are over.

    >>> from ixbackoff import N0, Log, Now, at
    >>> clock = Now.handled_by(lambda command: 0.0)
    >>> at(N0).do(Log("hello")).run(clock | Log.handled_by(lambda _: print(time_limit())), within=5)
    5.0
    """
    left = LEFT.get()
    return None if left is None or left.over else left.seconds


def checked_seconds(name: str, seconds: float | timedelta | None) -> float | None:
    """Return `seconds` as a number, if they can be a limit; 0 or less means that none are left.

    Raises:
        ValueError: they are not a finite number or a timedelta.
    """
    if seconds is None or (type(seconds) is float and -inf < seconds < inf):
        return seconds
    exact = finite(in_seconds(seconds))
    if exact != exact:
        raise ValueError(f"{name}={seconds!r}: give a finite number of seconds, or a timedelta.")
    return exact


def timely(command: Command[Any], limits: Sequence[Limit]) -> Stream:
    """Issue `command`, which has to be answered within these limits.

    The innermost limit is the last. A part that was told to end cleans up without a limit.
    """
    try:
        if command.__class__ is Delay:
            return (yield from wait_in_time(command, limits[0]))
        holding = [limit for limit in limits if not limit.ending]
        if not holding:
            return (yield command)
        return (yield from in_time(command, holding))
    except Exception:
        raise
    except BaseException as error:
        clean_up(limits, error)
        raise
    finally:  # a wait holds its failure, whose traceback holds this frame
        del command


def in_time(command: Command[Any], limits: Sequence[Limit]) -> Stream:
    """Issue `command`, unless a deadline has passed, and tell its handler how long it may take."""
    now: float = yield CLOCK
    left = seconds_left(command, limits, now)
    before = LEFT.get()
    if before is not None and not before.over:
        left = min(left, before.seconds)
    mine = Left(left)
    try:
        LEFT.set(mine)
        return (yield command)
    except Exception as error:
        if not is_transient(error):  # a bug stays a bug, even after the deadline
            raise
        mine.over = True
        check_in_time(command, limits, now, (yield CLOCK), error)
        raise
    finally:
        mine.over = True
        if LEFT.get() is mine:  # the collector may close a stream in another context
            LEFT.set(before)


def seconds_left(command: Command[Any], limits: Sequence[Limit], now: float) -> float:
    """Return how long a command that is issued now may take.

    Raises:
        Expired: a deadline has passed.
    """
    for limit in reversed(limits):
        if limit.deadline <= now:
            raise limit.expire(f" (before {command.__class__.__name__})", now)
    return min([limit.deadline for limit in limits]) - now


def check_in_time(
    command: Command[Any], limits: Sequence[Limit], begun: float, now: float, failure: Exception
) -> None:
    """Check that a command, which has failed now, has not failed since its time was over.

    Raises:
        Expired: it has.
    """
    for limit in limits:
        # Adding the seconds that were left to `begun` may round to a little less.
        if now >= min(limit.deadline, begun + (limit.deadline - begun)):
            limit.cause = failure
            raise limit.expire(f" ({command.__class__.__name__} was running)") from failure


def clean_up(limits: Sequence[Limit], error: BaseException) -> None:
    """Note that parts are told to end by `error`: they clean up from now on."""
    outermost = error.limit if isinstance(error, Expired) else None
    place = limits.index(outermost) if outermost in limits else 0
    for limit in limits[place:]:
        limit.ending = True


def wait_in_time(wait: Any, limit: Limit) -> Stream:
    """Issue a wait, unless it leaves no time for the command after it."""
    if limit.over:
        raise limit.expire()
    limit.ending = False  # a program that waits is no longer cleaning up
    try:
        check_wait(wait, limit.deadline - (yield CLOCK), limit.seconds)
        return (yield wait)
    finally:
        del wait


def check_wait(wait: Any, left: float, seconds: float) -> None:
    """Raise the last failure instead of beginning a wait that would end too late.

    After a wait that follows a failure there has to be time for another try.
    """
    failure: Exception | None = wait.failure
    if wait.seconds < left or (failure is None and wait.seconds == left):
        return
    said = f"a wait of {wait.seconds:g} s would end after the deadline, {seconds:g} s in all"
    wait.refuse("no time left")
    if failure is None:
        raise DeadlineExceeded(f"not done within {seconds:g} s: {said}")
    try:
        add_note(failure, f"{NOTE} not tried again: {said}")
        raise failure
    finally:
        del failure, wait
