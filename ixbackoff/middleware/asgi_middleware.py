"""A middleware of ASGI applications, such as those of Starlette and FastAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .._limits.served_requests import Inner, beginning
from .._words.try_header import said_by

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
    begin = beginning(inner, proxies, say)

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
            if starts:
                said = request.said(message["status"])
                new = {name.encode(): value.encode() for name, value in said.items()}
                old = [pair for pair in message.get("headers", ()) if pair[0].lower() not in new]
                message = {**message, "headers": [*old, *new.items()]}
            await send(message)
            if not (starts or message.get("more_body")):
                request.end()

        try:
            with request.inside():
                await app(scope, receive, send_on)
        finally:
            request.end()

    return serve
