"""`ixbackoff run N4 -- COMMAND`: a shell command on a ladder."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentTypeError, Namespace
from dataclasses import dataclass
from typing import Any

from .._argument_parser import WRONG, Parser
from .._limits.deadlines import time_limit
from .._words import rungs
from .._words.commands import Command
from .._words.failure_classes import DeadlineExceeded, Transient
from .._words.printable_text import printable
from .._writing.programs import at
from ..live import live
from .shell_child import ChildEnd, NotStarted, end_by, performed
from .stderr_log import logged

LATE = 124  # the exit status after the deadline, as for timeout(1)
HIGHEST = 255
PERMANENT = frozenset({2, 64, 65, 66, 67, 70, 72, 73, 77, 78, 126, 127})
"""Statuses of permanent failures: wrong usage, no such command, and some of `sysexits.h`."""
TRANSIENT = frozenset(range(1, 128)) - PERMANENT  # retried by default


@dataclass(frozen=True)
class Shell(Command[None]):
    """Run a shell command, with our standard input, output and error."""

    words: tuple[str, ...]


class CommandFailed(Transient):
    """A shell command has ended with a status other than 0."""

    def __init__(self, end: ChildEnd) -> None:
        super().__init__(end)
        self.end = end

    def __str__(self) -> str:
        if self.end.ended_by is None:
            return f"exit status {self.end.status}"
        number = self.end.ended_by
        named = number in [*signal.Signals]  # a real-time signal has no name
        return f"ended by {signal.Signals(number).name if named else f'signal {number}'}"


def rung(text: str) -> Any:
    if is_rung(f"N{text}"):
        raise ArgumentTypeError(
            f"{text} is not a rung: write N{text}, which waits {text} times at most"
        )
    if not is_rung(text):
        raise ArgumentTypeError(f"{text} is not a rung: give one of N0 to N20, or FOREVER")
    return vars(rungs)[text]


def is_rung(text: str) -> bool:
    return text == "FOREVER" or text in {f"N{number}" for number in range(rungs.DEEPEST + 1)}


def names_a_rung(words: list[str], dashes: bool) -> bool:
    """Return whether `words` name a rung, not a program; `dashes`: whether `--` follows them.

    >>> names_a_rung(["--on", "75", "N3"], True), names_a_rung(["jobs:copy"], True)
    (True, False)
    """
    number = any(word.isdecimal() for word in words[:1])
    return number or any(map(is_rung, words)) or (dashes and not any(":" in one for one in words))


def statuses(text: str) -> frozenset[int]:
    """Parse exit statuses: numbers, ranges, names of signals, or `any`.

    >>> sorted(statuses("75,1-3,SIGKILL"))
    [1, 2, 3, 75, 137]
    """
    found: set[int] = set()
    for part in map(str.strip, text.split(",")):
        first, dash, last = part.partition("-")
        if part == "any":
            more = range(1, HIGHEST + 1)
        elif part in signal.Signals.__members__:
            more = range(128 + signal.Signals[part], 129 + signal.Signals[part])
        else:
            more = range(failed_status(first), failed_status(last if dash else first) + 1)
        if not more or not more[0]:
            raise ArgumentTypeError(
                f"{text}: give exit statuses, 1 to {HIGHEST}, such as 75 or 1-10,75,SIGKILL; or any"
            )
        found |= {*more}
    return frozenset(found)


def failed_status(text: str) -> int:
    """Parse one exit status; return 0 if `text` is not the status of a failure."""
    number = int(text) if text.isdecimal() and len(text) <= len(str(HIGHEST)) else 0
    return number if number <= HIGHEST else 0


def add_options(parser: Parser) -> None:
    commands = parser.add_argument_group("options for a shell command")
    commands.add_argument(
        "--on",
        type=statuses,
        metavar="STATUSES",
        help="the exit statuses that are retried, such as 75 or 1-10,75,SIGKILL, or any "
        f"(default: 1-125 without {', '.join(map(str, sorted(PERMANENT - {126, 127})))})",
    )


def run(args: Namespace, command: tuple[str, ...]) -> int:
    if not command:
        named = rungs.name_of(rungs.reflect(args.what))
        print(f"give the command: ixbackoff run {named} -- COMMAND ...", file=sys.stderr)
        return WRONG
    if not hasattr(os, "posix_spawnp"):
        print("ixbackoff run RUNG -- COMMAND needs a POSIX system.", file=sys.stderr)
        return WRONG
    retried: frozenset[int] = args.on or TRANSIENT

    def on(failure: Exception) -> bool:
        end = failure.end if isinstance(failure, CommandFailed) else None
        return end is not None and end.asked_by is None and end.status in retried

    program = (
        at(args.what).retry(Shell(command), on=on).named(printable(os.path.basename(command[0])))
    )
    try:
        with logged():
            program.run(
                live() | Shell.handled_by(execute), schedule=args.schedule, within=args.within
            )
    except KeyboardInterrupt:  # in a wait
        return end_by(signal.SIGINT)
    except CommandFailed as failure:
        end = failure.end
        if end.asked_by is None and end.status not in retried:
            print(f"{program._name}: {failure} is not retried; see --on.", file=sys.stderr)
        return status_of(end)
    except NotStarted as failure:
        print(printable(str(failure)), file=sys.stderr)
        return failure.status
    except DeadlineExceeded:  # the log reports it
        return LATE
    return 0


def execute(command: Shell) -> None:
    end = performed(command.words, time_limit())
    if end.late:
        raise TimeoutError
    if end.status:
        raise CommandFailed(end)


def status_of(end: ChildEnd) -> int:
    """Return the exit status; if we were asked to end, end by the signal that ended the child."""
    if end.asked_by is not None and end.ended_by is not None:
        return end_by(end.ended_by)
    return end.status
