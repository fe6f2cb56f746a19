"""Middleware: a service tries less if its callers retry, and no longer than they wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ._limits.deadlines import LEFT
from ._limits.interrupt_safety import assigned
from ._limits.nesting import SERVED
from ._limits.served_requests import Inner, ServedRequest, beginning
from ._words.commands import is_coroutine_function
from ._words.extras import needed
from ._words.headers import PUSHBACK
from ._words.try_header import MOST, NAMES, said_by

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__tracebackhide__ = True
__all__ = ["asgi", "wsgi", "grpc_server", "apart"]

App: TypeAlias = Callable[..., Awaitable[None]]
LAST = {f"http.response.{kind}" for kind in ("body", "zerocopysend", "pathsend")}
"""The messages of ASGI that end an answer, unless more of its body follows."""


def asgi(app: App, *, inner: Inner = "nested", proxies: bool = False, say: bool = True) -> App:
    """Wrap an ASGI application, so that it heeds its callers' retries, and how long they wait.

    >>> from ixbackoff.middleware import asgi
    >>> async def app(scope, receive, send): ...
    >>> app = asgi(app, inner="last")  # in FastAPI: app.add_middleware(asgi, inner="last")

    Args:
        app: the application; its web sockets are left alone: a session is not one try.
        inner: the decorated functions that have a single try while the caller retries. "nested":
            those with `nested="once"`; "once": all; "last": all, but not in the caller's last try.
        proxies: whether to read and write Envoy's headers. Without a sidecar anybody can send them.
        say: whether an answer with 429 or 5xx has `x-should-retry: false` after retries in vain.

    Raises:
        Misuse: `inner` is something else.
    """
    begin = beginning(inner, proxies)

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        found = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        request = begin(f"{scope['method']} {scope['path']}", said_by(found, proxies))

        async def send_on(message: Any) -> None:
            starts = message["type"] == "http.response.start"
            if starts and say and (added := request.answer_headers(message["status"])):
                new = [(name.encode(), value.encode()) for name, value in added.items()]
                old = [one for one in message.get("headers", ()) if one[0].lower() not in dict(new)]
                message = {**message, "headers": [*old, *new]}
            if message["type"] in LAST and not message.get("more_body"):
                request.end()  # before `send`, in which the server may begin another request
            await send(message)

        try:
            with request.inside():
                await app(scope, receive, send_on)
        finally:
            request.end()

    return serve


def wsgi(
    app: WSGIApplication, *, inner: Inner = "nested", proxies: bool = False, say: bool = True
) -> WSGIApplication:
    """Wrap a WSGI application, as `asgi` does with the same arguments.

    >>> from ixbackoff.middleware import wsgi
    >>> app = wsgi(lambda environ, start_response: [], inner="last")
    """
    begin = beginning(inner, proxies)

    def serve(environ: dict[str, Any], start_response: Any) -> Any:
        keys = [(name, "HTTP_" + name.upper().replace("-", "_")) for name in NAMES]
        found = [(name, environ[key]) for name, key in keys if key in environ]
        shown = f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}"
        request = begin(shown, said_by(found, proxies))

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            added = request.answer_headers(int(status[:3])) if say else {}
            old = [pair for pair in headers if pair[0].lower() not in added]
            return start_response(status, [*old, *added.items()], *rest)

        try:
            with request.inside():
                body: Any = app(environ, start)
                if body.__class__ not in (list, tuple, environ.get("wsgi.file_wrapper")):
                    return Body(body, iter(body), request)
        except BaseException:
            request.end()
            raise
        request.end()
        return body

    return serve


class Body:
    """The body of an answer, whose parts are made while it is read, perhaps in another thread."""

    def __init__(self, body: Any, parts: Any, request: ServedRequest) -> None:
        self._body, self._parts, self._request = body, parts, request

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            with self._request.inside():
                return next(self._parts)
        except BaseException:  # StopIteration, too
            self._request.end()
            raise

    def close(self) -> None:
        self._request.end()
        getattr(self._body, "close", bool)()


def grpc_server(*, inner: Inner = "nested", say: bool = True) -> Any:
    """Make an interceptor for servers of `grpc` and of `grpc.aio`, which does what `asgi` does.

    It is for calls with one request and one answer. The deadline of a call says how long its
    caller waits. A call that fails after retries in vain has the metadata
    `grpc-retry-pushback-ms: -1`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import grpc
    >>> from ixbackoff.middleware import grpc_server
    >>> server = grpc.server(ThreadPoolExecutor(1), interceptors=[grpc_server(inner="last")])

    Raises:
        ImportError: grpcio is not installed.
    """
    with needed("grpc_server", "grpc", {"grpc"}):
        grpc: Any = import_module("grpc")
    begin = beginning(inner, False)

    @contextmanager
    def inside(details: Any, context: Any) -> Generator[Callable[[], None]]:
        said, left = said_by(details.invocation_metadata or ()), context.time_remaining()
        if left is not None and left < MOST:  # without a deadline, a sync context returns 9e18
            said = said.within(left)
        request = begin(details.method, said)

        def forbid() -> None:
            if request.in_vain and say:
                given = [one for one in context.trailing_metadata() or () if one[0] != PUSHBACK]
                context.set_trailing_metadata((*given, (PUSHBACK, "-1")))

        try:
            with request.inside():
                yield forbid
        finally:
            request.end()
            forbid()

    def wrapped(handler: Any, details: Any) -> Any:
        behavior: Any = getattr(handler, "unary_unary", None)

        def serve(request: Any, context: Any) -> Any:
            with inside(details, context):
                return behavior(request, context)

        async def serve_async(request: Any, context: Any) -> Any:
            with inside(details, context) as forbid:
                return await behavior(request, Aborting(context, forbid))

        if behavior is None:
            return handler
        made = serve_async if is_coroutine_function(behavior) else serve
        kinds = handler.request_deserializer, handler.response_serializer
        return grpc.unary_unary_rpc_method_handler(made, *kinds)

    async def wrapped_async(handler: Any, details: Any) -> Any:
        return wrapped(await handler, details)

    def intercept(_: Any, continuation: Any, details: Any) -> Any:
        handler = continuation(details)
        return (wrapped_async if isawaitable(handler) else wrapped)(handler, details)

    kinds = grpc.ServerInterceptor, grpc.aio.ServerInterceptor
    return type("ServerInterceptor", kinds, {"intercept_service": intercept})()


class Aborting:
    """A context of `grpc.aio` that calls `forbid` before `abort`, which sends the metadata."""

    def __init__(self, context: Any, forbid: Callable[[], None]) -> None:
        self._context, self._forbid = context, forbid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def abort(self, *args: Any, **kwargs: Any) -> None:
        self._forbid()
        await self._context.abort(*args, **kwargs)


@contextmanager
def apart() -> Generator[None]:
    """Run a block as if no request were being served: its runs have all their tries and time.

    It is for tasks that continue after the answer, and for work that other requests share.

    >>> from ixbackoff.middleware import apart
    >>> with apart():
    ...     pass  # asyncio.create_task(reload()), or cache.load()
    """
    with assigned(SERVED, None), assigned(LEFT, None):
        yield
