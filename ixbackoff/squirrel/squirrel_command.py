"""The command line: `ixbackoff squirrel URL...`."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from .._argument_parser import INTERRUPTED, WRONG, Parser, duration, open_streams, whole
from .._words.extras import INSTALL

PACKAGES = ("httpx2", "obstore", "rich")
SHORTEST, LONGEST = 0.001, 86_400.0
WITHIN = 900.0
JOBS, MOST_JOBS = 8, 256
NO_THREAD = "can't start new thread"  # the message of Python's `RuntimeError`

SECONDS = duration(SHORTEST, LONGEST)


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog="ixbackoff squirrel",
        description="Keep copies of web resources in an object store, and an index of them. A "
        "resource whose ETag is in the index, and whose copy exists, is not copied again. After a "
        "transient failure the squirrel waits and retries, at most three times, and no wait is "
        "shorter than the previous one.",
        epilog="Exit status: 0 if all resources are kept, 1 if not, 2 if the command cannot be "
        "carried out (a wrong option or --input, no index, no folder), 130 after Ctrl-C.",
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="an http:// or https:// resource")
    add_storage(parser)
    add_limits(parser)
    parser.add_argument(
        "--demo",
        action="store_true",
        help="keep five resources, twice, from an origin on loopback that fails like a real one",
    )
    add_durable(parser)
    parser.add_argument("--verbose", action="store_true", help="show the log of the program")
    args = parser.parse_args(arguments)
    check_together(parser, args)
    if args.jobs is None:
        args.jobs = 1 if args.demo else JOBS
    if args.within is None:
        args.within = LONGEST if args.durable else WITHIN
    return args


def check_together(parser: Parser, args: Namespace) -> None:
    if args.demo == bool(args.urls or args.input is not None):
        parser.error("give the URLs of the resources, or --input, or --demo without URLs")
    if args.demo and args.durable:
        parser.error("--durable is for URLs of your own: the origin of --demo cannot be resumed")
    if args.database is not None and not args.durable:
        parser.error("--database is for --durable")


def add_storage(parser: Parser) -> None:
    parser.add_argument(
        "--store",
        metavar="URL",
        help="the object store: file:///folder, memory://, s3://bucket/prefix with the usual AWS "
        "variables (default: the folder objects in --folder)",
    )
    parser.add_argument(
        "--endpoint", metavar="URL", help="an S3 service other than AWS's, for s3:// stores"
    )
    parser.add_argument(
        "--index",
        metavar="URL",
        help="the index of the copies: sqlite:///file, postgresql+psycopg://user@host/database "
        "(default: the file index.sqlite in --folder; in memory for a store in memory)",
    )
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        type=Path,
        default=Path("squirrel"),
        help="the folder for unfinished downloads, and by default for the store and the index "
        "(default: %(default)s)",
    )


def add_limits(parser: Parser) -> None:
    parser.add_argument(
        "--input",
        metavar="FILE",
        help="a file with one URL a line, - for the standard input; blank lines and lines that "
        "begin with # are ignored. Each resource prints one line as soon as it is done: result, "
        "URL, tries, seconds waited, key",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=whole(1, MOST_JOBS),
        help="the number of resources to keep concurrently; a repeated URL waits for the first one "
        f"(default: {JOBS}; with --demo 1)",
    )
    parser.add_argument(
        "--within",
        metavar="SECONDS",
        type=SECONDS,
        help="the time for the tries, waits and downloads of a resource, in seconds or as 5m, 1h; "
        f"a wait that would end later does not begin (default: {WITHIN:g}; with "
        f"--durable {LONGEST:g}, including the time without a running process)",
    )
    parser.add_argument(
        "--base",
        metavar="SECONDS",
        type=SECONDS,
        help="the first wait, in seconds; the next ones take twice and four times as long, and "
        "longer if a server asks for that (default: 1; with --demo 0.1)",
    )


def add_durable(parser: Parser) -> None:
    parser.add_argument(
        "--durable",
        action="store_true",
        help="resume where a killed squirrel was, if the same command is given again: answered "
        "requests are not repeated, and no wait is shortened",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help="with --durable, where runs are stored until they end: sqlite:///file, "
        "postgresql://user@host/database (default: the file runs.sqlite in --folder)",
    )


def main(arguments: list[str] | None = None) -> int:
    open_streams()
    args = parsed(arguments)
    try:
        return run(args)
    except KeyboardInterrupt:
        advice = "the index has the resources that were kept before."
        if args.durable:
            advice = "give the same command again to resume."
        print(f"Interrupted; {advice}", file=sys.stderr)
        return INTERRUPTED


def run(args: Namespace) -> int:
    packages, extras = [*PACKAGES], "squirrel"
    if args.durable:
        packages, extras = [*PACKAGES, "dbos"], "squirrel,durable"
    if missing := [package for package in packages if find_spec(package) is None]:
        names = ", ".join(missing)
        print(f"Not installed: {names}; {INSTALL.format(extras)}.", file=sys.stderr)
        return WRONG
    from .index import IndexBroken, IndexUnavailable
    from .keep_all import keep_named
    from .one_line_text import plain

    try:
        if args.durable:
            from .durably import keep_named_durably

            return keep_named_durably(args)
        if args.demo:
            from .demo import demonstrate

            return demonstrate(args)
        return keep_named(args)
    except OSError as error:
        where = f"{error.filename} cannot be used ({error.strerror}): give a folder to write to."
        print(plain(where if error.filename else f"{error}"), file=sys.stderr)
    except (ValueError, ImportError, IndexBroken, IndexUnavailable) as error:
        print(plain(f"{error}"), file=sys.stderr)
    except RuntimeError as error:
        if NO_THREAD not in f"{error}":
            raise
        print(
            "The system starts no more threads: give fewer --jobs, or raise the limit of memory "
            "(ulimit -v) or of processes (ulimit -u).",
            file=sys.stderr,
        )
    return WRONG
