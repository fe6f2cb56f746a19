"""Rehearsals: runs in virtual time, with the outcomes that the user lists."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from typing import Any

from .._argument_parser import FAILED, duration
from .._words.commands import AnyCommand, Command, Misuse
from .._words.failure_classes import NotReady
from ..live.errors import failure_of_status
from ..testing import Virtual
from ..testing.scripts import given_by, takes
from ..testing.virtual import stable
from .named_objects import Found, value
from .stderr_log import with_notes

FAILURES = {
    "timeout": TimeoutError,
    "refused": ConnectionRefusedError,
    "reset": ConnectionResetError,
}
parse_seconds = duration(0)
MOST = 1000  # commands in a rehearsal: some programs have no end


class Endless(BaseException):
    """A rehearsal has issued too many commands."""


def outcomes(text: str) -> list[Any]:
    """Parse the outcomes of commands.

    >>> outcomes("503,429:30,ok:7")
    [ServerError(503, None), Throttled(30.0), 7]
    """
    return [outcome(part.strip()) for part in text.split(",")]


def outcome(text: str) -> Any:
    """Parse one outcome: an answer, or the exception to raise."""
    what, at_sign, seconds = text.partition("@")
    kind, _, rest = what.partition(":")
    try:
        if at_sign:
            return takes(parse_seconds(seconds), outcome(what))
        if kind == "ok":
            return value(rest) if rest else None
        if kind in FAILURES and not rest:
            return FAILURES[kind]("rehearsed")
        if kind == "not-ready":
            return NotReady(retry_after=parse_seconds(rest) if rest else None)
        headers = {"Retry-After": f"{parse_seconds(rest):g}"} if rest else {}
        failure = failure_of_status(int(kind), headers, "rehearsed")
    except (ValueError, ArgumentTypeError):
        failure = None
    if failure is None:
        known = ", ".join(["ok", "ok:VALUE", "503", "429:30", "not-ready", *FAILURES])
        raise ArgumentTypeError(f"{text} is not an outcome: give {known}, or one with @SECONDS")
    return failure


def rehearsed(found: Found, script: list[Any], options: dict[str, Any], form: str) -> int:
    """Run a program in virtual time; print its commands as text or JSON; return 1 if it failed."""
    issued = 0

    def answer(command: Command[Any]) -> Any:
        nonlocal issued
        handler = next((standard[kind] for kind in type(command).__mro__ if kind in standard), None)
        if handler is not None:
            return handler(command)
        issued += 1
        if issued > MOST:
            raise Endless
        given = script[min(issued, len(script)) - 1]
        return given_by(given, command)

    anything: type[Command[Any]] = Command
    world = Virtual(anything.handled_by(answer))
    standard = world._standard()
    del standard[AnyCommand]
    result = failed = None
    try:
        result = found.program.run(world.interpreter, **options)
        end = "succeeds" if result is None else f"succeeds: {result!r}"
    except Misuse:
        raise
    except Endless:
        end = failed = f"has not ended after {MOST} commands"
    except Exception as failure:  # a program may fail with any exception
        failed = with_notes(failure)
        end = f"fails: {failed}"
    if form == "json":
        print(as_json(found.name, world, result, failed))
    else:
        print(world.transcript())
        print(f"{world.now:10.3f}  {found.name} {end}")
    return FAILED if failed else 0


def as_json(name: str, world: Virtual[Any], result: object, failed: str | None) -> str:
    """Write a rehearsal as JSON, with commands, answers and failures as Python shows them."""
    ends = {"seconds": world.now, "value": shown(result), "failure": failed}
    trace = [
        {"at": at, "command": shown(command), "answer": shown(answer), "failure": shown(failure)}
        for at, command, answer, failure, _ in world.trace
    ]
    return json.dumps({"program": name, **ends, "trace": trace}, indent=2)


def shown(thing: object) -> str | None:
    return None if thing is None else stable(repr(thing))
