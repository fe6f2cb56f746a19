"""Object stores, found by their URLs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, MutableMapping
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from .._words.commands import Misuse
from .._words.extras import LIVE, needed
from .._words.standard_commands import without_secrets
from .allowed_addresses import check_port
from .limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from obstore.store import ObjectStore, S3Store

STAGED = re.compile("#[0-9]+$")
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def store_of(
    url: str, stores: MutableMapping[str, ObjectStore], limits: Limits = DEFAULT_LIMITS
) -> tuple[ObjectStore, str]:
    """Return the object store that a URL names, and the key in it.

    >>> store, key = store_of("memory:///folder/key", {})
    >>> key
    'folder/key'

    Args:
        url: `file:///folder/key`, `memory:///key`, `s3://bucket/key`, or a URL that begins with one
            of `stores`.
        stores: stores by the beginnings of their URLs; the longest beginning wins. The store in
            memory is added when it is first used.
        limits: the time-outs, in seconds, of a store on the network.

    Raises:
        ValueError: the URL names no store, or no allowed key.
        OSError: the folder cannot be made.
        ImportError: obstore is not installed.
    """
    shown = without_secrets(url)
    begin = max((prefix for prefix in stores if begins(url, prefix)), key=len, default=None)
    if begin is not None:
        return stores[begin], checked_key(url[len(begin) :], shown)
    path = file_of(url, stores)
    if path is not None:
        folder, key = os.path.split(path)
        check_free(key, shown)
        with needed("Upload", "live", LIVE):
            from obstore.store import LocalStore

            from .folders import make
        make(folder)
        return LocalStore(folder), key
    scheme, _, rest = url.partition("://")
    place, _, key = rest.partition("/")
    if scheme == "memory":
        with needed("Upload", "live", LIVE):
            from obstore.store import MemoryStore
        return stores.setdefault("memory://", MemoryStore()), checked_key(rest, shown)
    if scheme == "s3" and place:
        key = checked_key(key, shown)
        return s3_store(place, limits=limits), key
    raise ValueError(
        f"{shown!r} does not name a store: give file:///folder/key, memory:///key or "
        "s3://bucket/key."
    )


def s3_store(
    bucket: str, *, endpoint: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> S3Store:
    """Open a bucket of S3 or of a service that speaks its protocol, by the usual AWS variables.

    The store does not retry by itself: that is left to the program.

    >>> s3_store("nuts", endpoint="http://localhost:9000").config["bucket"]
    'nuts'

    Args:
        bucket: the name of the bucket.
        endpoint: the `http://` or `https://` URL of the service; by default that in the variable
            `AWS_ENDPOINT_URL_S3`, else `AWS_ENDPOINT_URL`, else `AWS_ENDPOINT`, or else AWS.
        limits: the time-outs, in seconds.

    Raises:
        ValueError: the endpoint does not begin with `http://` or `https://`, or has a wrong port.
        ImportError: obstore is not installed.
    """
    with needed("s3://", "live", LIVE):
        from obstore.store import S3Store
    endpoint = endpoint or next(
        (os.environ[name] for name in ENDPOINTS if os.environ.get(name)), ""
    )
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise ValueError(
            f"The S3 endpoint {without_secrets(endpoint)!r} does not begin with http:// or https://."
        )
    if endpoint:
        check_port(port_of(endpoint), without_secrets(endpoint))
    return S3Store(
        bucket,
        config={"endpoint": endpoint} if endpoint else None,
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=limits.connect_timeout),
            "timeout": timedelta(seconds=limits.part_timeout),
        },
        retry_config={"max_retries": 0},
    )


def port_of(endpoint: str) -> int | None:
    """Return the port that a URL names, even one above 65535, or `None`."""
    port = urlsplit(endpoint).netloc.rpartition("]")[2].rpartition("@")[2].partition(":")[2]
    return int(port) if port.isdecimal() else None


def file_of(url: str, stores: Collection[str]) -> str | None:
    """Return the path that a `file:///` URL names, unless it begins with one of `stores`.

    >>> file_of("file:///folder/a%20b", ()), file_of("memory:///folder/a", ())
    ('/folder/a b', None)
    """
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    if scheme != "file" or place not in ("", "localhost"):
        return None
    if any(begins(url, prefix) for prefix in stores):
        return None
    return "/" + checked_key(unquote(path), without_secrets(url))


def check_free(name: str, shown: str) -> None:
    """Raise ValueError if a name in a folder is reserved for files that are being written."""
    if STAGED.search(name):
        raise ValueError(
            f"{shown}: in a folder, names that end in # and a number are for unfinished files: "
            "give another name."
        )


def begins(url: str, prefix: str) -> bool:
    return url.startswith(prefix) and (prefix.endswith("/") or url[len(prefix) :][:1] == "/")


def checked_key(key: str, shown: str) -> str:
    key = key.lstrip("/")
    if not key:
        raise ValueError(f"{shown} names a store but not a key: add /key.")
    if not {"", ".", ".."}.isdisjoint(key.split("/")):
        raise ValueError(f"{shown}: remove the empty parts, and '.' and '..', from the key.")
    return key


def folder_of(store: ObjectStore) -> str | None:
    with needed("Upload", "live", LIVE):
        from obstore.store import LocalStore
    return os.path.abspath(store.prefix or os.sep) if isinstance(store, LocalStore) else None


PROCESSES: list[int] = []
"""The process that first used the store library, if any; forked children inherit this list."""


def check_process() -> None:
    """Raise Misuse in a process forked after the store library was used: the library would hang."""
    process = os.getpid()
    if not PROCESSES:
        PROCESSES.append(process)
    if process not in PROCESSES:
        raise Misuse(
            "This process was forked from one that has used object stores, and cannot use them: "
            'start it with the method "spawn" or "forkserver", or upload to a folder (file://).'
        )
