"""Live failures that another try would not help; by default none of them is tried again."""

from __future__ import annotations


class TooLarge(Exception):
    """A download is larger than `Limits.max_size`.

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
    """A web server redirects too often, or does not say where to go.

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
    """An object store refuses a request, for a reason that has no exception of its own."""
