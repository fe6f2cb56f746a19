"""Surprises: the things that can happen to one command instead of being answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from ..._words.checks import finite
from ..._words.commands import Command, Misuse
from ..._words.failures import ServerError, Throttled

__tracebackhide__ = True

Start: TypeAlias = Literal["anew", "durably", "for good"]
"""How a process that died is started again, if it is."""

UNAVAILABLE = ServerError(503)
ON_ITS_WAY = TimeoutError("still on its way")


@dataclass(frozen=True)
class Surprise:
    """One thing that can happen to a command; `fails`, `lost` and their kind make it.

    Attributes:
        word: how it is written in a history.
        effect: true if the command does its work.
        failure: the failure that the program is told, if there is one.
        seconds: how long the command takes.
        start: how the process is started again, if it dies.
        late: true if the command is on its way, and may be done at any time after.
        part: the number of the `may_break()` at which its work ends; 0 if it is done whole.
    """

    word: str
    effect: bool = False
    failure: Exception | None = None
    seconds: float = 0.0
    start: Start | None = None
    late: bool = False
    part: int = 0

    def __str__(self) -> str:
        return self.word

    def in_part(self, part: int) -> Surprise:
        """Return the same, where the work of the command ends at a `may_break()`."""
        rest = self.word.removeprefix("is done, but ")
        return replace(self, word=f"is done in part ({part}), {rest}", part=part)


Faults: TypeAlias = Sequence[Surprise] | Mapping[type[Command[Any]], Sequence[Surprise]]
"""The surprises of every command, or those of each kind of command and of the kinds below it."""


def fails(failure: Exception = UNAVAILABLE, *, after: float = 0.0) -> Surprise:
    """The command fails, and nothing was done.

    >>> from ixbackoff.testing.exploring import fails
    >>> print(fails())
    fails with ServerError

    Args:
        failure: the failure that the program is told.
        after: the seconds after which it is told; at a time limit it is a `TimeoutError` instead.

    Raises:
        Misuse: `failure` is not an exception, or it cannot be copied.
        ValueError: `after` is negative or not finite.
    """
    name = named(failure)
    return Surprise(f"fails with {name}{lasting(after)}", False, failure, seconds(after))


def lost(failure: Exception = UNAVAILABLE, *, after: float = 0.0) -> Surprise:
    """The command is done, but its answer is lost: the program is told a failure.

    >>> from ixbackoff.testing.exploring import lost
    >>> print(lost(TimeoutError(), after=5))
    is done, but answers TimeoutError after 5 s

    Args:
        failure: as for `fails`.
        after: as for `fails`.

    Raises:
        Misuse: as `fails`.
        ValueError: as `fails`.
    """
    name = named(failure)
    return Surprise(f"is done, but answers {name}{lasting(after)}", True, failure, seconds(after))


def late(failure: Exception = ON_ITS_WAY, *, after: float = 0.0) -> Surprise:
    """The program is told a failure, and the command may still be done at any time after.

    For commands that change something only: a read that comes late changes nothing, and is
    reported wherever a reader would not expect it.

    >>> from ixbackoff.testing.exploring import late
    >>> print(late())
    is on its way, but answers TimeoutError

    Args:
        failure: as for `fails`.
        after: as for `fails`.

    Raises:
        Misuse: as `fails`.
        ValueError: as `fails`.
    """
    word = f"is on its way, but answers {named(failure)}{lasting(after)}"
    return Surprise(word, False, failure, seconds(after), late=True)


def slow(seconds: float) -> Surprise:
    """The command is done, and answered after these seconds; past a time limit, it is lost.

    >>> from ixbackoff.testing.exploring import slow
    >>> print(slow(30))
    takes 30 s

    Raises:
        ValueError: `seconds` is not above 0.
    """
    if not finite(seconds) > 0:
        raise ValueError(f"slow({seconds!r}): give a finite number of seconds, above 0.")
    return Surprise(f"takes {seconds:g} s", True, None, seconds)


def asks(seconds: float) -> Surprise:
    """The service asks to be left alone for these seconds, and nothing was done.

    >>> from ixbackoff.testing.exploring import asks
    >>> print(asks(30))
    asks to be left alone for 30 s

    Raises:
        ValueError: `seconds` is negative or not finite.
    """
    return Surprise(f"asks to be left alone for {seconds:g} s", False, Throttled(seconds))


def dies(start: Start = "anew") -> tuple[Surprise, ...]:
    """The process dies: before the command, and when the command is done but not yet answered.

    >>> from ixbackoff.testing.exploring import dies
    >>> print(*dies(), sep="; ")
    dies before it, starts anew; dies after it, starts anew

    Args:
        start: "anew" if it is started again from its beginning; "durably" if it goes on as a run of
            `ixbackoff.durable` does, without asking again what was answered; "for good" if it is
            not started again.

    Raises:
        Misuse: `start` is something else.
    """
    if start not in get_args(Start):
        raise Misuse(f'dies({start!r}): give "anew", "durably" or "for good".')
    again = " for good" if start == "for good" else f", starts {start}"
    return (
        Surprise(f"dies before it{again}", False, start=start),
        Surprise(f"dies after it{again}", True, start=start),
    )


def checked_faults(faults: Faults) -> Faults:
    """Return the faults as they are told apart: two with the same words show their failures.

    Raises:
        Misuse: one of them is not a surprise.
    """
    given: object = faults
    if isinstance(given, Surprise):
        raise Misuse(f"faults={given.word!r}: give a sequence of surprises, such as (fails(),).")
    if isinstance(faults, Mapping):
        for kind in faults:
            known: object = kind
            if not (isinstance(known, type) and issubclass(known, Command)):
                raise Misuse(f"faults: {kind!r} is not a kind of command.")
        return {kind: told_apart(some) for kind, some in faults.items()}
    return told_apart(faults)


def told_apart(faults: Sequence[Surprise]) -> tuple[Surprise, ...]:
    """Return surprises that are written differently; the second of two equal ones is left out."""
    for one in faults:
        given: object = one
        if isinstance(given, tuple):
            raise Misuse("faults: dies() makes several surprises: write (fails(), *dies()).")
        if not isinstance(given, Surprise):
            raise Misuse(f"faults: {given!r} is not a surprise: write fails(), lost() or such.")
    kept: dict[str, Surprise] = {}
    for one in faults:
        word, failure = one.word, one.failure
        if word in kept and repr(kept[word].failure) != repr(failure):
            word = word.replace(failure.__class__.__name__, repr(failure))
        kept.setdefault(word, replace(one, word=word))
    return tuple(kept.values())


def named(failure: Exception) -> str:
    """Return the name of a failure's class, if each history can have a copy of the failure.

    Raises:
        Misuse: it cannot, or this is not an exception.
    """
    given: object = failure
    if not isinstance(given, Exception):
        raise Misuse(f"{failure!r} is not a failure: give an exception, such as TimeoutError().")
    name = failure.__class__.__name__
    try:
        same = copy(failure).args == failure.args
    except Exception:
        same = False
    if not same:
        raise Misuse(f"{name} cannot be copied: give its __init__ the arguments of its base class.")
    return name


def seconds(after: float) -> float:
    """Return `after`, if it can be a length of time."""
    if not finite(after) >= 0:
        raise ValueError(f"after={after!r}: give a finite number of seconds, 0 or more.")
    return after


def lasting(after: float) -> str:
    return f" after {after:g} s" if after else ""


ONCE: tuple[Surprise, ...] = (fails(), lost(), *dies())
"""The usual surprises: a failure before and after the effect, and a death before and after it."""
