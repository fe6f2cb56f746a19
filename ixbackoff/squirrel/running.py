"""Running the squirrel, for the resources of a command line or as a demonstration."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sqlalchemy.engine import URL

from .. import N3, Command, Delay, Exponential, at, call
from .._words.commands import Handler
from .._words.vocabulary import without_secrets
from ..live import live, s3_store, store_of
from .commands import Resource
from .copying import Parts, answering, copied
from .demo import RESOURCES, WHAT_HAPPENS, origin
from .display import Display, Line, show
from .index import Index
from .logs import log_shown
from .workplace import made, workplace

if TYPE_CHECKING:
    from obstore.store import ObjectStore

STORE = re.compile(r"(file://(localhost)?/+[^/?#]|memory://|s3://[^/@?#]+($|/))[^?#]*")


@dataclass(frozen=True)
class Places:
    """The places of the store, the index and the temporary files.

    Attributes:
        store: the URL of the object store, without a slash at its end.
        stores: stores that are open already, by their URLs.
        index: the URL of the index.
        folder: the folder for temporary files.
        endpoint: the URL of the S3 service, if it is named.
    """

    store: str
    stores: dict[str, ObjectStore]
    index: str | URL
    folder: Path
    endpoint: str | None = None


def kept(words: Namespace) -> int:
    """Keep the resources that the command line names, and return the exit status.

    Raises:
        ValueError: a URL on the command line cannot be used; the error says which and why.
        OSError: a folder cannot be written to.
        IndexBroken: the index cannot be used.
        IndexUnavailable: the index cannot be reached.
        ImportError: a package is missing; the error says what to install.
    """
    resources = [Resource(url) for url in words.urls]
    schedule = Exponential(base=1.0 if words.base is None else words.base)
    lines = keep_all(resources, places_of(words), schedule, Display(words.verbose))
    return 0 if all(line.kept for line in lines) else 1


def demonstrated(words: Namespace) -> int:
    """Run the demonstration, and return 0 if all resources are hits the second time."""
    schedule = Exponential(base=0.1 if words.base is None else words.base)
    print(WHAT_HAPPENS, "", "The first time:", sep="\n", flush=True)
    with TemporaryDirectory(prefix="squirrel-") as name, origin() as place:
        resources = [Resource(place.url + path) for path in RESOURCES]
        places = places_in(Path(name))
        first = keep_all(resources, places, schedule, Display(words.verbose))
        print("The second time:", flush=True)
        second = keep_all(resources, places, schedule, Display(words.verbose))
    return 0 if all(line.kept for line in first) and all(line.hit for line in second) else 1


def places_in(folder: Path) -> Places:
    """Put the store, the index and the temporary files into one folder."""
    index = URL.create("sqlite", database=str(folder / "index.sqlite"))
    return Places((folder / "objects").as_uri(), {}, index, folder)


def places_of(words: Namespace) -> Places:
    """Take the places from the command line; those that it does not name are in its folder.

    Raises:
        ValueError: the store or its endpoint cannot be used.
    """
    places = places_in(words.folder.absolute())
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
        places = replace(places, index=words.index)
    scheme, _, rest = places.store.partition("://")
    if scheme == "s3":
        bucket = rest.partition("/")[0]
        places.stores[f"s3://{bucket}"] = s3_store(bucket, endpoint=words.endpoint)
        places = replace(places, endpoint=words.endpoint)
    elif words.endpoint:
        raise ValueError("--endpoint needs a store in S3: give --store s3://bucket/prefix.")
    return places


def keep_all(
    resources: Iterable[Resource], places: Places, schedule: Exponential, display: Display
) -> list[Line]:
    """Keep these resources, one after the other, and print a table of the results."""
    lines: list[Line] = []
    standard = live(progress=display.progress, stores=places.stores)
    try:
        with (
            log_shown(display),
            workplace(places.folder) as work,
            store_checked(places),
            index_opened(places.index, schedule, display) as index,
        ):
            parts = Parts(answering(standard, index), places.store, work, schedule, display)
            for resource in resources:
                lines.append(copied(resource, parts))  # noqa: PERF401
    finally:  # after Ctrl-C, too
        if lines:
            show(lines)
    return lines


@contextmanager
def store_checked(places: Places) -> Generator[None]:
    """Open the store before the block, so that a store that cannot be used is found at once."""
    parts = urlsplit(places.store)
    with made(Path(unquote(parts.path))) if parts.scheme == "file" else nullcontext():
        store_of(f"{places.store}/key", places.stores)
        yield


def index_opened(url: str | URL, schedule: Exponential, display: Display) -> Index:
    """Open the index; while it is not available, wait and try again."""

    def shown(command: Command[Any], handler: Handler) -> Any:
        if isinstance(command, Delay):
            display.wait("index", command)
        return handler(command)

    return at(N3).retry(call(Index, url)).run(live().around(shown), schedule=schedule)
