"""Keeping resources with `--durable`: a squirrel that was killed resumes when started again."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from .._limits.observers import observed
from .._words.commands import Misuse
from ..durable import Engine
from ..durable.store import checked_database, file_of
from ..durable.worker_liveness import FileTaken
from ..live import Connections
from ..live.safe_removal import own_folder
from .chosen_storage import Storage, opened_index, storage_of, store_checked
from .commands import Resource
from .database_interface import cause_of
from .durable_workflow import Runs, digest, workflow_for
from .fetched_files import FetchedFiles, made
from .file_seals import PREFIX
from .handlers import Handlers, answering
from .index import Index
from .inputs import BadLine, name_of, resources_of
from .keep_all import Options, line_of, options_of, summary_of
from .pipeline import Places
from .progress_display import Display, log_shown
from .sqlite import is_in_memory, path_of
from .summary import Summary
from .worker_threads import Jobs

FILE = "runs.sqlite"


def keep_named_durably(args: Namespace) -> int:
    """Do the same as `keep_named`, but by durable runs."""
    resources = resources_of(args)
    database = database_of(args.folder) if args.database is None else args.database
    summary, storage = summary_of(args), lasting(storage_of(args))
    display = Display(args.verbose, summary.progress)
    keep_durably(resources, storage, checked(database), options_of(args), display, summary)
    return 0 if summary.well else 1


def database_of(folder: Path) -> str:
    path = str(folder.absolute() / FILE)
    return "sqlite:///" + path.replace("%", "%25").replace("?", "%3F")


def checked(database: str) -> str:
    """Return `database` if its URL is of a kind that can store runs; raise ValueError otherwise."""
    try:
        return checked_database(database)
    except Misuse:
        raise ValueError(
            "The database of the runs needs a URL: sqlite:///runs.sqlite or "
            "postgresql://user@host/database."
        ) from None


def lasting(storage: Storage) -> Storage:
    """Return `storage` if it outlives the process; raise ValueError otherwise."""
    in_memory = "store" if storage.store.startswith("memory://") else "index"
    if in_memory == "store" or is_in_memory(storage.index):
        raise ValueError(
            f"--durable needs storage that outlives the process, but the {in_memory} is in memory: "
            f"give another --{in_memory}."
        )
    return storage


def place_of(url: str | Path) -> str:
    """Return the name of a database, without user name, password and options.

    >>> place_of("postgresql://me:secret@localhost/runs"), place_of("sqlite://")
    ('localhost:5432/runs', 'memory')
    """
    if isinstance(url, Path) or url.startswith("sqlite"):
        return "memory" if is_in_memory(url) else str(Path(path_of(url)).absolute())
    parsed = make_url(url)
    at_host = f"{parsed.host}:{parsed.port or 5432}/" if parsed.host else ""
    return f"{at_host}{parsed.database}"


def keep_durably(
    resources: Iterable[Resource | BadLine],
    storage: Storage,
    database: str,
    options: Options,
    display: Display,
    summary: Summary,
) -> None:
    """Keep resources by durable runs, print the summary, and forget the runs.

    If a squirrel is killed before it forgets the runs, the next squirrel prints their lines again.
    """
    with (
        log_shown(display),
        made(storage.folder),
        store_checked(storage),
        opened_index(storage.index, options.schedule, display) as index,
        opened_runs(storage, index, database, options, display) as runs,
    ):
        keep, stop = partial(line_of, runs.line), summary.stop
        jobs = Jobs(resources, name_of, keep, summary.take, stop, ending=0.0)
        try:
            jobs.run(options.jobs)
            for number, line in enumerate(runs.others(), jobs.read):
                summary.take(number, line)
        finally:  # after Ctrl-C, too
            display.close()
            summary.end()
        runs.forget()


@contextmanager
def opened_runs(
    storage: Storage, index: Index, database: str, options: Options, display: Display
) -> Generator[Runs]:
    """Perform the runs of this storage during the block; raise ValueError if that is impossible."""
    place = place_of(database)
    workflow = workflow_for(f"{storage.name} {place_of(storage.index)}")
    home = storage.folder / f"{PREFIX}{digest(place)}"
    with Connections() as connections:
        files = FetchedFiles(connections, display.progress)
        places = Places(storage.store, storage.name, str(home))
        runs = Runs(workflow, places, options.schedule.base, options.within, files, display)
        handlers = Handlers(connections, storage.stores, files)
        interpreter = answering(index, handlers).around(runs.perform)
        with suppress(FileNotFoundError), own_folder(home):
            pass  # check the folder before the engine resumes runs, which write to it
        try:
            make_private(database)
            engine = Engine(interpreter, workflow, database=database, concurrency=options.jobs)
        except FileTaken:
            raise ValueError(
                f"Another process performs the runs in {place}: wait for its end, or give another "
                "--database."
            ) from None
        except Misuse as error:
            raise ValueError(f"{error}") from None
        except (DBAPIError, ConnectionError) as error:
            cause = cause_of(error.orig) if isinstance(error, DBAPIError) else "it cannot be opened"
            raise ValueError(f"The runs cannot be stored in {place}: {cause}.") from None
        try:
            with engine, observed(runs.observe):
                runs.open(engine)
                yield runs
        finally:
            runs.abort()  # otherwise the end of the process waits for downloads in threads


def make_private(database: str) -> None:
    """Create a missing database file, readable by this user only: URLs contain secrets."""
    if database.startswith("sqlite"):
        os.close(os.open(file_of(database), os.O_CREAT | os.O_RDWR, 0o600))
