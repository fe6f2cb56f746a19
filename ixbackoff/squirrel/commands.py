"""Commands that the squirrel adds to the standard ones, and the values of their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from .._words.commands import Command
from .._words.standard_commands import without_secrets


@dataclass(frozen=True, repr=False)
class Resource:
    """A web resource, by its URL; `str` and `repr` leave out its secrets, such as a query."""

    url: str

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ValueError(
                f"{str(self)!r} is not a URL such as http://host/path or https://host/path."
            )

    @property
    def name(self) -> str:
        """The UUID (version 5) of the URL without user name, password and fragment."""
        parts = urlsplit(self.url)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")
        return str(uuid5(NAMESPACE_URL, plain.geturl()))

    def __str__(self) -> str:
        return without_secrets(self.url)

    def __repr__(self) -> str:
        return f"Resource({str(self)!r})"


class Copy(NamedTuple):
    """A copy of a resource in the index; `etag` is the ETag sent with its bytes, or `None`."""

    key: str
    etag: str | None
    size: int


class Stored(NamedTuple):
    """An object in the store, with its size in bytes."""

    key: str
    size: int


class IndexEntry(NamedTuple):
    """The entry of a resource in the index."""

    copy: Copy | None  # the current copy, if there is one
    claims: tuple[str, ...]  # keys of objects being added or removed, also by squirrels that died
    beginning: str  # the common prefix of all keys that this index claims for the resource


class Brought(NamedTuple):
    """A fetched file; `etag` is the ETag sent with its bytes, or `None`."""

    path: str
    etag: str | None
    size: int


@dataclass(frozen=True)
class GetETag(Command[str | None]):
    """Ask the web server for the ETag of a resource; `None` if the server sends none."""

    resource: Resource


@dataclass(frozen=True)
class Fetch(Command[Brought]):
    """Fetch the missing bytes of a resource into a file, which stays until the program ends.

    A complete file with the ETag `etag` is not fetched again.
    """

    resource: Resource
    etag: str | None
    folder: str


@dataclass(frozen=True, repr=False)
class ListObjects(Command[tuple[Stored, ...]]):
    """List the objects of a resource in the store at this URL."""

    resource: Resource
    store: str

    def __repr__(self) -> str:
        return f"ListObjects({self.resource!r}, {without_secrets(self.store)!r})"


@dataclass(frozen=True, repr=False)
class Remove(Command[None]):
    """Remove an object from the store at this URL, if it exists."""

    key: str
    store: str

    def __repr__(self) -> str:
        return f"Remove({self.key!r}, {without_secrets(self.store)!r})"


@dataclass(frozen=True)
class Look(Command[IndexEntry]):
    """Look up the entry of a resource in the index, for the store named `place`."""

    resource: Resource
    place: str


@dataclass(frozen=True)
class Claim(Command[str]):
    """Claim a new key for an object of the resource: record the claim in the index."""

    resource: Resource
    place: str


@dataclass(frozen=True)
class Swap(Command[bool]):
    """Make `copy` the current copy in the index, and end the claim to its key.

    The former key gets a doomed claim (see `Doom`). Answer whether `copy` is current now. Nothing
    changes if `copy` was current already, if the current key is not `expected`, or if the claim to
    the key of `copy` is missing or doomed.
    """

    resource: Resource
    place: str
    expected: str | None
    copy: Copy


@dataclass(frozen=True)
class Doom(Command[bool]):
    """Doom a claim, so that its key cannot be swapped in; `False` if the claim does not exist."""

    place: str
    key: str


@dataclass(frozen=True)
class Forget(Command[None]):
    """Remove a claim from the index."""

    place: str
    key: str
