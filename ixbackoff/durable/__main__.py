"""The command line: `python -m ixbackoff.durable runs`, and `show`, `pause` and so on of a run."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .._commandline import FAILED, INTERRUPTED, WRONG, Parser, whole
from .._running.sleeping import blocking
from .._words.commands import Misuse
from .engine import DATABASE
from .looking import Look, clock, commands, look
from .store import Store, checked_database, file_of

VARIABLE = "IXBACKOFF_DATABASE"
MOST = 10_000
AGAIN = 1.0  # seconds
CLEAR = "\x1b[2J\x1b[H"
WIDEST = 60  # characters of a column


class Answer(NamedTuple):
    """The answer of a command.

    Attributes:
        rows: as JSON.
        columns: which of it the table shows.
        failed: what went wrong, if anything.
    """

    rows: list[dict[str, Any]]
    columns: tuple[str, ...] = ()
    failed: str = ""


def runs(store: Store, words: Namespace) -> Answer:
    """List the last runs that were begun."""
    looks = [look(store, run) for run in store.recent(words.limit)]
    columns = ("run", "recipe", "began", "rung", "waits", "state", "worker")
    return Answer([one._asdict() for one in looks if one is not None], columns)


def show(store: Store, words: Namespace) -> Answer:
    """Show the commands of a run."""
    found = look(store, words.id)
    if found is None:
        return unknown(words.id)
    rows = [one._asdict() for one in commands(store, words.id)]
    now = {"place": "now", "shown": found.state, "came": ""}
    return Answer([*rows, now], ("place", "shown", "came"))


def pause(store: Store, words: Namespace) -> Answer:
    """Perform nothing more of a run until it is resumed."""
    return changed(store, words.id, store.pause)


def resume(store: Store, words: Namespace) -> Answer:
    """Go on with a run that was paused, or whose program diverged."""
    found = look(store, words.id)
    if found is not None and not store.resume(words.id):
        return Answer([], failed=f"Run {words.id} cannot be resumed: it is {found.state}.")
    return changed(store, words.id, lambda run: None)


def cancel(store: Store, words: Namespace) -> Answer:
    """Cancel a run, which cleans up and never goes on."""
    return changed(store, words.id, store.cancel)


def forget(store: Store, words: Namespace) -> Answer:
    """Delete a run that has ended, and its journal."""
    found = look(store, words.id)
    if found is None:
        return unknown(words.id)
    if not store.forget(words.id):
        return Answer([], failed=f"Run {words.id} goes on: cancel it before it is forgotten.")
    return Answer([found._replace(state="forgotten")._asdict()], ("run", "state"))


def changed(store: Store, run: str, change: Callable[[str], None]) -> Answer:
    """Change a run, and tell its state."""
    if look(store, run) is None:
        return unknown(run)
    change(run)
    found: Look | None = look(store, run)
    return unknown(run) if found is None else Answer([found._asdict()], ("run", "state"))


def unknown(run: str) -> Answer:
    return Answer([], failed=f"There is no run {run}.")


WORDS: dict[str, Callable[[Store, Namespace], Answer]] = {
    "runs": runs,
    "show": show,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "forget": forget,
}


def parsed(arguments: list[str] | None) -> Namespace:
    """Parse the command line."""
    parser = Parser(prog="python -m ixbackoff.durable", description="Look at durable runs.")
    parser.add_argument(
        "--database",
        default=os.environ.get(VARIABLE, DATABASE),
        metavar="URL",
        help=f"where the runs are; by default ${VARIABLE}, or {DATABASE}",
    )
    parser.add_argument("--watch", action="store_true", help="once a second, until Ctrl-C")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    words = parser.add_subparsers(dest="word", required=True, metavar="COMMAND")
    for name, function in WORDS.items():
        word = words.add_parser(name, help=function.__doc__)
        if name == "runs":
            word.add_argument("--limit", type=whole(1, MOST), default=20, metavar="N")
        else:
            word.add_argument("id", metavar="ID")
    return parser.parse_args(arguments)


def table(answer: Answer) -> str:
    """Write the rows as a table."""
    lines = [list(answer.columns)]
    lines += [[cell(name, row[name]) for name in answer.columns] for row in answer.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(f"{text:{width}}" for text, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join(line.rstrip() for line in padded)


def cell(name: str, value: Any) -> str:
    """Write one cell of the table."""
    if name == "began":
        return clock(value)
    text = "-" if value is None else f"N{value}" if name == "rung" else str(value)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def opened(database: str) -> Store:
    """Open the runs in a database.

    Raises:
        Misuse: the URL is wrong, its file does not exist, or a newer DBOS made it.
        ConnectionError: the database cannot be reached.
    """
    sqlite = checked_database(database).startswith("sqlite")
    path = file_of(database)
    if sqlite and not Path(path).exists():
        raise Misuse(f"There is no file {path}: give --database, or begin a run there.")
    return Store(database)


def main(arguments: list[str] | None = None) -> int:
    """Do what the words say; return the status of the process."""
    words = parsed(arguments)
    try:
        store = opened(words.database)
    except (Misuse, ConnectionError) as error:
        print(error, file=sys.stderr)
        return WRONG
    try:
        while True:
            answer = WORDS[words.word](store, words)
            if answer.failed:
                print(answer.failed, file=sys.stderr)
                return FAILED
            as_json = words.output_format == "json"
            text = json.dumps(answer.rows) if as_json else table(answer)
            print(f"{CLEAR}{text}" if words.watch and not as_json else text, flush=True)
            if not words.watch:
                return 0
            blocking()(AGAIN)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        store.close()


if __name__ == "__main__":
    sys.exit(main())
