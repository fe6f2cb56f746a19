"""Deadlines: time limits on a run or on one of its attempts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from math import inf
from sys import modules
from time import monotonic
from typing import TYPE_CHECKING, Any, overload

from .._words.checks import above_zero, finite, in_seconds
from .._words.commands import Command, Stream
from .._words.failure_classes import DeadlineExceeded
from .._words.judging import is_transient
from .._words.notes import NOTE, add_note
from .._words.standard_commands import CLOCK, Delay, Together, issued_in_line
from ..schedules.base import After
from .event_loop import running

if TYPE_CHECKING:
    from datetime import timedelta

__tracebackhide__ = True


class Limit:
    """A time limit on a part of a run, which is one attempt or the whole run."""

    over = False  # whether the part was interrupted at its deadline
    ending = False  # whether the part is cleaning up, after its deadline, Ctrl-C or the like
    foreign = False  # whether the limit comes from the caller of a request that the run serves
    where = ""  # the part of the message that names the command at the deadline
    refused: float | None = None  # the time at which a command was refused because it was too late
    cause: Exception | None = None  # the failure of the running command, if one was running

    def __init__(self, now: float, seconds: float, whole: bool) -> None:
        self.deadline = now + seconds  # on the clock of the interpreter
        self.seconds = seconds
        self.whole = whole

    @property
    def blames(self) -> bool:
        """True if the service is to blame: a command ran, and the limit is not `foreign`."""
        return self.refused is None and not self.foreign

    def expire(self, where: str = "", refused: float | None = None) -> Expired:
        """Mark the limit as over; return the exception to throw into the part."""
        self.over = True
        if where:
            self.where, self.refused = where, refused
        return Expired(self)

    def exceeded(self, outcome: BaseException | None) -> DeadlineExceeded:
        """Return the failure of an interrupted part, with the notes of `outcome`."""
        made = DeadlineExceeded(f"not done within {self.seconds:g} s{self.where}")
        made.refused = self.refused
        with suppress(Exception):  # some exceptions take no note
            for note in getattr(outcome, "__notes__", ()):
                made.add_note(note)
        return made


class Expired(BaseException):
    """The interruption of a part of a run; a `BaseException`, so no step recovers from it."""

    def __init__(self, limit: Limit) -> None:
        super().__init__()
        self.limit = limit


class Left:
    """The time left for a command of a run, and for the runs that this command starts."""

    __slots__ = ("_clock", "_seconds", "foreign", "late", "over", "until")

    def __init__(self, seconds: float, until: float | None = None, clock: Any = monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self.foreign = False  # whether these are the seconds that the caller of a request has left
        # until: the deadline on `clock`; `None` in virtual time, or if the command is `Together`
        self.until = until
        self.over = False  # whether the handler of the command has ended
        self.late = ""  # the note of the last wait that would have ended too late

    @property
    def seconds(self) -> float:
        """The seconds that are left; if `until` is `None`, the seconds at the start."""
        return self._seconds if self.until is None else max(0.0, self.until - self._clock())

    def refuses(self, seconds: float) -> bool:
        """Return whether a wait leaves no time for another try; if so, set the note `late`."""
        late = self.until is not None and seconds >= self.seconds
        self.late = LATE.format(seconds) if late else ""
        return late


NOT_AGAIN = f"{NOTE} not tried again:"
LATE_WAIT = "a wait of {:g} s would not end before the deadline of {:g} s"
LATE = NOT_AGAIN + " a wait of {:g} s would not end before the deadline around this run"
LEFT: ContextVar[Left | None] = ContextVar("ixbackoff_left", default=None)


def time_around() -> Left | None:
    """Return the time left for the run or request around the caller; `None` for no limit."""
    left = LEFT.get()
    return None if left is None or left.over else left


def caller_has_gone() -> bool:
    """Return whether this code serves a request whose caller no longer waits for the answer.

    Failures from then on must not count, or callers in a hurry would open circuit breakers.
    """
    left = LEFT.get()
    return left is not None and left.foreign and not left.over and left.seconds <= 0


def in_time_around(after: After) -> After:
    """Return a function like `after`; it returns `None` for a wait beyond the time in `LEFT`."""
    left = LEFT.get()
    if left is None or left.over:
        return after
    left.late, refuses = "", left.refuses

    def bounded(failure: Any, k: int, shortest: float) -> float | None:
        seconds = after(failure, k, shortest)
        return None if seconds is None or refuses(seconds) else seconds

    return bounded


@overload
def time_limit() -> float | None: ...
@overload
def time_limit(most: float | timedelta) -> float: ...
def time_limit(most: float | timedelta | None = None) -> float | None:
    """Return the seconds that are left for the current command; `None` for no limit.

    They are never more than `most`, if given. A handler passes them on as a timeout; an awaited
    handler is cancelled at the deadline. In virtual time, handlers take no time, so the seconds are
    those at the command's start.

    >>> from ixbackoff import N0, Log, Now, at
    >>> clock = Now.handled_by(lambda command: 0.0)
    >>> at(N0).do(Log("hello")).run(clock | Log.handled_by(lambda _: print(time_limit())), within=5)
    5.0
    >>> time_limit(10)
    10.0

    Raises:
        ValueError: `most` is not finite and above 0, as a number of seconds or a timedelta.
    """
    left = time_around()
    seconds = None if left is None else left.seconds
    if most is None:
        return seconds
    bound = above_zero("most", in_seconds(most) or 0)
    return bound if seconds is None else min(seconds, bound)


def checked_seconds(name: str, seconds: float | timedelta | None) -> float | None:
    """Return a time limit in seconds; 0 or less means that no time is left."""
    if seconds is None or (type(seconds) is float and -inf < seconds < inf):
        return seconds
    exact = finite(in_seconds(seconds))
    if exact != exact:
        raise ValueError(f"{name}={seconds!r}: give a finite number of seconds, or a timedelta.")
    return exact


def timely(command: Command[Any], limits: Sequence[Limit]) -> Stream:
    """Issue `command` within `limits`, the innermost last; a cleanup has no limit."""
    try:
        if command.__class__ is Delay:
            if issued_in_line(command):  # in line at a gate, which has checked the deadline
                return (yield command)
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
    finally:  # break the cycle of failure, traceback, this frame and the wait
        del command


def in_time(command: Command[Any], limits: Sequence[Limit]) -> Stream:
    """Issue `command` before the first deadline; its handler finds the seconds in `LEFT`."""
    _, trio = running() if "trio" in modules else (None, None)
    clock: Any = monotonic if trio is None else trio.lowlevel.current_clock().current_time
    earlier = clock()
    now: float = yield CLOCK
    real = earlier <= now <= clock()  # false in virtual time
    left = seconds_left(command, limits, now)
    foreign = True in [limit.foreign for limit in limits]
    before, around = LEFT.get(), time_around()
    if around is not None and around.seconds < left:
        left, foreign = around.seconds, around.foreign
    # Each branch of `Together` counts its seconds from its own start. If it had the deadline of
    # `Together`, it could expire just before `Together`, whose expiry would then cancel the cleanup
    # of the branch.
    counts = real and command.__class__ is not Together
    current = Left(left, now + left if counts else None, clock)
    current.foreign = foreign
    try:
        LEFT.set(current)
        return (yield command)
    except Exception as error:
        if not is_transient(error):  # a bug is raised as it is, even after the deadline
            raise
        current.over = True
        check_in_time(command, limits, now, (yield CLOCK), error)
        raise
    finally:
        current.over = True
        if LEFT.get() is current:  # the collector may close a stream in another context
            LEFT.set(before)


def seconds_left(command: Command[Any], limits: Sequence[Limit], now: float) -> float:
    """Return the seconds that `command` may take, or raise `Expired`."""
    for limit in reversed(limits):
        if limit.deadline <= now:
            raise limit.expire(f" (before {command.__class__.__name__})", now)
    return min([limit.deadline for limit in limits]) - now


def check_in_time(
    command: Command[Any], limits: Sequence[Limit], begun: float, now: float, failure: Exception
) -> None:
    """Raise `Expired` if a command failed at its deadline or later."""
    for limit in limits:
        # `begun` plus the remaining seconds may round to slightly less than the deadline.
        if now >= min(limit.deadline, begun + (limit.deadline - begun)):
            limit.cause = failure
            raise limit.expire(f" ({command.__class__.__name__} was running)") from failure


def clean_up(limits: Sequence[Limit], error: BaseException) -> None:
    """Mark parts as cleaning up: after an `Expired`, its part and the parts inside it; else all."""
    outermost = error.limit if isinstance(error, Expired) else None
    first = limits.index(outermost) if outermost in limits else 0
    for limit in limits[first:]:
        limit.ending = True


def wait_in_time(wait: Any, limit: Limit) -> Stream:
    """Issue `wait` if it ends in time; else raise its failure, if any, or `DeadlineExceeded`."""
    if limit.over:
        raise limit.expire()
    limit.ending = False  # a program that waits has ended its cleanup
    failure: Exception | None = wait.failure
    try:
        left = limit.deadline - (yield CLOCK)
        if wait.seconds < left or (failure is None and wait.seconds == left):
            return (yield wait)
        why = LATE_WAIT.format(wait.seconds, limit.seconds)
        wait.refuse("no time left")
        if failure is None:
            raise DeadlineExceeded(f"not done within {limit.seconds:g} s: {why}")
        add_note(failure, f"{NOT_AGAIN} {why}")
        raise failure
    finally:
        del failure, wait
