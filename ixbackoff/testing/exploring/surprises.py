"""Surprises, which can happen to a command in place of a plain answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from ..._words.checks import finite
from ..._words.commands import Command, Misuse
from ..._words.failure_classes import ServerError, Throttled

__tracebackhide__ = True

Start: TypeAlias = Literal["anew", "durably", "for good"]
"""The ways to start a process again after its death; with "for good" it is not started."""

UNAVAILABLE = ServerError(503)
ON_ITS_WAY = TimeoutError("still on its way")


@dataclass(frozen=True)
class Surprise:
    """An event that can happen to a command; `fails`, `lost` and the like make it.

    Attributes:
        word: its text in a history.
        effect: whether the command is done.
        failure: the failure that is thrown into the program, or `None`.
        seconds: the seconds that the command takes.
        start: the way to start the process again, or `None` if it does not die.
        late: whether the command may still be done at any later time.
        part: the number of the `may_break()` at which the command ends; 0 if it is done whole.
        beside: the branches whose commands are done as well if the process dies.
    """

    word: str
    effect: bool = False
    failure: Exception | None = None
    seconds: float = 0.0
    start: Start | None = None
    late: bool = False
    part: int = 0
    beside: tuple[tuple[int, ...], ...] = ()

    def __str__(self) -> str:
        return self.word

    def in_part(self, part: int) -> Surprise:
        """Return the surprise in which the command ends at its `may_break()` number `part`."""
        rest = self.word.removeprefix("is done, but ")
        return replace(self, word=f"is done in part ({part}), {rest}", part=part)

    def with_others(self, name: str, beside: tuple[tuple[int, ...], ...]) -> Surprise:
        """Return the surprise in which other branches' commands are done, too, but not answered."""
        others = " and ".join([name + ".".join(map(str, path)) for path in beside])
        verb = "is" if len(beside) == 1 else "are"
        return replace(self, word=f"{self.word} ({others} {verb} done)", beside=beside)


Faults: TypeAlias = Sequence[Surprise] | Mapping[type[Command[Any]], Sequence[Surprise]]
"""The surprises of every command; or of each kind of command, with its subclasses."""


def fails(failure: Exception = UNAVAILABLE, *, after: float = 0.0) -> Surprise:
    """Make the surprise that a command fails, and is not done.

    >>> from ixbackoff.testing.exploring import fails
    >>> print(fails())
    fails with ServerError

    Args:
        failure: the failure that is thrown into the program, by default `ServerError(503)`.
        after: the seconds to the failure; a time limit that ends by then raises TimeoutError.

    Raises:
        Misuse: `failure` is not an exception, or it cannot be copied.
        ValueError: `after` is negative or not finite.
    """
    name = named(failure)
    return Surprise(f"fails with {name}{lasting(after)}", False, failure, seconds(after))


def lost(failure: Exception = UNAVAILABLE, *, after: float = 0.0) -> Surprise:
    """Make the surprise that a command is done, but its answer is lost: the try fails.

    >>> from ixbackoff.testing.exploring import lost
    >>> print(lost(TimeoutError(), after=5))
    is done, but answers TimeoutError after 5 s

    The arguments and the errors are those of `fails`.
    """
    name = named(failure)
    return Surprise(f"is done, but answers {name}{lasting(after)}", True, failure, seconds(after))


def late(failure: Exception = ON_ITS_WAY, *, after: float = 0.0) -> Surprise:
    """Make the surprise that a command fails, but may still be done at any later time.

    Use it for commands that change something: a late read only makes histories longer.

    >>> from ixbackoff.testing.exploring import late
    >>> print(late())
    is on its way, but answers TimeoutError

    The arguments and the errors are those of `fails`, but the default failure is a `TimeoutError`.
    """
    word = f"is on its way, but answers {named(failure)}{lasting(after)}"
    return Surprise(word, False, failure, seconds(after), late=True)


def slow(seconds: float) -> Surprise:
    """Make the surprise that a command is slow; if a time limit ends first, the answer is lost.

    >>> from ixbackoff.testing.exploring import slow
    >>> print(slow(30))
    takes 30 s

    Raises:
        ValueError: `seconds` is not above 0, or not finite.
    """
    if not finite(seconds) > 0:
        raise ValueError(f"slow({seconds!r}): give a finite number of seconds, above 0.")
    return Surprise(f"takes {seconds:g} s", True, None, seconds)


def asks(seconds: float) -> Surprise:
    """Make the surprise that a command fails with `Throttled(seconds)`, and is not done.

    >>> from ixbackoff.testing.exploring import asks
    >>> print(asks(30))
    asks to be left alone for 30 s

    Raises:
        ValueError: `seconds` is negative or not finite.
    """
    if not finite(seconds) >= 0:
        raise ValueError(f"asks({seconds!r}): give a finite number of seconds, 0 or more.")
    return Surprise(f"asks to be left alone for {seconds:g} s", False, Throttled(seconds))


def dies(start: Start = "anew") -> tuple[Surprise, ...]:
    """Make two deaths of the process: before the command, and between the command and its answer.

    >>> from ixbackoff.testing.exploring import dies
    >>> print(*dies(), sep="; ")
    dies before it, starts anew; dies after it, starts anew

    Args:
        start: "anew" to start it again from its beginning; "durably" to resume it as
            `ixbackoff.durable` does, with the recorded answers; "for good" not to start it again.

    Raises:
        Misuse: `start` is none of these.
    """
    if start not in get_args(Start):
        raise Misuse(f'dies({start!r}): give "anew", "durably" or "for good".')
    again = " for good" if start == "for good" else f", starts {start}"
    return (
        Surprise(f"dies before it{again}", False, start=start),
        Surprise(f"dies after it{again}", True, start=start),
    )


def checked_faults(faults: Faults) -> Faults:
    """Return the faults with distinct words; raise Misuse if one is not a surprise."""
    given: object = faults
    if isinstance(given, Surprise):
        raise Misuse(f"faults={given.word!r}: give a sequence of surprises, such as (fails(),).")
    if isinstance(faults, Mapping):
        for kind in faults:
            known: object = kind
            if not (isinstance(known, type) and issubclass(known, Command)):
                raise Misuse(f"faults: {kind!r} is not a kind of command.")
        return {kind: distinct(some) for kind, some in faults.items()}
    return distinct(faults)


def distinct(faults: Sequence[Surprise]) -> tuple[Surprise, ...]:
    """Return the surprises with distinct words, which name a failure's arguments if needed."""
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
    """Return the name of a failure's class; raise Misuse if the failure cannot be copied."""
    given: object = failure
    if not isinstance(given, Exception):
        raise Misuse(f"{failure!r} is not a failure: give an exception, such as TimeoutError().")
    name = failure.__class__.__name__
    try:
        same = copy(failure).args == failure.args
    except Exception:
        same = False
    if not same:
        raise Misuse(f"{name} cannot be copied: let its __init__ pass its arguments to super().")
    return name


def copied(failure: Exception) -> Exception:
    """Copy a failure, so that notes can be added; return the failure if it cannot be copied."""
    try:
        return copy(failure).with_traceback(None)
    except Exception:
        return failure.with_traceback(None)


def seconds(after: float) -> float:
    if not finite(after) >= 0:
        raise ValueError(f"after={after!r}: give a finite number of seconds, 0 or more.")
    return after


def lasting(after: float) -> str:
    return f" after {after:g} s" if seconds(after) else ""


ONCE: tuple[Surprise, ...] = (fails(), lost(), *dies())
"""The usual surprises: a failure and a death, each before and after the effect."""
