"""The pipeline as a program: the commands that keep a resource, in order."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .. import N3, Delay, Do, Download, Log, Program, Upload, Z, at, attempt
from .._words.vocabulary import without_secrets
from .commands import Copy, FindCopy, GenerateUUID, GetETag, RecordCopy, Resource

Row: TypeAlias = GetETag | FindCopy | GenerateUUID | RecordCopy | Download | Upload | Log


class Kept(NamedTuple):
    """The result for a resource that is kept.

    Attributes:
        copy: the place of the copy.
        hit: `True` if it was kept already.
    """

    copy: Copy
    hit: bool


@attempt
def keep(resource: Resource, store: str, folder: str) -> Do[Row, Kept]:
    """Copy the resource into the object store at `store`, by way of a file in `folder`."""
    bucket = without_secrets(store)
    etag = yield from GetETag(resource)
    yield from Log(f"got etag {etag} for resource {resource}")
    if etag is not None:
        known = yield from FindCopy(resource, etag)
        yield from Log(f"got copy {known}")
        if known is not None and known.bucket == bucket:
            return Kept(known, hit=True)
    key = yield from GenerateUUID(resource)
    path, copy = f"{folder}/{key}", Copy(bucket, key)
    yield from Download(resource.url, path)
    # The object is replaced before the index knows: until then, no ETag may be a hit.
    yield from RecordCopy(resource, None, copy)
    yield from Upload(path, f"{store}/{key}")
    yield from Log(f"writing to the index: {resource}, etag {etag}")
    yield from RecordCopy(resource, etag, copy)
    return Kept(copy, hit=False)


def squirrel(resource: Resource, store: str, folder: str) -> Program[N3, Z, Kept, Row | Delay]:
    """Keep the resource; after a transient failure wait, at most three times, and go on from there.

    >>> from ixbackoff import plan
    >>> resource = Resource("http://localhost/nuts")
    >>> print(plan(squirrel(resource, "memory://", "work")))
    rung  tries    then waits  if
    N3        1           1 s  failed
    N2        1           2 s  failed
    N1        1           4 s  failed
    N0        1             -
    at most 4 tries, 3 waits, 7 s
    commands: those of keep, which only the run tells
    """
    return at(N3).resume(keep(resource, store, folder))
