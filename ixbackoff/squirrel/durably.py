"""Running the squirrel with `--durable`: killed and started again, it goes on where it was."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from .. import Exponential
from .._limits.observers import observed
from .._words.commands import Misuse
from ..durable import Engine
from ..durable.store import checked_database, file_of
from ..live import live
from .commands import Resource
from .copying import answering
from .display import Display, Line, show
from .index import Index, cause_of
from .lasting import Runs, digest, recipe_for
from .logs import log_shown
from .passing import PREFIX
from .running import Places, index_opened, places_of, store_checked
from .workplace import made

FILE = "runs.sqlite"


def kept_durably(words: Namespace) -> int:
    """Keep the resources that the command line names by durable runs; return the exit status.

    Raises:
        ValueError: the command line names what cannot be used; the error says which and why.
        OSError: a folder cannot be written to.
        IndexBroken: the index cannot be used.
        IndexUnavailable: the index cannot be reached.
        ImportError: a package is missing; the error says what to install.
    """
    resources = [Resource(url) for url in words.urls]
    database = database_of(words.folder) if words.database is None else words.database
    base = 1.0 if words.base is None else words.base
    display = Display(words.verbose)
    lines = keep_durably(resources, lasting(places_of(words)), checked(database), base, display)
    return 0 if all(line.kept for line in lines) else 1


def database_of(folder: Path) -> str:
    """Return the URL of the database of runs in the squirrel's folder."""
    path = str(folder.absolute() / FILE)
    return "sqlite:///" + path.replace("%", "%25").replace("?", "%3F")


def checked(database: str) -> str:
    """Return the URL of a database in which runs can be.

    Raises:
        ValueError: it is not one.
    """
    try:
        return checked_database(database)
    except Misuse:
        raise ValueError(
            "The database of the runs is named by a URL: sqlite:///runs.sqlite or "
            "postgresql://user@host/database."
        ) from None


def lasting(places: Places) -> Places:
    """Return these places, if they outlive the process.

    Raises:
        ValueError: one is in memory.
    """
    try:
        index = place_of(places.index)
    except SQLAlchemyError:
        index = ""  # whoever opens it says what is wrong
    in_memory = "store" if places.store.startswith("memory://") else "index"
    if in_memory == "store" or index == MEMORY:
        raise ValueError(
            f"--durable needs what outlives the process, and the {in_memory} is in memory: give "
            f"another --{in_memory}."
        )
    return places


MEMORY = "memory"


def place_of(url: str | URL) -> str:
    """Name a database, without user name, password and options.

    >>> place_of("postgresql://me:secret@localhost/runs"), place_of("sqlite://")
    ('localhost:5432/runs', 'memory')
    """
    parsed = make_url(url)
    if parsed.host:
        return f"{parsed.host}:{parsed.port or 5432}/{parsed.database}"
    if not parsed.drivername.startswith("sqlite"):
        return str(parsed.database)
    in_memory = parsed.database in (None, "", ":memory:")
    return MEMORY if in_memory else str(Path(str(parsed.database)).absolute())


def keep_durably(
    resources: Iterable[Resource], places: Places, database: str, base: float, display: Display
) -> list[Line]:
    """Keep these resources by durable runs, one after the other, and print a table of the results.

    A run is forgotten when the table was printed. Until then whoever is killed finds all that it
    needs for the same table.
    """
    lines: list[Line] = []
    with (
        log_shown(display),
        made(places.folder),
        store_checked(places),
        index_opened(places.index, Exponential(base=base), display) as index,
        opened(places, index, database, base, display) as runs,
    ):
        try:
            for resource in resources:
                lines.append(runs.line(resource))  # noqa: PERF401
            lines += runs.others()
        finally:  # after Ctrl-C, too
            if lines:
                show(lines)
                sys.stdout.flush()
        runs.forget()
    return lines


@contextmanager
def opened(
    places: Places, index: Index, database: str, base: float, display: Display
) -> Generator[Runs]:
    """Perform the runs of these places while the block lasts.

    Raises:
        ValueError: the database cannot be used, or another process performs the runs in it.
    """
    place = place_of(database)
    recipe = recipe_for(f"{places.store} {places.endpoint or ''} {place_of(places.index)}")
    home = places.folder / f"{PREFIX}{digest(place)}"
    runs = Runs(recipe, places.store, home, base, index, display)
    standard = live(progress=display.progress, stores=places.stores)
    interpreter = answering(standard, index).around(runs.perform)
    try:
        make_private(database)
        engine = Engine(interpreter, recipe, database=database, concurrency=1)
    except Misuse:
        raise ValueError(
            f"Another program performs the runs in {place}: wait for its end, or give another "
            "--database."
        ) from None
    except DBAPIError as error:
        raise ValueError(f"The runs cannot be kept in {place}: {cause_of(error)}.") from None
    except ConnectionError:
        raise ValueError(f"The runs cannot be kept in {place}: it cannot be opened.") from None
    with engine, observed(runs.told):
        runs.open(engine)
        yield runs


def make_private(database: str) -> None:
    """Make the file of a database so that nobody else can read it, as URLs have secrets."""
    if database.startswith("sqlite"):
        os.close(os.open(file_of(database), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
