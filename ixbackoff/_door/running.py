"""`python -m ixbackoff run MODULE:PROGRAM`: for real, or rehearsed in virtual time."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from typing import Any

from .._commandline import FAILED, WRONG, Parser, number
from .._meaning.planning import plan
from .._words.calls import CallAsync
from .._words.commands import AsyncInterpreter, Interpreter, Misuse, interpreter_of, join
from ..live import live, live_async
from . import finding, shell
from .run_log import logged, told
from .rehearsing import outcomes, rehearsed


def parsed(words: list[str]) -> Namespace:
    """Parse the command line of a program."""
    parser = Parser(
        prog="python -m ixbackoff run",
        usage="python -m ixbackoff run MODULE:PROGRAM [options]\n"
        "       python -m ixbackoff run RUNG [options] -- COMMAND ...",
        description="Run a program: its waits are told on standard error, its value on standard "
        "output. The exit status is 1 if it fails, 2 if it cannot be run. Or run a command of the "
        "shell on a ladder: run N4 --help tells more.",
    )
    finding.add_program(parser)
    parser.add_argument(
        "--interpreter",
        type=finding.interpreter,
        metavar="MODULE:INTERPRETER",
        help="handlers for its commands, in place of those of live() or beside them",
    )
    parser.add_argument(
        "--within",
        type=number(0.001, 1e9),
        metavar="SECONDS",
        help="the seconds that it has in all",
    )
    parser.add_argument(
        "--rehearse",
        type=outcomes,
        metavar="OUTCOMES",
        help="in virtual time, with these outcomes of its commands, the last again and again: "
        "ok, ok:VALUE, 503, 429:30 with a Retry-After, not-ready, timeout, refused, reset; "
        "503@2 takes 2 s",
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run what the words name: a program, or a command of the shell."""
    if "--" in words or (words and shell.is_rung(words[0])):
        return shell.main(words)
    args = parsed(words)
    found: finding.Found = args.program
    options = {"schedule": args.schedule, "within": args.within}
    try:
        if args.rehearse is not None:
            return rehearsed(found, args.rehearse, options)
        if found.needs:
            print(f"{found.name} needs {found.needs}: run calls it without any.", file=sys.stderr)
            return WRONG
        with logged(ends=False):
            value = done(found, args.interpreter, options)
    except Misuse as misuse:
        print(f"{found.name} cannot be run: {misuse}", file=sys.stderr)
        return WRONG
    except Exception as failure:  # a program may fail with any
        print(f"{found.name} failed: {told(failure)}", file=sys.stderr)
        return FAILED
    show(value)
    return 0


def done(found: finding.Found, interpreter: Any, options: dict[str, Any]) -> Any:
    """Run a program for real, in an event loop if it needs one; its value."""
    awaits = CallAsync in plan(found.program, options["schedule"]).commands.kinds
    if not awaits and not isinstance(interpreter, AsyncInterpreter):
        handlers: Any = live()
        return found.program.run(with_own(handlers, interpreter), **options)
    handlers = live_async()
    return asyncio.run(found.program.run_async(with_own(handlers, interpreter), **options))


def with_own(handlers: Any, own: Any) -> Any:
    """These handlers, and the user's own in their place where both can answer.

    `|` would refuse two handlers of a generic kind, which a type checker cannot tell apart; here
    the user has said whose answers count.
    """
    if own is None:
        return handlers
    several = isinstance(handlers, AsyncInterpreter) or isinstance(own, AsyncInterpreter)
    kind: Any = AsyncInterpreter if several else Interpreter
    return interpreter_of(kind, join(handlers._handlers, own._handlers))


def show(value: object) -> None:
    """Print a value: text and bytes as they are, what JSON knows as JSON, nothing for `None`."""
    if value is None:
        return
    if isinstance(value, bytes):
        sys.stdout.buffer.write(value)
    elif isinstance(value, str):
        print(value)
    else:
        try:
            print(json.dumps(value))
        except (TypeError, ValueError):
            print(repr(value))
