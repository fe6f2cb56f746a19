"""Exceptions of live commands, and the failures that the statuses of web servers stand for."""

from __future__ import annotations

from collections.abc import Mapping

from .._words.failure_classes import ClientError, NotReady, ServerError, Throttled
from .._words.headers import retry_after

UNASKED = "which was not asked for"
REDIRECTIONS = {
    **dict.fromkeys((301, 302, 303, 307, 308), "a redirect without a target"),
    300: "a choice between several targets",
    304: UNASKED,
}
"""The words for a 3xx response that names no target to follow, by its status."""


class TooLarge(Exception):
    """A download is larger than `Limits.max_size`; it is not retried by default.

    >>> from ixbackoff import Download, N0, at
    >>> from ixbackoff.live import Limits, live
    >>> from ixbackoff.testing.web import Origin
    >>> with Origin({"/a": b"acorn"}) as origin:
    ...     try:
    ...         at(N0).do(Download(f"{origin.url}/a", "a")).run(live(limits=Limits(max_size=4)))
    ...     except TooLarge as failure:
    ...         print(str(failure).replace(origin.url, ""))
    GET /a: it has 5 bytes or more, and the limit is 4
    """


class RedirectError(Exception):
    """A web server answers with a 3xx status that is not followed; it is not retried by default.

    Causes: too many redirects, one without a target, one from https to http, or a 3xx such as 304.

    >>> from ixbackoff.live import Limits, response_headers
    >>> from ixbackoff.testing.web import Origin, Redirect
    >>> with Origin({"/a": b"acorn"}, {"/a": [Redirect("/a")] * 3}) as origin:
    ...     try:
    ...         response_headers(f"{origin.url}/a", limits=Limits(max_redirects=2))
    ...     except RedirectError as failure:
    ...         print(str(failure).replace(origin.url, ""))
    HEAD /a: more than 2 redirects
    """


class StoreError(Exception):
    """An object store rejects a request, for a reason that has no exception of its own."""


def failure_of_status(status: int, headers: Mapping[str, str], request: str) -> Exception | None:
    """Return the failure that a status stands for, or `None` for a success.

    `request` is the method and the URL, without secrets.
    """
    failure: Exception
    if 200 <= status < 300 and status != 206:
        return None
    if status == 429:
        failure = Throttled(retry_after(headers))
    elif status >= 500 or status in (408, 425):
        failure = ServerError(status, retry_after(headers))
    elif status >= 400:
        failure = ClientError(status)
    elif status >= 300:
        what = REDIRECTIONS.get(status, "which is not followed")
        return RedirectError(f"{request}: the server answered {status}, {what}")
    else:
        return ConnectionError(f"{request}: the server answered {status}, {UNASKED}")
    failure.add_note(request)
    return failure


def failure_without_content(status: int, request: str) -> Exception | None:
    """Return the failure that a success without content stands for; `None` for other statuses."""
    if status == 202:
        return NotReady(f"{request}: the server answered 202: the resource is not ready yet")
    if status in (204, 205):
        return FileNotFoundError(f"{request}: the server answered {status}: there is no content")
    return None
