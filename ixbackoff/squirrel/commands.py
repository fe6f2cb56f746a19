"""The commands that the squirrel has beside the standard ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from .._words.commands import Command
from .._words.vocabulary import without_secrets


@dataclass(frozen=True, repr=False)
class Resource:
    """What is kept, by its URL. It shows itself without user name, password and query.

    >>> Resource("https://me:secret@localhost/nuts?token=x")
    Resource('https://localhost/nuts')

    Raises:
        ValueError: the URL is no http(s) one, or its host or port is of no use.
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
                f"{str(self)!r} is no URL such as http://host/path or https://host/path."
            )

    @property
    def name(self) -> str:
        """The resource's UUID (version 5), of its URL without who asks and without the fragment."""
        parts = urlsplit(self.url)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")
        return str(uuid5(NAMESPACE_URL, plain.geturl()))

    def __str__(self) -> str:
        return without_secrets(self.url)

    def __repr__(self) -> str:
        return f"Resource({str(self)!r})"


class Copy(NamedTuple):
    """Where a copy is kept.

    Attributes:
        bucket: the store.
        key: the object in it.
    """

    bucket: str
    key: str


@dataclass(frozen=True)
class GetETag(Command[str | None]):
    """Ask the origin for the resource's ETag, as it stands; `None` if it gives none."""

    resource: Resource


@dataclass(frozen=True)
class FindCopy(Command[Copy | None]):
    """Look up in the index where the resource with this ETag is kept."""

    resource: Resource
    etag: str


@dataclass(frozen=True)
class GenerateUUID(Command[str]):
    """The resource's name in the store: always the same one, so that a retry orphans nothing."""

    resource: Resource


@dataclass(frozen=True)
class RecordCopy(Command[None]):
    """Write to the index where the resource with this ETag is kept, for what stood there."""

    resource: Resource
    etag: str | None
    copy: Copy
