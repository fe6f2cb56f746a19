"""Another library and ixbackoff, run against one script of failures.

The pages `coming-from-*.md` use this module. No wait takes time: the clock is advanced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeAlias
from unittest.mock import patch

import tenacity

from ixbackoff import Call, answered_by
from ixbackoff.testing import Virtual, no_waits

Service: TypeAlias = Callable[[], str]
Decorator: TypeAlias = Callable[[Service], Service]

busy = ConnectionResetError("busy")
script: list[Any] = []
"""The outcomes of the tries: an exception, an answer, or an event to set."""

tries: list[Any] = []
"""The outcomes so far."""


def scripted(*outcomes: Any) -> None:
    """Give the service a script."""
    script[:] = outcomes
    tries.clear()
    for outcome in script:
        if isinstance(outcome, Event):
            outcome.clear()


def ask() -> str:
    """Ask the service. An event in its script is set, and the try fails."""
    outcome = script[len(tries)]
    tries.append(outcome)
    if isinstance(outcome, Event):
        outcome.set()
        raise ConnectionResetError
    if isinstance(outcome, Exception):
        raise outcome
    return str(outcome)


@contextmanager
def their_clock() -> Iterator[list[float]]:
    """List the waits of another library."""
    waits: list[float] = []
    with patch("time.sleep", waits.append), patch("time.monotonic", lambda: sum(waits)):
        yield waits


@contextmanager
def our_clock() -> Iterator[list[float]]:
    """List the waits of ixbackoff."""
    waits: list[float] = []
    world = Virtual(Call[Any].handled_by(lambda command: command()))
    with no_waits() as ours, answered_by(world.interpreter):
        yield waits
    waits += world.waits + ours.waited


def what_happens(function: Service, clock: Any) -> tuple[int, list[float], str]:
    """Call a function; return its number of tries, its waits and its end."""
    scripted(*script)
    with clock as waits:
        try:
            ends = repr(function())
        except tenacity.RetryError as failure:
            ends = repr(failure.last_attempt.exception())
        except Exception as failure:
            ends = repr(failure)
    return len(tries), [round(seconds, 9) for seconds in waits], ends


def alike(theirs: Service, ours: Service, *outcomes: Any) -> None:
    """Check that two functions do the same with a script; print their tries, waits and end."""
    scripted(*outcomes)
    asked, waits, ends = what_happens(ours, our_clock())
    assert what_happens(theirs, their_clock()) == (asked, waits, ends)
    print(f"{asked} tries, waits {waits}: {ends}")


def same(theirs: Decorator, ours: Decorator, *outcomes: Any) -> None:
    """Check that two decorators do the same with a script; print their tries, waits and end."""
    alike(theirs(ask), ours(ask), *outcomes)
