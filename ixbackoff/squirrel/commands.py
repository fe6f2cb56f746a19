"""The commands that the squirrel adds to the standard ones."""

from __future__ import annotations

from dataclasses import dataclass
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
        parts = urlsplit(self.url)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")
        return str(uuid5(NAMESPACE_URL, plain.geturl()))

    def __str__(self) -> str:
        return without_secrets(self.url)

    def __repr__(self) -> str:
        return f"Resource({str(self)!r})"


class Copy(NamedTuple):
    """The place of a copy.

    Attributes:
        bucket: the URL of the object store.
        key: the key of the object in it.
    """

    bucket: str
    key: str


@dataclass(frozen=True)
class GetETag(Command[str | None]):
    """Ask the web server for the ETag of a resource; `None` if it does not give one."""

    resource: Resource


@dataclass(frozen=True)
class FindCopy(Command[Copy | None]):
    """Look up in the index where the resource is kept with this ETag."""

    resource: Resource
    etag: str


@dataclass(frozen=True)
class GenerateUUID(Command[str]):
    """Generate the name of a resource in the store, the same one for each retry."""

    resource: Resource


@dataclass(frozen=True)
class RecordCopy(Command[None]):
    """Write to the index where the resource is kept with this ETag, over its former entry."""

    resource: Resource
    etag: str | None
    copy: Copy
