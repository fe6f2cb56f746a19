"""Running the squirrel: over the resources of a command line, or as a demonstration."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .. import Exponential
from ..live import live, s3_store, store_of
from .commands import Resource
from .copying import Parts, answering, copied
from .demo import RESOURCES, WHAT_HAPPENS, origin
from .display import Display, Line, show
from .index import Index
from .workplace import workplace

if TYPE_CHECKING:
    from obstore.store import ObjectStore

S3 = "s3://"


def kept(words: Namespace) -> int:
    """Keep the resources that the command line names; the exit status.

    Raises:
        ValueError: a URL or a number on the command line is of no use; it says which and why.
        OSError: a folder cannot be written to.
        IndexBroken: the index cannot be used.
        IndexUnavailable: the index cannot be reached.
    """
    resources = [Resource(url) for url in words.urls]
    schedule = Exponential(base=1.0 if words.base is None else words.base)
    folder = words.folder.absolute()
    store = (words.store or (folder / "objects").as_uri()).rstrip("/")
    index = words.index or f"sqlite:///{folder / 'index.sqlite'}"
    stores: dict[str, ObjectStore] = {}
    if words.endpoint:
        bucket = store.removeprefix(S3).partition("/")[0]
        if not store.startswith(S3) or not bucket:
            raise ValueError("--endpoint is for --store s3://bucket/prefix.")
        stores[S3 + bucket] = s3_store(bucket, endpoint=words.endpoint)
    store_of(f"{store}/key", stores)  # what is wrong with the store is said before anything is done
    lines = keep_all(resources, store, stores, index, folder, schedule)
    return 0 if all(line.kept for line in lines) else 1


def demonstrated(words: Namespace) -> int:
    """Keep five resources of an origin that fails, twice; 0 if the second time all are hits."""
    schedule = Exponential(base=0.1 if words.base is None else words.base)
    print(WHAT_HAPPENS)
    with TemporaryDirectory(prefix="squirrel-") as name, origin() as place:
        folder = Path(name)
        resources = [Resource(place.url + path) for path in RESOURCES]
        store, index = (folder / "objects").as_uri(), f"sqlite:///{folder / 'index.sqlite'}"
        first = keep_all(resources, store, {}, index, folder, schedule)
        second = keep_all(resources, store, {}, index, folder, schedule)
    return 0 if all(line.kept for line in first) and all(line.hit for line in second) else 1


def keep_all(
    resources: Iterable[Resource],
    store: str,
    stores: dict[str, ObjectStore],
    index: str,
    folder: Path,
    schedule: Exponential,
) -> list[Line]:
    """Keep these resources, one after the other, and show what became of them."""
    lines: list[Line] = []
    with workplace(folder) as work, Index(index) as rows, Display() as display:
        standard = live(progress=display.progress, stores=stores)
        parts = Parts(answering(standard, rows), store, work, schedule, display)
        try:
            for resource in resources:
                lines.append(copied(resource, parts))  # noqa: PERF401
        finally:  # what was kept before Ctrl-C is shown, too
            show(lines)
    return lines
