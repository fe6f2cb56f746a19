"""An adapter of requests."""

from __future__ import annotations

from contextlib import suppress
from types import NoneType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .._functions.backoff import Backoff
from .._limits.deadlines import time_limit
from .._words.extras import needed
from .retried_requests import MARK, Resending, is_short, limited

__tracebackhide__ = True

if TYPE_CHECKING:
    from requests import Response
    from requests.adapters import BaseAdapter
else:
    BaseAdapter = object  # no session checks the base class


class Adapter(BaseAdapter):
    def __init__(self, backoff: Backoff[Any], inner: BaseAdapter) -> None:
        self._sending: Resending[Any] = Resending(backoff, failure_of, inner)
        self._backoff, self._inner = backoff, inner

    def __reduce__(self) -> Any:
        return adapter, (self._backoff, self._inner)

    def send(
        self, request: Any, stream: bool = False, timeout: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        body, start = request.body, start_of(request.body)
        connect, read = seconds_of(timeout)

        def one_try() -> Any:
            if start is not None:
                body.seek(start)
            getattr(request, MARK, bool)()
            timed = time_limit() is not None
            allowed: Any = (limited(connect), limited(read)) if timed else timeout
            answer: Any = self._inner.send(request, stream, allowed, *args, **kwargs)
            answer.connection = self  # requests uses it to send again with a login
            if not (answer.ok or stream) and is_short(answer.headers):
                _ = answer.content  # not with `stream`: the user may read `raw`
            elif timed:
                with suppress(AttributeError):  # the limit is not for the body
                    answer.raw._fp.fp.raw._sock.settimeout(read)
            return answer

        name = f"{request.method} {urlsplit(request.url or '').hostname}"
        once = start is None and not isinstance(body, bytes | str | NoneType)
        return self._sending.send(name, one_try, once)

    def close(self) -> None:
        self._sending.closings[0] += 1
        self._inner.close()


def adapter(backoff: Backoff[Any], inner: BaseAdapter | None = None) -> BaseAdapter:
    """Make an adapter that retries requests, for sessions of requests.

    >>> import requests
    >>> from ixbackoff import N3, backoff
    >>> from ixbackoff.clients import adapter
    >>> session = requests.Session()
    >>> session.mount("https://", adapter(backoff(N3, within=30)))

    Args:
        backoff: a backoff without `until`; `within` covers all but the body of the last answer.
        inner: the adapter that sends the requests; by default an `HTTPAdapter`.

    Raises:
        ImportError: requests is not installed.
        Misuse: `backoff` is not a backoff, or it has `until`; or `inner` retries by itself.
    """
    with needed("adapter", "requests", {"requests"}):
        from requests import adapters
    return Adapter(backoff, adapters.HTTPAdapter() if inner is None else inner)


def failure_of(answer: Response) -> Exception | None:
    from requests import HTTPError

    said = f"{answer.status_code} {answer.reason}"
    return None if answer.ok else HTTPError(said, request=answer.request, response=answer)


def start_of(body: Any) -> int | None:
    """Return the position to which a file is rewound before each try; `None` if it cannot seek."""
    try:
        return int(body.tell()) if body.seekable() else None
    except (AttributeError, OSError):
        return None


def seconds_of(timeout: Any) -> list[float | None]:
    """Return the seconds to connect and to read, `None` for no limit."""
    if hasattr(timeout, "start_connect"):  # a `Timeout` of urllib3
        timeout = timeout.clone()
        timeout.start_connect()
        timeout = timeout.connect_timeout, timeout.read_timeout
    both = timeout if timeout.__class__ is tuple else (timeout, timeout)
    return [each if isinstance(each, int | float) else None for each in both]
