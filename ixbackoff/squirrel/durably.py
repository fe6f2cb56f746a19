"""Running the squirrel with `--durable`: killed and started again, it goes on where it was."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from .._limits.observers import observed
from .._words.commands import Misuse
from ..durable import Engine
from ..durable.store import checked_database, file_of
from ..live import Connections, live
from .commands import Resource
from .copying import Handlers, answering
from .databases import cause_of
from .display import Display, Line
from .index import Index
from .jobs import Jobs
from .lasting import Runs, digest, recipe_for
from .logs import log_shown
from .naming import Wrong
from .passing import Passing
from .pipeline import Places as Passed
from .reporting import Report
from .running import (
    How,
    Places,
    how_of,
    index_opened,
    name_of,
    named,
    places_of,
    report_of,
    store_checked,
)
from .sealing import PREFIX
from .sqlite import is_in_memory, path_of
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
    resources = named(words)
    database = database_of(words.folder) if words.database is None else words.database
    report, places = report_of(words), lasting(places_of(words))
    display = Display(words.verbose, report.so_far)
    keep_durably(resources, places, checked(database), how_of(words), display, report)
    return 0 if report.well else 1


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
    in_memory = "store" if places.store.startswith("memory://") else "index"
    if in_memory == "store" or is_in_memory(places.index):
        raise ValueError(
            f"--durable needs what outlives the process, and the {in_memory} is in memory: give "
            f"another --{in_memory}."
        )
    return places


def place_of(url: str | Path) -> str:
    """Name a database, without user name, password and options.

    >>> place_of("postgresql://me:secret@localhost/runs"), place_of("sqlite://")
    ('localhost:5432/runs', 'memory')
    """
    if isinstance(url, Path) or url.startswith("sqlite"):
        return "memory" if is_in_memory(url) else str(Path(path_of(url)).absolute())
    parsed = make_url(url)
    at_host = f"{parsed.host}:{parsed.port or 5432}/" if parsed.host else ""
    return f"{at_host}{parsed.database}"


def keep_durably(
    resources: Iterable[Resource | Wrong],
    places: Places,
    database: str,
    how: How,
    display: Display,
    report: Report,
) -> None:
    """Keep these resources by durable runs, and print what became of them.

    A run is forgotten when the report was printed. Until then whoever is killed finds all that it
    needs for the same report.
    """
    with (
        log_shown(display),
        made(places.folder),
        store_checked(places),
        index_opened(places.index, how.schedule, display) as index,
        opened(places, index, database, how, display) as runs,
    ):
        jobs = Jobs(
            resources, name_of, lambda one: line_of(one, runs), report.take, report.stop, 0.0
        )
        try:
            display.begin()
            jobs.run(how.jobs)
            for number, line in enumerate(runs.others(), jobs.taken):
                report.take(number, line)
        finally:  # after Ctrl-C, too
            display.close()
            report.end()
        runs.forget()


def line_of(given: Resource | Wrong, runs: Runs) -> Line:
    """Keep a resource; return its line of the table."""
    if isinstance(given, Wrong):
        return Line(given.place, given.sentence, 0, 0.0, "")
    return runs.line(given)


@contextmanager
def opened(
    places: Places, index: Index, database: str, how: How, display: Display
) -> Generator[Runs]:
    """Perform the runs of these places while the block lasts.

    Raises:
        ValueError: the database cannot be used, or another process performs the runs in it.
    """
    place = place_of(database)
    recipe = recipe_for(f"{places.name} {place_of(places.index)}")
    home = places.folder / f"{PREFIX}{digest(place)}"
    with Connections() as connections:
        passing = Passing(connections, display.progress, early=places.in_folder)
        passed = Passed(places.store, places.name, str(home))
        runs = Runs(recipe, passed, how.schedule.base, how.within, passing, display)
        standard = live(connections=connections, stores=places.stores)
        handlers = Handlers(connections, places.stores, passing)
        interpreter = answering(standard, index, handlers).around(runs.perform)
        try:
            make_private(database)
            engine = Engine(interpreter, recipe, database=database, concurrency=how.jobs)
        except Misuse:
            raise ValueError(
                f"Another program performs the runs in {place}: wait for its end, or give another "
                "--database."
            ) from None
        except DBAPIError as error:
            raise ValueError(
                f"The runs cannot be kept in {place}: {cause_of(error.orig)}."
            ) from None
        except ConnectionError:
            raise ValueError(f"The runs cannot be kept in {place}: it cannot be opened.") from None
        with engine, observed(runs.told):
            runs.open(engine)
            yield runs


def make_private(database: str) -> None:
    """Make the file of a database so that nobody else can read it, as URLs have secrets."""
    if database.startswith("sqlite"):
        os.close(os.open(file_of(database), os.O_CREAT | os.O_RDWR, 0o600))
