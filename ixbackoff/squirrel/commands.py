"""The commands that the squirrel adds to the standard ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from .._words.commands import Command
from .._words.vocabulary import without_secrets


@dataclass(frozen=True, repr=False)
class Resource:
    """A web resource, by its URL. It is shown without user name, password and query.

    >>> Resource("https://me:secret@localhost/nuts?token=x")
    Resource('https://localhost/nuts')

    Raises:
        ValueError: the URL is not an `http://` or `https://` one with a host and a usable port.
    """

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
        return name_of(self.url)

    def __str__(self) -> str:
        return without_secrets(self.url)

    def __repr__(self) -> str:
        return f"Resource({str(self)!r})"


@lru_cache(maxsize=1024)
def name_of(url: str) -> str:
    """Return the UUID (version 5) of a URL without user name, password and fragment."""
    parts = urlsplit(url)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")
    return str(uuid5(NAMESPACE_URL, plain.geturl()))


class Copy(NamedTuple):
    """A copy of a resource, as the index knows it.

    Attributes:
        key: the key of the object in the store.
        etag: the ETag that came with its bytes, if any.
        size: how many bytes it has.
    """

    key: str
    etag: str | None
    size: int


class Stored(NamedTuple):
    """An object in the store.

    Attributes:
        key: its key.
        size: how many bytes it has.
    """

    key: str
    size: int


class Entry(NamedTuple):
    """The entry of a resource in the index.

    Attributes:
        copy: the copy that is kept, if there is one.
        claims: keys of objects that are on their way in or out, or were left by somebody who died.
        beginning: the beginning of all keys of the resource that this index has or had.
    """

    copy: Copy | None
    claims: tuple[str, ...]
    beginning: str


class Brought(NamedTuple):
    """A file that was fetched.

    Attributes:
        path: where it is.
        etag: the ETag that came with its bytes, if any.
        size: how many bytes it has.
    """

    path: str
    etag: str | None
    size: int


@dataclass(frozen=True)
class GetETag(Command[str | None]):
    """Ask the web server for the ETag of a resource; `None` if it does not give one."""

    resource: Resource


@dataclass(frozen=True)
class Fetch(Command[Brought]):
    """Fetch what is missing of a resource into a file, which stays until the program has ended.

    Attributes:
        etag: the ETag that the resource has now, if it has one: a file that came with this one is
            not fetched again.
        folder: where the file is.
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
    """Remove an object from the store at this URL, if it is there."""

    key: str
    store: str

    def __repr__(self) -> str:
        return f"Remove({self.key!r}, {without_secrets(self.store)!r})"


@dataclass(frozen=True)
class Look(Command[Entry]):
    """Look up in the index what is kept of a resource in this place, and what is claimed."""

    resource: Resource
    place: str


@dataclass(frozen=True)
class Claim(Command[str]):
    """Claim a new key for an object of the resource, and write the claim to the index."""

    resource: Resource
    place: str


@dataclass(frozen=True)
class Swap(Command[bool]):
    """Write to the index that this copy is the one that is kept; the claim to its key ends.

    It is done, and answered with true, only if the key that is kept is still the one that is
    expected, and the claim stands and is not doomed. The former key is a doomed claim from then on.
    """

    resource: Resource
    place: str
    expected: str | None
    copy: Copy


@dataclass(frozen=True)
class Doom(Command[bool]):
    """Doom a claim: its key can never be swapped in. The answer says whether there is the claim."""

    place: str
    key: str


@dataclass(frozen=True)
class Forget(Command[None]):
    """Remove a claim from the index."""

    place: str
    key: str
