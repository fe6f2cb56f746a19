"""The command line: `python -m ixbackoff.squirrel URL...`."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Never

from .._commandline import INTERRUPTED, WRONG, Parser

PACKAGES = ("httpx2", "obstore", "rich")
LONGEST = 86_400.0
WITHIN = 900.0
JOBS, MOST_JOBS = 8, 256


def seconds(text: str) -> float:
    """Parse a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= LONGEST:
        raise ArgumentTypeError(f"{text} is not a time: give seconds, above 0, a day at most")
    return number


def number(text: str) -> int:
    """Parse the number of jobs."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise ArgumentTypeError(f"{text} is not a number of jobs: give 1 to {MOST_JOBS}")
    return int(text)


def parsed(arguments: list[str] | None) -> Namespace:
    """Parse the command line."""
    parser = Parser(
        prog="python -m ixbackoff.squirrel",
        description="Keep copies of web resources in an object store, and an index of them. A "
        "resource whose ETag is in the index is not copied again. A failure that may pass is tried "
        "again after a wait, at most three times, and no wait is shorter than the one before.",
        epilog="Exit status: 0 if all resources are kept, 1 if not, 2 if the command is wrong.",
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="an http:// or https:// resource")
    add_places(parser)
    add_ways(parser)
    parser.add_argument(
        "--demo",
        action="store_true",
        help="copy five resources, twice, from an origin on loopback that fails as real ones do",
    )
    add_durable(parser)
    parser.add_argument("--verbose", action="store_true", help="show what the program logs")
    words = parser.parse_args(arguments)
    check_together(parser, words)
    if words.jobs is None:
        words.jobs = 1 if words.demo else JOBS
    if words.within is None:
        words.within = LONGEST if words.durable else WITHIN
    return words


def check_together(parser: Parser, words: Namespace) -> None:
    """Refuse options that do not go together."""
    if words.demo == bool(words.urls or words.input is not None):
        parser.error("give the URLs of the resources, or --input, or --demo without any")
    if words.demo and words.durable:
        parser.error("--durable goes on with URLs of your own, and the origin of --demo ends")
    if words.database is not None and not words.durable:
        parser.error("--database is for --durable")


def add_places(parser: Parser) -> None:
    """Add where things are."""
    parser.add_argument(
        "--store",
        metavar="URL",
        help="where copies are kept: file:///folder, memory://, s3://bucket/prefix with the usual "
        "AWS variables (default: the folder objects in --folder)",
    )
    parser.add_argument(
        "--endpoint", metavar="URL", help="of an S3 service other than AWS's, for s3:// stores"
    )
    parser.add_argument(
        "--index",
        metavar="URL",
        help="the list of what is kept: sqlite:///file, postgresql+psycopg://user@host/database "
        "(default: the file index.sqlite in --folder; in memory for a store in memory)",
    )
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        type=Path,
        default=Path("squirrel"),
        help="for temporary files, and by default for the store and the index "
        "(default: %(default)s)",
    )


def add_ways(parser: Parser) -> None:
    """Add which resources are kept, and how."""
    parser.add_argument(
        "--input",
        metavar="FILE",
        help="a file with one URL a line, - for the standard input; blank lines and those that "
        "begin with # are left out. One line is printed for each resource once it is over: result, "
        "URL, tries, seconds waited, key",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=number,
        help="how many resources are kept at the same time; equal ones are kept one after the "
        f"other (default: {JOBS}; with --demo 1)",
    )
    parser.add_argument(
        "--within",
        metavar="SECONDS",
        type=seconds,
        help="the time that a resource has in all, tries, waits and downloads; a wait that would "
        f"end later is not begun (default: {WITHIN:g}; with --durable {LONGEST:g}, and the time in "
        "which no process runs counts)",
    )
    parser.add_argument(
        "--base",
        metavar="SECONDS",
        type=seconds,
        help="the first wait; the next ones take twice and four times as long "
        "(default: 1; with --demo 0.1)",
    )


def add_durable(parser: Parser) -> None:
    """Add what goes on after a crash."""
    parser.add_argument(
        "--durable",
        action="store_true",
        help="go on where a killed squirrel was, when the same command is given again: nothing "
        "that was answered in a try is asked again in it, and no wait is shortened",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="with --durable, where runs are kept until they end: sqlite:///file, "
        "postgresql://user@host/database (default: the file runs.sqlite in --folder)",
    )


def main(arguments: list[str] | None = None) -> int:
    """Keep the resources that the command line names, and return the exit status."""
    words = parsed(arguments)
    try:
        return run(words)
    except KeyboardInterrupt:
        if words.durable:  # a download in another thread would hold it up for long
            print(
                "Interrupted; give the same command again to go on where it was.", file=sys.stderr
            )
            leave(INTERRUPTED)  # a durable run may be killed at any moment
        print("Interrupted; what was kept until now is in the index.", file=sys.stderr)
        return INTERRUPTED


def leave(status: int) -> Never:
    """End the process at once: to take its modules apart costs as much as ten resources."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads it any more
        sys.exit(status)
    os._exit(status)


@contextmanager
def uncollected() -> Generator[None]:
    """Import in this block without the collector: all that is made there stays."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


def run(words: Namespace) -> int:
    """Do what `main` does, and let an interruption through."""
    packages, extras = [*PACKAGES], "squirrel"
    if words.durable:
        packages, extras = [*PACKAGES, "dbos"], "squirrel,durable"
    if missing := [package for package in packages if find_spec(package) is None]:
        names = ", ".join(missing)
        print(f"Not installed: {names}; pip install 'ixbackoff[{extras}]'.", file=sys.stderr)
        return WRONG
    with uncollected():
        from .index import IndexBroken, IndexUnavailable
        from .running import kept
        from .texts import plain

    try:
        if words.durable:
            from .durably import kept_durably

            return kept_durably(words)
        if words.demo:
            from .demo import demonstrated

            return demonstrated(words)
        return kept(words)
    except OSError as error:
        where = f"{error.filename} cannot be used ({error.strerror}): give a folder to write to."
        print(plain(where if error.filename else f"{error}"), file=sys.stderr)
    except (ValueError, ImportError, IndexBroken, IndexUnavailable) as error:
        print(plain(f"{error}"), file=sys.stderr)
    return WRONG


if __name__ == "__main__":
    # A library would load trio wherever it is installed, which takes longer than all of this.
    loaded: dict[str, Any] = sys.modules
    loaded.setdefault("trio", None)
    status = main()
    if status == INTERRUPTED:  # a job may still be at work
        sys.exit(status)
    leave(status)
