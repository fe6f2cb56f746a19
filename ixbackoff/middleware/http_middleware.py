"""Middleware of web applications, by ASGI (Starlette, FastAPI) and WSGI (Django, Flask)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._limits.served_requests import Inner, ServedRequest, beginning
from .._words.try_header import said_by

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__tracebackhide__ = True


def asgi(
    app: Callable[..., Awaitable[None]],
    *,
    inner: Inner = "nested",
    proxies: bool = False,
    say: bool = True,
) -> Callable[..., Awaitable[None]]:
    """Wrap an ASGI application, so that it heeds what its callers retry, and how long they wait.

    >>> from ixbackoff.middleware import asgi
    >>> async def app(scope, receive, send):
    ...     await send({"type": "http.response.start", "status": 204, "headers": []})
    ...     await send({"type": "http.response.body"})
    >>> app = asgi(app, inner="last")  # in FastAPI: app.add_middleware(asgi, inner="last")

    Args:
        app: the application; its web sockets are left alone: a session is not one try.
        inner: the decorated functions that are tried once while the caller may repeat its request:
            those with `nested="once"`, all ("once"), or all except in its last try ("last").
        proxies: whether to read and write headers of Envoy. Without a sidecar anybody sends them.
        say: whether an answer with 429 or 5xx says `x-should-retry: false` after retries in vain.

    Raises:
        Misuse: `inner` is something else.
    """
    begin = beginning(inner, proxies)

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return

        def values(name: str) -> list[str]:
            key = name.encode()
            return [value.decode("latin-1") for one, value in scope["headers"] if one == key]

        request = begin(f"{scope['method']} {scope['path']}", said_by(values, proxies))

        async def send_on(message: Any) -> None:
            starts = message["type"] == "http.response.start"
            if starts and say and (said := request.said(message["status"])):
                new = [(name.encode(), value.encode()) for name, value in said.items()]
                old = [one for one in message.get("headers", ()) if one[0].lower() not in dict(new)]
                message = {**message, "headers": [*old, *new]}
            await send(message)
            if not (starts or message.get("more_body")):
                request.end()

        try:
            with request.inside():
                await app(scope, receive, send_on)
        finally:
            request.end()

    return serve


def wsgi(
    app: WSGIApplication, *, inner: Inner = "nested", proxies: bool = False, say: bool = True
) -> WSGIApplication:
    """Wrap a WSGI application, so that it heeds what its callers retry, and how long they wait.

    The arguments and errors are those of `asgi`.

    >>> from ixbackoff.middleware import wsgi
    >>> def app(environ, start_response):
    ...     start_response("204 No Content", [])
    ...     return []
    >>> app = wsgi(app, inner="last")
    """
    begin = beginning(inner, proxies)

    def serve(environ: dict[str, Any], start_response: Any) -> Any:
        def values(name: str) -> list[str]:
            found = environ.get("HTTP_" + name.upper().replace("-", "_"))
            return [] if found is None else [found]

        shown = f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}"
        request = begin(shown, said_by(values, proxies))

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            said = request.said(int(status[:3])) if say else {}
            old = [pair for pair in headers if pair[0].lower() not in said]
            return start_response(status, [*old, *said.items()], *rest)

        body: Any = ()
        try:
            with request.inside():
                body = app(environ, start)
        finally:
            if body.__class__ in (list, tuple):
                request.end()
        return body if request.over else Body(body, request)

    return serve


class Body:
    """The body of an answer, whose parts are made while it is read, perhaps in another thread."""

    def __init__(self, body: Any, request: ServedRequest) -> None:
        self._body, self._request = body, request
        self._parts: Any = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> Any:
        try:
            with self._request.inside():
                self._parts = self._parts or iter(self._body)
                return next(self._parts)
        except BaseException:  # StopIteration, too
            self._request.end()
            raise

    def close(self) -> None:
        self._request.end()
        getattr(self._body, "close", bool)()
