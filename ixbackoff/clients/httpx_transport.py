"""Transports of httpx and httpx2, sync and async."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Self

from .._functions.backoff import Backoff
from .._words.commands import Misuse
from .last_answer import Resending, is_short, limited

__tracebackhide__ = True

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport, BaseTransport
    from httpx2 import AsyncBaseTransport as AsyncBaseTransport2
    from httpx2 import BaseTransport as BaseTransport2

    class Base(BaseTransport, AsyncBaseTransport, BaseTransport2, AsyncBaseTransport2):
        def handle_request(self, request: Any) -> Any: ...
        async def handle_async_request(self, request: Any) -> Any: ...

else:
    Base = object  # no client checks it

TIMEOUTS = ("connect", "read", "write", "pool")


class Transport(Base):
    """A transport for each kind of client, which may have another one inside."""

    def __init__(self, backoff: Backoff[Any], inner: Any) -> None:
        self._sending: Resending[Any] = Resending(backoff, failure_of)
        self._inners: dict[Any, Any] = {} if inner is None else {None: inner}

    def handle_request(self, request: Any) -> Any:
        """Send a request with retries, and return its last answer."""
        inner = self._inner(request, "handle_request", "HTTPTransport")
        given = request.extensions.get("timeout", {})

        def one_try() -> Any:
            timeouts = {name: limited(given.get(name)) for name in TIMEOUTS}
            request.extensions = {**request.extensions, "timeout": timeouts}
            with naming(request):
                answer = inner.handle_request(request)
                answer.request = request
                if answer.is_error and is_short(answer.headers):
                    body = b"".join(answer.stream)
                    answer.stream.close()
                    answer.stream = library_of(request).ByteStream(body)
                return answer

        close = methodcaller("close")
        return self._sending.send(name_of(request), one_try, close, is_stream(request))

    async def handle_async_request(self, request: Any) -> Any:
        """As `handle_request`, for an async client."""
        inner = self._inner(request, "handle_async_request", "AsyncHTTPTransport")

        async def one_try() -> Any:
            with naming(request):
                answer = await inner.handle_async_request(request)
                answer.request = request
                if answer.is_error and is_short(answer.headers):
                    body = b"".join([chunk async for chunk in answer.stream])
                    await answer.stream.aclose()
                    answer.stream = library_of(request).ByteStream(body)
                return answer

        close = methodcaller("aclose")
        return await self._sending.send_async(name_of(request), one_try, close, is_stream(request))

    def _inner(self, request: Any, method: str, usual: str) -> Any:
        made: Any = getattr(library_of(request), usual)
        kind = None if None in self._inners else made
        if kind not in self._inners:
            self._inners.setdefault(kind, made())
        inner = self._inners[kind]
        if not hasattr(inner, method):
            raise Misuse(f"transport(..., {inner!r}): this client needs an {usual}.")
        return inner

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close the connections of sync clients."""
        for inner in self._inners.values():
            if hasattr(inner, "close"):
                inner.close()

    async def aclose(self) -> None:
        """Close the connections of async clients."""
        for inner in self._inners.values():
            if hasattr(inner, "aclose"):
                await inner.aclose()


def transport(
    backoff: Backoff[Any],
    inner: BaseTransport | AsyncBaseTransport | BaseTransport2 | AsyncBaseTransport2 | None = None,
) -> Transport:
    """Make a transport that retries requests, for sync and async clients of httpx and httpx2.

    >>> import httpx
    >>> from ixbackoff import N3, backoff
    >>> from ixbackoff.clients import transport
    >>> client = httpx.Client(transport=transport(backoff(N3, within=30)))

    Args:
        backoff: the backoff, without `until`; `within` is the time of a request until its answer
            begins, in seconds.
        inner: the transport that sends the requests; by default that of the library, with its
            default options.

    Raises:
        Misuse: `backoff` is not a backoff, or it has `until`.
    """
    return Transport(backoff, inner)


def name_of(request: Any) -> str:
    return f"{request.method} {request.url.host}"


def library_of(request: Any) -> Any:
    """Return httpx or httpx2."""
    names = [kind.__module__.partition(".")[0] for kind in request.__class__.__mro__]
    return sys.modules["httpx" if "httpx" in names else "httpx2"]


def failure_of(answer: Any) -> Exception | None:
    if not answer.is_error:
        return None
    said, kind = f"{answer.status_code} {answer.reason_phrase}", library_of(answer.request)
    failure: Exception = kind.HTTPStatusError(said, request=answer.request, response=answer)
    return failure


@contextmanager
def naming(request: Any) -> Generator[None]:
    """Set the request of a failure, as a client does after its transport, for the judge."""
    try:
        yield
    except library_of(request).RequestError as failure:
        failure.request = request
        raise


def is_stream(request: Any) -> bool:
    """Return whether the body can be sent only once: it is neither bytes nor a form with files."""
    body = request.stream
    if isinstance(body, library_of(request).ByteStream):
        return False
    files = [getattr(field, "file", b"") for field in getattr(body, "fields", [None])]
    return not hasattr(body, "fields") or not all(
        isinstance(file, bytes | str) or (hasattr(file, "seekable") and file.seekable())
        for file in files
    )
