"""Rehearsals: a program in virtual time, with the outcomes that the user lists."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial
from typing import Any

from .._commandline import FAILED
from .._words.commands import AnyCommand, Command, Misuse
from .._words.failures import NotReady
from ..live.errors import failure_of_status
from ..testing import Virtual
from ..testing.scripts import given_by, takes
from .finding import Found
from .logs import told

FAILURES: dict[str, Callable[[], Exception]] = {
    "timeout": partial(TimeoutError, "rehearsed"),
    "refused": partial(ConnectionRefusedError, "rehearsed"),
    "reset": partial(ConnectionResetError, "rehearsed"),
}
MOST = 1000
"""Commands that a rehearsal has at most: there are programs without end."""


class Endless(BaseException):
    """The rehearsal has gone on for long enough."""


def outcomes(text: str) -> list[Any]:
    """Read the outcomes of commands.

    >>> outcomes("503,429:30,ok:7")
    [ServerError(503, None), Throttled(30.0), 7]

    Raises:
        ArgumentTypeError: one of them is not an outcome.
    """
    return [outcome(part.strip()) for part in text.split(",")]


def outcome(text: str) -> Any:
    """Read one outcome: an answer, or an exception that stands for a failure.

    Raises:
        ArgumentTypeError: it is not an outcome.
    """
    told, lasting, seconds = text.partition("@")
    kind, _, rest = told.partition(":")
    try:
        if lasting:
            return takes(positive(seconds), outcome(told))
        if kind == "ok":
            return answer(rest)
        if kind in FAILURES and not rest:
            return FAILURES[kind]()
        if kind == "not-ready":
            return NotReady(retry_after=positive(rest) if rest else None)
        headers = {"Retry-After": f"{positive(rest):g}"} if rest else {}
        failure = failure_of_status(int(kind), headers, "rehearsed")
    except ValueError:
        failure = None
    if failure is None:
        known = ", ".join(["ok", "ok:VALUE", "503", "429:30", "not-ready", *FAILURES])
        raise ArgumentTypeError(f"{text} is not an outcome: give {known}, or one with @SECONDS")
    return failure


def positive(text: str) -> float:
    """Read seconds.

    Raises:
        ValueError: they are not a number, 0 or more.
    """
    seconds = float(text)
    if not 0 <= seconds <= 1e9:
        raise ValueError(text)
    return seconds


def answer(text: str) -> Any:
    """Read an answer: JSON if it is, else a text; none is `None`."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def rehearsed(found: Found, script: list[Any], options: dict[str, Any]) -> int:
    """Run a program in virtual time and print what it did; 1 if it failed."""
    asked = 0

    def answered(command: Command[Any]) -> Any:
        nonlocal asked
        known = next((known_to[kind] for kind in type(command).__mro__ if kind in known_to), None)
        if known is not None:
            return known(command)
        asked += 1
        if asked > MOST:
            raise Endless
        given = script[min(asked, len(script)) - 1]
        return given_by(given, command)

    anything: type[Command[Any]] = Command
    world = Virtual(anything.handled_by(answered))
    known_to = world._standard()
    del known_to[AnyCommand]
    failed = True
    try:
        value = found.program.run(world.interpreter, **options)
        end = "ends well" if value is None else f"ends well: {value!r}"
        failed = False
    except Misuse:
        raise
    except Endless:
        end = f"goes on: {MOST} commands were rehearsed"
    except Exception as failure:  # a program may fail with any
        end = f"fails: {told(failure)}"
    print(world.transcript())
    print(f"{world.now:10.3f}  {found.name} {end}")
    return FAILED if failed else 0
