"""`python -m ixbackoff run N4 -- COMMAND`: a command of the shell, on a ladder."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentTypeError, Namespace
from typing import Any

from .._commandline import WRONG, Parser, number
from .._limits.deadlines import time_limit
from .._words import nat
from .._words.commands import Command
from .._words.failures import DeadlineExceeded, Transient
from .._writing.programs import at
from ..live import live
from ..schedules.kinds import powers_of_two
from . import finding
from .run_log import logged
from .children import ChildEnd, NotStarted, end_by, performed

LATE = 124
"""The status when the time is over, as that of timeout(1)."""
HIGHEST = 255
LASTING = frozenset({2, 64, 65, 66, 67, 70, 72, 73, 77, 78, 126, 127})
"""Statuses that another try would not change: wrong usage and, of `sysexits.h`, what lasts."""
PASSING = frozenset(range(1, 128)) - LASTING
"""Statuses that are tried again unless `--on` says otherwise."""


class Shell(Command[None]):
    """Run a command of the shell, with our standard input, output and error."""

    __slots__ = ("words",)

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words


class ShellFailure(Transient):
    """The command failed: its status is not 0."""

    def __init__(self, ended: ChildEnd) -> None:
        super().__init__(ended)
        self.ended = ended

    def __str__(self) -> str:
        if self.ended.ended_by is None:
            return f"exit status {self.ended.status}"
        return f"ended by {signal.Signals(self.ended.ended_by).name}"


def rung(text: str) -> Any:
    """Read a rung.

    >>> from ixbackoff import N3
    >>> rung("N3") is N3
    True

    Raises:
        ArgumentTypeError: it is not one.
    """
    if not is_rung(text):
        raise ArgumentTypeError(f"{text} is not a rung: give one of N0 to N20, or FOREVER")
    return vars(nat)[text]


def is_rung(text: str) -> bool:
    """Return true for the name of a rung."""
    return text == "FOREVER" or text in {f"N{number}" for number in range(nat.DEEPEST + 1)}


def statuses(text: str) -> frozenset[int]:
    """Read exit statuses: numbers, ranges, names of signals, or `any`.

    >>> sorted(statuses("75,1-3,SIGKILL"))
    [1, 2, 3, 75, 137]

    Raises:
        ArgumentTypeError: they are not exit statuses of failures.
    """
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if part.strip() == "any":
            found |= {*range(1, HIGHEST + 1)}
        elif first in signal.Signals.__members__ and not last:
            found.add(128 + signal.Signals[first])
        elif first.isdecimal() and (last or first).isdecimal():
            found |= {*range(int(first), int(last or first) + 1)}
        else:
            found.add(0)
    if not found or min(found) < 1 or max(found) > HIGHEST:
        raise ArgumentTypeError(
            f"{text}: give exit statuses, 1 to {HIGHEST}, such as 75 or 1-10,75,SIGKILL; or any"
        )
    return frozenset(found)


def parsed(words: list[str]) -> Namespace:
    """Parse the command line before `--`."""
    parser = Parser(
        prog="python -m ixbackoff run",
        usage="python -m ixbackoff run RUNG [options] -- COMMAND ...",
        description="Run a command of the shell, and again while it fails, with longer and longer "
        "waits. The exit status is that of its last try.",
    )
    parser.add_argument("rung", type=rung, help="how many waits there can be: N4 for five tries")
    parser.add_argument(
        "--on",
        type=statuses,
        default=PASSING,
        metavar="STATUSES",
        help="the exit statuses that are tried again, such as 75 or 1-10,75,SIGKILL, or any "
        f"(default: 1-125 without {', '.join(map(str, sorted(LASTING - {126, 127})))})",
    )
    parser.add_argument(
        "--within",
        type=number(0.001, 1e9),
        metavar="SECONDS",
        help=f"the seconds that it has in all; what is running then is ended, with status {LATE}",
    )
    parser.add_argument(
        "--schedule",
        type=finding.schedule,
        default=powers_of_two,
        metavar="MODULE:SCHEDULE",
        help="the seconds of the waits (default: 1, 2, 4, ...)",
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Run a command on a ladder; its last exit status."""
    dashes = words.index("--") if "--" in words else len(words)
    args, command = parsed(words[:dashes]), tuple(words[dashes + 1 :])
    if not command:
        print(f"give the command: run {words[0]} -- COMMAND ...", file=sys.stderr)
        return WRONG
    if not hasattr(os, "posix_spawnp"):
        print("run RUNG -- COMMAND needs a POSIX system.", file=sys.stderr)
        return WRONG

    def chosen(failure: Exception) -> bool:
        ended = failure.ended if isinstance(failure, ShellFailure) else None
        return ended is not None and ended.told is None and ended.status in args.on

    program = at(args.rung).retry(Shell(command), on=chosen).named(os.path.basename(command[0]))
    try:
        with logged():
            program.run(
                live() | Shell.handled_by(execute), schedule=args.schedule, within=args.within
            )
    except KeyboardInterrupt:  # in a wait
        return end_by(signal.SIGINT)
    except ShellFailure as failure:
        ended = failure.ended
        if ended.told is None and ended.status not in args.on:
            print(f"{program._name}: {failure} is not tried again; see --on.", file=sys.stderr)
        return status_of(failure)
    except NotStarted as failure:
        print(failure, file=sys.stderr)
        return failure.status
    except DeadlineExceeded:  # which is logged
        return LATE
    return 0


def execute(command: Shell) -> None:
    """Run a command to its end.

    Raises:
        NotStarted: it cannot be run.
        ShellFailure: its status is not 0.
        TimeoutError: its time was over.
    """
    ended = performed(command.words, time_limit())
    if ended.late:
        raise TimeoutError
    if ended.status:
        raise ShellFailure(ended)


def status_of(failure: ShellFailure) -> int:
    """The exit status of the last try; a signal that was passed on and ended it ends us as well."""
    ended = failure.ended
    if ended.told is not None and ended.ended_by is not None:
        return end_by(ended.ended_by)
    return ended.status
