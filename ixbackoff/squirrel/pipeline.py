"""The pipeline as a program: the commands that keep a resource, in order.

A try that finds no current copy (no hit) claims a new key in the index, and uploads the resource to
it. Then one transaction makes this key the current one, unless another squirrel was faster. So the
store has the object of each entry in the index, even if squirrels die or are late, as
`tests/squirrel/test_explored.py` shows.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .. import N3, Delay, Do, Log, NotReady, Program, Upload, Z, at, attempt
from .commands import (
    Claim,
    Copy,
    Doom,
    Fetch,
    Forget,
    GetETag,
    ListObjects,
    Look,
    Remove,
    Resource,
    Stored,
    Swap,
)

Clearing: TypeAlias = Doom | Remove | Forget
Row: TypeAlias = GetETag | ListObjects | Look | Fetch | Claim | Upload | Swap | Clearing | Log


class Places(NamedTuple):
    """A store, the name of the store in the index (without secrets), and a folder for files."""

    store: str
    place: str
    folder: str


class Kept(NamedTuple):
    """The result for a kept resource; a hit if the copy existed already."""

    copy: Copy
    hit: bool


@attempt
def keep(resource: Resource, places: Places) -> Do[Row, Kept]:
    """Keep a copy of the resource, and remove the objects that other squirrels left."""
    store, place, folder = places
    etag = yield from GetETag(resource)
    yield from Log(f"got etag {etag} for resource {resource}")
    # List first, then look: a key is claimed before its object is uploaded, so a listed object that
    # has no claim and no entry afterwards will never have an entry.
    objects = yield from ListObjects(resource, store)
    copy, claims, beginning = yield from Look(resource, place)
    yield from Log(f"got copy {copy}")
    expected = None if copy is None else copy.key
    mine = [key for key, _ in objects if key.startswith(beginning)]
    strays = [key for key in mine if key != expected and key not in claims]
    whole = None if copy is None else Stored(copy.key, copy.size)
    if copy is not None and copy.etag == etag is not None and whole in objects:
        yield from cleared(strays, claims, places)
        return Kept(copy, hit=True)
    brought = yield from Fetch(resource, etag, folder)
    key = yield from Claim(resource, place)
    yield from Upload(brought.path, f"{store}/{key}")
    made = Copy(key, brought.etag, brought.size)
    yield from Log(f"writing to the index: {resource}, etag {made.etag}")
    if not (yield from Swap(resource, place, expected, made)):
        yield from removed(key, places)
        raise NotReady(f"{resource}: another squirrel has stored a copy meanwhile")
    if expected is not None:
        yield from removed(expected, places)
    yield from cleared(strays, claims, places)
    return Kept(made, hit=False)


@attempt
def cleared(strays: list[str], claims: tuple[str, ...], places: Places) -> Do[Clearing, None]:
    """Remove the objects of `strays`, which have no claim; doom `claims`, and remove their objects.

    A squirrel that still uses a doomed key retries with a new key.
    """
    for key in strays:
        yield from Remove(key, places.store)
    for key in claims:
        if (yield from Doom(places.place, key)):
            yield from removed(key, places)


@attempt
def removed(key: str, places: Places) -> Do[Remove | Forget, None]:
    """Remove an object whose key can no longer become current, and then the claim to its key."""
    yield from Remove(key, places.store)
    yield from Forget(places.place, key)


def squirrel(resource: Resource, places: Places) -> Program[N3, Z, Kept, Row | Delay]:
    """Keep the resource; after a transient failure wait and retry, at most three times."""
    return at(N3).retry(keep(resource, places))
