"""Rehearsals: runs in virtual time, with the outcomes that the user lists."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial
from typing import Any

from .._commandline import FAILED, number
from .._words.commands import AnyCommand, Command, Misuse
from .._words.failures import NotReady
from ..live.errors import failure_of_status
from ..testing import Virtual
from ..testing.scripts import given_by, takes
from .finding import Found
from .stderr_log import with_notes

FAILURES: dict[str, Callable[[], Exception]] = {
    "timeout": partial(TimeoutError, "rehearsed"),
    "refused": partial(ConnectionRefusedError, "rehearsed"),
    "reset": partial(ConnectionResetError, "rehearsed"),
}
SECONDS = number(0, 1e9)
MOST = 1000
"""The greatest number of commands in a rehearsal: some programs have no end."""


class Endless(BaseException):
    """A rehearsal has issued too many commands."""


def outcomes(text: str) -> list[Any]:
    """Parse the outcomes of commands.

    >>> outcomes("503,429:30,ok:7")
    [ServerError(503, None), Throttled(30.0), 7]

    Raises:
        ArgumentTypeError: a part is not an outcome.
    """
    return [outcome(part.strip()) for part in text.split(",")]


def outcome(text: str) -> Any:
    """Parse one outcome: an answer, or the exception to raise.

    Raises:
        ArgumentTypeError: `text` is not an outcome.
    """
    what, lasting, seconds = text.partition("@")
    kind, _, rest = what.partition(":")
    try:
        if lasting:
            return takes(SECONDS(seconds), outcome(what))
        if kind == "ok":
            return answer(rest)
        if kind in FAILURES and not rest:
            return FAILURES[kind]()
        if kind == "not-ready":
            return NotReady(retry_after=SECONDS(rest) if rest else None)
        headers = {"Retry-After": f"{SECONDS(rest):g}"} if rest else {}
        failure = failure_of_status(int(kind), headers, "rehearsed")
    except (ValueError, ArgumentTypeError):
        failure = None
    if failure is None:
        known = ", ".join(["ok", "ok:VALUE", "503", "429:30", "not-ready", *FAILURES])
        raise ArgumentTypeError(f"{text} is not an outcome: give {known}, or one with @SECONDS")
    return failure


def answer(text: str) -> Any:
    """Parse an answer: JSON, or other text as it is; no text is `None`."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def rehearsed(found: Found, script: list[Any], options: dict[str, Any]) -> int:
    """Run a program in virtual time and print its commands; return 1 if it failed."""
    issued = 0

    def answered(command: Command[Any]) -> Any:
        nonlocal issued
        known = next((known_to[kind] for kind in type(command).__mro__ if kind in known_to), None)
        if known is not None:
            return known(command)
        issued += 1
        if issued > MOST:
            raise Endless
        given = script[min(issued, len(script)) - 1]
        return given_by(given, command)

    anything: type[Command[Any]] = Command
    world = Virtual(anything.handled_by(answered))
    known_to = world._standard()
    del known_to[AnyCommand]
    failed = True
    try:
        value = found.program.run(world.interpreter, **options)
        end = "succeeds" if value is None else f"succeeds: {value!r}"
        failed = False
    except Misuse:
        raise
    except Endless:
        end = f"has not ended after {MOST} commands"
    except Exception as failure:  # a program may fail with any exception
        end = f"fails: {with_notes(failure)}"
    print(world.transcript())
    print(f"{world.now:10.3f}  {found.name} {end}")
    return FAILED if failed else 0
