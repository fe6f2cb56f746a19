"""The command line: `ixbackoff durable runs`, and `show`, `pause` and so on for one run."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .._argument_parser import FAILED, INTERRUPTED, WRONG, Parser, whole
from .._running.sleeping import blocking_sleep
from .._words.commands import Misuse
from .engine import DATABASE
from .store import Store, checked_database, file_of
from .summaries import RunSummary, clock, commands, summaries, summary_of

VARIABLE = "IXBACKOFF_DATABASE"
MOST = 10_000
AGAIN = 1.0  # seconds between two listings of --watch
CLEAR = "\x1b[2J\x1b[H"
WIDEST = 60  # characters of a column


class Listing(NamedTuple):
    """The output of a command: rows, the keys of the columns to print, or an error message."""

    rows: list[dict[str, Any]]
    columns: tuple[str, ...] = ()
    failed: str = ""


def runs(store: Store, limit: int) -> Listing:
    """List the newest runs."""
    columns = ("run", "workflow", "began", "rung", "wait_count", "state", "worker")
    return Listing([one._asdict() for one in summaries(store, limit)], columns)


def show(store: Store, found: RunSummary) -> Listing:
    """Show the commands of a run."""
    rows = [one._asdict() for one in commands(store, found.run)]
    now = {"place": "now", "shown": found.state, "outcome": ""}
    return Listing([*rows, now], ("place", "shown", "outcome"))


def pause(store: Store, found: RunSummary) -> Listing:
    """Pause a run: it performs no further command until it is resumed."""
    store.pause(found.run)
    return changed(store, found.run)


def resume(store: Store, found: RunSummary) -> Listing:
    """Resume a run that is paused or stuck, or whose end could not be recorded."""
    if not store.resume(found.run):
        return Listing([], failed=f"Run {found.run} cannot be resumed: it is {found.state}.")
    return changed(store, found.run)


def cancel(store: Store, found: RunSummary) -> Listing:
    """Cancel a run for good; if a process performs it, its `finally` blocks run."""
    store.cancel(found.run)
    return changed(store, found.run)


def forget(store: Store, found: RunSummary) -> Listing:
    """Delete a run that has ended, and its journal."""
    if not store.forget(found.run):
        return Listing([], failed=f"Run {found.run} has not ended: cancel it first.")
    return Listing([found._replace(state="forgotten")._asdict()], ("run", "state"))


def changed(store: Store, run: str) -> Listing:
    found = summary_of(store, run)
    return unknown(run) if found is None else Listing([found._asdict()], ("run", "state"))


def unknown(run: str) -> Listing:
    return Listing([], failed=f"There is no run {run}.")


WORDS: dict[str, Callable[[Store, RunSummary], Listing]] = {
    "show": show,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "forget": forget,
}


def listed(store: Store, words: Namespace) -> Listing:
    if words.word == "runs":
        return runs(store, words.limit)
    found = summary_of(store, words.id)
    return unknown(words.id) if found is None else WORDS[words.word](store, found)


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(prog="ixbackoff durable", description="List and change durable runs.")
    parser.add_argument(
        "--database",
        default=os.environ.get(VARIABLE, DATABASE),
        metavar="URL",
        help=f"the database of the runs; by default ${VARIABLE}, or {DATABASE}",
    )
    parser.add_argument(
        "--watch", action="store_true", help="repeat the command once a second, until Ctrl-C"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    words = parser.add_subparsers(dest="word", required=True, metavar="COMMAND")
    newest = words.add_parser("runs", help=runs.__doc__)
    newest.add_argument("--limit", type=whole(1, MOST), default=20, metavar="N")
    for name, function in WORDS.items():
        words.add_parser(name, help=function.__doc__).add_argument("id", metavar="ID")
    return parser.parse_args(arguments)


def table(listing: Listing) -> str:
    lines = [list(listing.columns)]
    lines += [[cell(name, row[name]) for name in listing.columns] for row in listing.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(f"{text:{width}}" for text, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join(line.rstrip() for line in padded)


def cell(name: str, value: Any) -> str:
    if name == "began":
        return clock(value)
    text = "-" if value is None else f"N{value}" if name == "rung" else str(value)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def opened(database: str) -> Store:
    """Open the database of the runs; raise Misuse or ConnectionError if it cannot be used."""
    sqlite = checked_database(database).startswith("sqlite")
    path = file_of(database)
    if sqlite and not Path(path).exists():
        raise Misuse(f"There is no file {path}: give --database, or start a run there.")
    return Store(database)


def main(arguments: list[str] | None = None) -> int:
    words = parsed(arguments)
    try:
        store = opened(words.database)
    except (Misuse, ConnectionError) as error:
        print(error, file=sys.stderr)
        return WRONG
    try:
        while True:
            listing = listed(store, words)
            if listing.failed:
                print(listing.failed, file=sys.stderr)
                return FAILED
            as_json = words.output_format == "json"
            text = json.dumps(listing.rows) if as_json else table(listing)
            print(f"{CLEAR}{text}" if words.watch and not as_json else text, flush=True)
            if not words.watch:
                return 0
            blocking_sleep(AGAIN)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        store.close()
