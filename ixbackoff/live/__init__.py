"""Interpreters that carry out the standard commands over HTTP, files and object stores."""

from __future__ import annotations

from collections.abc import Mapping

from .._words.extras import LIVE, needed
from .._words.wrong_arguments import explain_arguments
from .allowed_addresses import public_only
from .connections import Connections, connections_of
from .errors import RedirectError, StoreError, TooLarge
from .interpreters import live, live_async
from .limits import Deadline, Limits
from .reserved_turns import (
    turns,
    turns_in_postgresql,
    turns_in_postgresql_async,
    turns_in_redis,
    turns_in_redis_async,
)
from .store_urls import s3_store, store_of

__all__ = [
    "Connections",
    "Limits",
    "RedirectError",
    "StoreError",
    "TooLarge",
    "live",
    "live_async",
    "public_only",
    "response_headers",
    "response_headers_async",
    "s3_store",
    "store_of",
    "turns",
    "turns_in_postgresql",
    "turns_in_postgresql_async",
    "turns_in_redis",
    "turns_in_redis_async",
]

explain_arguments(globals(), ("live", "live_async", "Limits", "Connections"))


def response_headers(
    url: str, *, limits: Limits | None = None, connections: Connections | None = None
) -> Mapping[str, str]:
    """Send a `HEAD` request and return the headers of the response, for commands of your own.

    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/page": b"acorn"}) as origin:
    ...     response_headers(f"{origin.url}/page")["content-length"]
    '5'

    Args:
        url: an `http://` or `https://` URL; redirects are followed.
        limits: the time-outs, in seconds, and the other bounds; by default those of `connections`.
        connections: shared connections; by default new ones, which are closed at the end.

    Returns:
        The headers; their names may be given in upper or lower case.

    Raises:
        Exception: the failures of `Download`, without those that concern its file, its size, or the
            statuses 202, 204 and 205.
    """
    shared = connections_of(limits, connections)
    deadline = Deadline(shared.limits)
    with needed("response_headers", "live", LIVE):
        from . import web_requests
    try:
        return web_requests.head(url, shared, deadline)
    finally:
        if shared is not connections:
            shared.close()


async def response_headers_async(
    url: str, *, limits: Limits | None = None, connections: Connections | None = None
) -> Mapping[str, str]:
    """Do what `response_headers` does, under asyncio or trio.

    >>> import asyncio
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/page": b"acorn"}) as origin:
    ...     asyncio.run(response_headers_async(f"{origin.url}/page"))["content-length"]
    '5'
    """
    shared = connections_of(limits, connections)
    deadline = Deadline(shared.limits)
    with needed("response_headers_async", "live", LIVE):
        from . import web_requests
    return await web_requests.head_async(url, shared, deadline)
