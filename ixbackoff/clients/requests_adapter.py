"""An adapter of requests."""

from __future__ import annotations

from operator import methodcaller
from types import NoneType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .._functions.backoff import Backoff
from .._words.commands import Misuse
from .._words.extras import needed
from .last_answer import Resending, is_short, limited

__tracebackhide__ = True

if TYPE_CHECKING:
    from requests import PreparedRequest, Response
    from requests.adapters import BaseAdapter
else:
    BaseAdapter = object  # no session checks it


class Adapter(BaseAdapter):
    """An adapter with another one inside."""

    def __init__(self, sending: Resending[Response], inner: BaseAdapter) -> None:
        self._sending = sending
        self._inner = inner

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Send a request with retries, and return its last answer."""
        body: Any = request.body
        start = start_of(body)
        timeout: Any = kwargs.get("timeout")
        connect, read = timeout if timeout.__class__ is tuple else (timeout, timeout)

        def one_try() -> Response:
            if start is not None:
                body.seek(start)
            if not hasattr(timeout, "connect_timeout"):  # not a `Timeout` of urllib3
                kwargs["timeout"] = limited(connect), limited(read)
            answer = self._inner.send(request, *args, **kwargs)
            if not answer.ok and is_short(answer.headers):
                _ = answer.content
            return answer

        name = f"{request.method} {urlsplit(request.url or '').hostname}"
        once = start is None and not isinstance(body, bytes | str | NoneType)
        return self._sending.send(name, one_try, once)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def adapter(backoff: Backoff[Any], inner: BaseAdapter | None = None) -> BaseAdapter:
    """Make an adapter that retries requests, for sessions of requests.

    >>> import requests
    >>> from ixbackoff import N3, backoff
    >>> from ixbackoff.clients import adapter
    >>> session = requests.Session()
    >>> session.mount("https://", adapter(backoff(N3, within=30)))

    Args:
        backoff: a backoff without `until`; `within` is the seconds until the last answer begins.
        inner: the adapter that sends the requests; by default an `HTTPAdapter`.

    Raises:
        ImportError: requests is not installed.
        Misuse: `backoff` is not a backoff, or it has `until`; or `inner` retries by itself.
    """
    with needed("adapter", "requests", {"requests"}):
        from requests import HTTPError
        from requests.adapters import HTTPAdapter

    def failure_of(answer: Response) -> Exception | None:
        said = f"{answer.status_code} {answer.reason}"
        return None if answer.ok else HTTPError(said, request=answer.request, response=answer)

    if getattr(getattr(inner, "max_retries", None), "total", 0):
        raise Misuse(f"adapter(..., {inner!r}): its max_retries would multiply, leave them out.")
    sending = Resending(backoff, failure_of, methodcaller("close"))
    return Adapter(sending, HTTPAdapter() if inner is None else inner)


def start_of(body: Any) -> int | None:
    """Return the position to which a file is rewound before each try, `None` if it cannot be."""
    try:
        return int(body.tell()) if body.seekable() else None
    except (AttributeError, OSError):
        return None
