"""Transports of httpx and httpx2, sync and async."""

from __future__ import annotations

import sys
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Self

from .._functions.backoff import Backoff
from .._words.commands import Misuse
from .retried_requests import MARK, Resending, is_short, limited

__tracebackhide__ = True

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport, BaseTransport
    from httpx2 import AsyncBaseTransport as AsyncBaseTransport2
    from httpx2 import BaseTransport as BaseTransport2

    class Base(BaseTransport, AsyncBaseTransport, BaseTransport2, AsyncBaseTransport2):
        def handle_request(self, request: Any) -> Any: ...
        async def handle_async_request(self, request: Any) -> Any: ...

else:
    Base = object  # no client checks the base class


class Transport(Base):
    def __init__(self, backoff: Backoff[Any], inner: Any) -> None:
        self._sending: Resending[Any] = Resending(backoff, failure_of, inner)
        self._inners: dict[Any, Any] = {} if inner is None else {None: inner}

    def handle_request(self, request: Any) -> Any:
        library, inner = self._library_and_inner(request, "handle_request", "HTTPTransport")
        given = dict.fromkeys(("connect", "read", "write", "pool"))
        given |= request.extensions.get("timeout", {})
        timeouts = {**given}
        request.extensions = {**request.extensions, "timeout": timeouts}

        def one_try() -> Any:
            timeouts.update((name, limited(seconds)) for name, seconds in given.items())
            request.extensions.get(MARK, bool)()
            try:
                answer = inner.handle_request(request)
                answer.request = request
                if is_readable(answer):
                    with closing(answer.stream) as stream:
                        answer.stream = library.ByteStream(b"".join(stream))
            except library.RequestError as failure:
                failure.request = request  # a judge reads it before the client sets it
                raise
            finally:
                timeouts.update(given)  # for the body of the answer, and a redirect
            return answer

        name = f"{request.method} {request.url.host}"
        return self._sending.send(name, one_try, is_stream(request, library))

    async def handle_async_request(self, request: Any) -> Any:
        kind = "handle_async_request", "AsyncHTTPTransport"
        library, inner = self._library_and_inner(request, *kind)

        async def one_try() -> Any:
            request.extensions.get(MARK, bool)()
            try:
                answer = await inner.handle_async_request(request)
                answer.request = request
                if is_readable(answer):
                    async with aclosing(answer.stream) as stream:
                        body = b"".join([chunk async for chunk in stream])
                    answer.stream = library.ByteStream(body)
            except library.RequestError as failure:
                failure.request = request
                raise
            return answer

        name = f"{request.method} {request.url.host}"
        return await self._sending.send_async(name, one_try, is_stream(request, library))

    def _library_and_inner(self, request: Any, method: str, usual: str) -> tuple[Any, Any]:
        library = library_of(request)
        made = getattr(library, usual)
        inner = self._inners.get(None) or self._inners.get(made)
        inner = inner or self._inners.setdefault(made, made())
        if not hasattr(inner, method):
            raise Misuse(f"transport(..., {inner!r}): this client needs an {usual}.")
        return library, inner

    def close(self, *_: object) -> None:
        self._sending.closings[0] += 1
        for inner in self._inners.values():
            getattr(inner, "close", bool)()  # an async one has no `close`

    async def aclose(self, *_: object) -> None:
        self._sending.closings[1] += 1
        for inner in self._inners.values():
            if hasattr(inner, "aclose"):
                await inner.aclose()

    if not TYPE_CHECKING:
        __exit__, __aexit__ = close, aclose

        def __enter__(self) -> Self:
            return self

        async def __aenter__(self) -> Self:
            return self


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
        backoff: a backoff without `until`; `within` covers all but the body of the last answer.
        inner: the transport that sends the requests; by default the one of a plain client.

    Raises:
        Misuse: `backoff` is not a backoff, or it has `until`; or `inner` retries by itself.
    """
    return Transport(backoff, inner)


def library_of(request: Any) -> Any:
    return sys.modules[request.__class__.__mro__[-2].__module__.partition(".")[0]]


def is_readable(answer: Any) -> bool:
    """Return whether an answer is an error with a short, unread body, to be read before a wait."""
    return answer.is_error and not answer.is_closed and is_short(answer.headers)


def failure_of(answer: Any) -> Exception | None:
    """Return the failure of an error answer, or `None`; `on` can read the answer's short body."""
    if not answer.is_error:
        return None
    library, request, shown = library_of(answer.request), answer.request, answer
    if is_readable(answer):
        given = {"headers": answer.headers, "stream": answer.stream, "request": request}
        shown = library.Response(answer.status_code, **given)
        shown.read()
    said = f"{answer.status_code} {answer.reason_phrase}"
    failure: Exception = library.HTTPStatusError(said, request=request, response=shown)
    return failure


def is_stream(request: Any, library: Any) -> bool:
    """Return whether a body can be sent only once, unlike bytes and forms with seekable files."""
    body, kinds = request.stream, (bytes, str, library.ByteStream)
    fields = getattr(body, "fields", None)
    parts = [body] if fields is None else [getattr(field, "file", b"") for field in fields]
    return not all(isinstance(one, kinds) or getattr(one, "seekable", bool)() for one in parts)
