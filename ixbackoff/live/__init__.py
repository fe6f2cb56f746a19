"""The real world: interpreters for the standard commands, over HTTP, files and object stores."""

from __future__ import annotations

from collections.abc import Mapping

from .extras import needed
from .interpreters import live, live_async
from .limits import DEFAULT_LIMITS, Limits
from .refusals import RedirectError, StoreError, TooLarge
from .stores import s3_store, store_of
from .times import Deadline

__all__ = [
    "Limits",
    "RedirectError",
    "StoreError",
    "TooLarge",
    "live",
    "live_async",
    "response_headers",
    "response_headers_async",
    "s3_store",
    "store_of",
]


def response_headers(url: str, *, limits: Limits = DEFAULT_LIMITS) -> Mapping[str, str]:
    """The headers with which a web server answers `HEAD`: for commands of your own.

    Args:
        url: `http://` or `https://`; redirects are followed.
        limits: its time-outs, and how many redirects are followed.

    Returns:
        From a header's name, in upper or lower case, to its value.

    Raises:
        Exception: what `Download` raises, in the same cases.
    """
    deadline = Deadline(limits)
    with needed("response_headers"):
        from . import http
    return http.head(url, limits, deadline)


async def response_headers_async(url: str, *, limits: Limits = DEFAULT_LIMITS) -> Mapping[str, str]:
    """As `response_headers`, under asyncio and trio."""
    deadline = Deadline(limits)
    with needed("response_headers_async"):
        from . import http
    return await http.head_async(url, limits, deadline)
