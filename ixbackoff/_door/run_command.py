"""`ixbackoff run MODULE:PROGRAM`: a program, for real or rehearsed in virtual time."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._argument_parser import FAILED, WRONG, Parser, duration
from .._meaning.planning import plan
from .._words.call_commands import CallAsync
from .._words.commands import AsyncInterpreter, Interpreter, Misuse, interpreter_of, join_tables
from ..live import live, live_async
from . import named_objects, shell_command
from .run_rehearsal import outcomes, rehearsed
from .stderr_log import logged, with_notes


def parsed(words: list[str], of_shell: bool, given: Sequence[Any] = ()) -> Namespace:
    """Parse the words before `--`, which name a rung if `of_shell`, else a program."""
    parser = Parser(
        prog="ixbackoff run",
        usage="ixbackoff run MODULE:PROGRAM [options] [-- ARGUMENT ...]\n"
        "       ixbackoff run RUNG [options] -- COMMAND ...",
        description="Run a program, or retry a shell command on a ladder, whose waits never get "
        "shorter. Waits are logged to standard error; the value of a program is printed to "
        f"standard output. {named_objects.TRUST}",
        epilog="Exit status of a program: 0; 1 if it fails; 2 if it cannot be run. Of a shell "
        f"command: the status of its last try, or {shell_command.LATE} if --within ended that try.",
    )
    parser.add_argument(
        "what",
        type=shell_command.rung if of_shell else partial(named_objects.program, given=given),
        metavar="RUNG" if of_shell else "MODULE:PROGRAM",
        help=f"{named_objects.PROGRAM_HELP}; or a rung (N4: five tries of a shell command)",
    )
    named_objects.add_schedule(parser)
    parser.add_argument(
        "--within",
        type=duration(0.001),
        metavar="SECONDS",
        help="the time limit of the whole run, in seconds or as 5m or 1h; it ends the current "
        "command, but cannot end a plain function",
    )
    programs = parser.add_argument_group("options for a program")
    programs.add_argument(
        "--interpreter",
        type=named_objects.interpreter,
        metavar="MODULE:INTERPRETER",
        help="handlers for its commands, which take precedence over those of live()",
    )
    programs.add_argument(
        "--rehearse",
        type=outcomes,
        metavar="OUTCOMES",
        help="run it in virtual time with these outcomes of its commands; the last one repeats. An "
        "outcome is ok, ok:VALUE, 503, 429:30 (Retry-After), not-ready, timeout, refused or reset; "
        "503@2 takes 2 s",
    )
    programs.add_argument(
        "--output-format", choices=("text", "json"), help="the format of --rehearse (default: text)"
    )
    shell_command.add_options(parser)
    args, rest = parser.parse_known_args(words)
    if of_shell and rest and not rest[0].startswith("-"):
        parser.error(f"write -- before the command: ixbackoff run {words[0]} -- {rest[0]} ...")
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if of_shell and (args.interpreter or args.rehearse):
        parser.error("--interpreter and --rehearse are for a program")
    if not of_shell and args.on:
        parser.error("--on is for a shell command: a program has on= in its steps")
    if args.output_format and not args.rehearse:
        parser.error("--output-format is for --rehearse")
    return args


def main(words: list[str]) -> int:
    before, given = named_objects.arguments_apart(words)
    if shell_command.names_a_rung(before, len(before) < len(words)):
        return shell_command.run(parsed(before, of_shell=True), tuple(words[len(before) + 1 :]))
    args = parsed(before, of_shell=False, given=given)
    found: named_objects.Found = args.what
    options = {"schedule": args.schedule, "within": args.within}
    try:
        if args.rehearse is not None:
            return rehearsed(found, args.rehearse, options, args.output_format)
        if found.needs:
            print(f"{found.name} needs {found.needs}: {named_objects.GIVE}.", file=sys.stderr)
            return WRONG
        with logged(ends=False):
            value = run(found, args.interpreter, options)
    except Misuse as misuse:
        print(f"{found.name} cannot be run: {misuse}", file=sys.stderr)
        return WRONG
    except Exception as failure:  # a program may fail with any exception
        print(f"{found.name} failed: {with_notes(failure)}", file=sys.stderr)
        return FAILED
    show(value)
    return 0


def run(found: named_objects.Found, interpreter: Any, options: dict[str, Any]) -> Any:
    awaits = CallAsync in plan(found.program, options["schedule"]).commands.kinds
    if not awaits and not isinstance(interpreter, AsyncInterpreter):
        handlers: Any = live()
        return found.program.run(with_own(handlers, interpreter), **options)
    handlers = live_async()
    return asyncio.run(found.program.run_async(with_own(handlers, interpreter), **options))


def with_own(handlers: Any, own: Any) -> Any:
    """Join handlers with the user's own, which take precedence.

    `|` rejects two handlers of one generic kind, such as `Call`, because a type checker cannot
    distinguish them. Here no checker has to: the user's handler is taken.
    """
    if own is None:
        return handlers
    either = isinstance(handlers, AsyncInterpreter) or isinstance(own, AsyncInterpreter)
    kind: Any = AsyncInterpreter if either else Interpreter
    return interpreter_of(kind, join_tables(handlers._handlers, own._handlers))


def show(value: object) -> None:
    """Print text and bytes as they are, other values as JSON if possible, and no `None`."""
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
