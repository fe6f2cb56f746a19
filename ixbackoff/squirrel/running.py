"""Running the squirrel, for the resources of a command line or as a demonstration."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from .. import N3, Command, Delay, Exponential, at, call
from .._words.commands import Handler
from .._words.vocabulary import without_secrets
from ..live import Connections, live, s3_store, store_of
from ..live.stores import file_of
from .commands import Resource
from .copying import Handlers, Parts, answering, copied
from .display import Display, Line
from .index import Index
from .jobs import Jobs
from .logs import log_shown
from .naming import Wrong, resources_in
from .origins import Budgets
from .passing import Passing
from .pipeline import Places as Passed
from .processors import Processors
from .reporting import Report
from .sqlite import is_in_memory
from .workplace import made, workplace

if TYPE_CHECKING:
    from obstore.store import ObjectStore

STORE = re.compile(r"(file://(localhost)?/+[^/?#]|memory://|s3://[^/@?#]+($|/))[^?#]*")


@dataclass(frozen=True)
class Places:
    """The places of the store, the index and the files that are on their way.

    Attributes:
        store: the URL of the object store, without a slash at its end.
        stores: stores that are open already, by their URLs.
        index: the URL of the index, or the file that it is in.
        folder: the folder for files.
        endpoint: the URL of the S3 service, if it is not AWS's.
    """

    store: str
    stores: dict[str, ObjectStore]
    index: str | Path
    folder: Path
    endpoint: str = ""

    @property
    def in_folder(self) -> bool:
        """`True` if the store is a folder."""
        return self.store.startswith("file:")

    @property
    def name(self) -> str:
        """The name of the store in the index: an object elsewhere is another one."""
        name = without_secrets(self.store)
        return f"{name} at {without_secrets(self.endpoint)}" if self.endpoint else name


@dataclass(frozen=True)
class How:
    """How resources are kept.

    Attributes:
        schedule: the lengths of the waits.
        within: the seconds that each resource has.
        jobs: how many are kept at the same time.
    """

    schedule: Exponential
    within: float
    jobs: int


def kept(words: Namespace) -> int:
    """Keep the resources that the command line names, and return the exit status.

    Raises:
        ValueError: a URL on the command line cannot be used; the error says which and why.
        OSError: a folder cannot be written to.
        IndexBroken: the index cannot be used.
        IndexUnavailable: the index cannot be reached.
        ImportError: a package is missing; the error says what to install.
    """
    report = report_of(words)
    display = Display(words.verbose, report.so_far)
    keep_all(named(words), places_of(words), how_of(words), display, report)
    return 0 if report.well else 1


def report_of(words: Namespace) -> Report:
    """Return a report in a table, or line by line for the resources of a file."""
    if words.input is None:
        return Report(total=len(words.urls))
    return Report(table=False)


def named(words: Namespace) -> Iterator[Resource | Wrong]:
    """Return the resources that the command line names; those of a file are read as they come.

    Raises:
        ValueError: a URL of the command line is not one.
    """
    given = [Resource(url) for url in words.urls]
    return chain(given, () if words.input is None else resources_in(words.input))


def how_of(words: Namespace, base: float = 1.0) -> How:
    """Take from the command line how resources are kept."""
    first = base if words.base is None else words.base
    return How(Exponential(base=first), words.within, words.jobs)


def places_in(folder: Path) -> Places:
    """Put the store, the index and the files that are on their way into one folder."""
    return Places((folder / "objects").as_uri(), {}, folder / "index.sqlite", folder)


def places_of(words: Namespace) -> Places:
    """Take the places from the command line; those that it does not name are in its folder.

    Raises:
        ValueError: the store or its endpoint cannot be used.
    """
    places = places_in(words.folder.absolute())
    in_memory = False
    if words.store:
        if not STORE.fullmatch(words.store):
            shown = without_secrets(words.store)
            raise ValueError(
                f"{shown!r} does not name a store: give file:///folder, memory:// or s3://bucket/prefix."
            )
        in_memory = words.store.startswith("memory://")
        places = replace(
            places,
            store=words.store if words.store.endswith("://") else words.store.rstrip("/"),
            index="sqlite://" if in_memory else places.index,
        )
    if words.index:
        if in_memory and not is_in_memory(words.index):
            raise ValueError(
                "The store is in memory and the index is not, so it would tell of objects that are "
                "gone: leave out --index, or give another --store."
            )
        places = replace(places, index=words.index)
    return opened(places, words.endpoint)


def opened(places: Places, endpoint: str | None) -> Places:
    """Return places with an open store, where that is one for all threads.

    Raises:
        ValueError: the endpoint cannot be used.
    """
    scheme, _, rest = places.store.partition("://")
    if scheme == "s3":
        bucket = rest.partition("/")[0]
        store = s3_store(bucket, endpoint=endpoint)
        places.stores[f"s3://{bucket}"] = store
        return replace(places, endpoint=store.config.get("endpoint", ""))
    if endpoint:
        raise ValueError("--endpoint needs a store in S3: give --store s3://bucket/prefix.")
    if scheme == "memory":
        store_of("memory:///key", places.stores)  # adds it
    return places


def keep_all(
    resources: Iterable[Resource | Wrong],
    places: Places,
    how: How,
    display: Display,
    report: Report,
) -> None:
    """Keep these resources, several at the same time, and print what became of them."""
    stop, processors = report.stop, Processors()
    try:
        display.begin()
        with (
            log_shown(display),
            workplace(places.folder) as work,
            store_checked(places),
            processors.shared() if how.jobs > 1 and places.in_folder else nullcontext(),
            index_opened(places.index, how.schedule, display) as index,
            Connections() as connections,
        ):
            in_folder = places.in_folder
            passing = Passing(connections, display.progress, in_folder, processors)
            standard = live(connections=connections, stores=places.stores)
            passed = Passed(places.store, places.name, str(work))

            def has(resource: Resource) -> bool:
                return passing.has(resource, passed.folder) or index.has(resource, passed.place)

            handlers = Handlers(connections, places.stores, passing, has)
            interpreter = answering(standard, index, handlers)
            parts = Parts(
                interpreter, passed, passing, how.schedule, how.within, Budgets(), stop, display
            )
            jobs = Jobs(resources, name_of, lambda one: line_of(one, parts), report.take, stop)
            jobs.run(how.jobs)
    finally:  # after Ctrl-C, too
        display.close()
        report.end()


def name_of(given: Resource | Wrong) -> str:
    """Return what is the same for two that must not be kept at the same time."""
    return given.name if isinstance(given, Resource) else given.place


def line_of(given: Resource | Wrong, parts: Parts) -> Line:
    """Keep a resource; return its line of the table."""
    if isinstance(given, Wrong):
        return Line(given.place, given.sentence, 0, 0.0, "")
    return copied(given, parts)


@contextmanager
def store_checked(places: Places) -> Generator[None]:
    """Open the store before the block, so that a store that cannot be used is found at once."""
    parts = urlsplit(places.store)
    with made(Path(unquote(parts.path))) if places.in_folder else nullcontext():
        if file_of(f"{places.store}/key", places.stores) is None:
            store_of(f"{places.store}/key", places.stores)
        yield


def index_opened(url: str | Path, schedule: Exponential, display: Display) -> Index:
    """Open the index; while it is not available, wait and try again."""

    def open_index() -> Index:
        return Index(url)

    def shown(command: Command[Any], handler: Handler) -> Any:
        if isinstance(command, Delay):
            display.wait("index", command)
        return handler(command)

    return at(N3).retry(call(open_index)).run(live().around(shown), schedule=schedule)
