"""An interceptor of gRPC servers, sync and of `grpc.aio`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from inspect import isawaitable
from typing import Any

from .._limits.served_requests import Inner, beginning
from .._words.commands import is_coroutine_function
from .._words.extras import needed
from .._words.headers import PUSHBACK
from .._words.try_header import MOST, said_by

__tracebackhide__ = True


def grpc_server(*, inner: Inner = "nested", say: bool = True) -> Any:
    """Make an interceptor for servers of `grpc` and of `grpc.aio`, which heeds what callers retry.

    It is for calls with one request and one answer, whose deadline is the time of the caller. After
    retries in vain, the metadata of a call say `grpc-retry-pushback-ms: -1`: heeded if it failed.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import grpc
    >>> from ixbackoff.middleware import grpc_server
    >>> server = grpc.server(ThreadPoolExecutor(1), interceptors=[grpc_server(inner="last")])

    Raises:
        ImportError: grpcio is not installed.
        Misuse: `inner` is something else.
    """
    with needed("grpc_server", "grpc", {"grpc"}):
        grpc: Any = import_module("grpc")
    begin = beginning(inner, False)

    def wrapped(handler: Any, details: Any) -> Any:
        behavior = getattr(handler, "unary_unary", None)
        if behavior is None:
            return handler

        def values(name: str) -> list[object]:
            return [value for key, value in details.invocation_metadata or () if key == name]

        @contextmanager
        def inside(context: Any) -> Generator[Callable[[], None]]:
            said, left = said_by(values), context.time_remaining()
            if left is not None and left < MOST:  # a sync one without a deadline has 9e18
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

        def serve(request: Any, context: Any) -> Any:
            with inside(context):
                return behavior(request, context)

        async def serve_async(request: Any, context: Any) -> Any:
            with inside(context) as forbid:
                return await behavior(request, Aborting(context, forbid))

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
    """A context of `grpc.aio`, whose `abort` sends the metadata before the handler has ended."""

    def __init__(self, context: Any, forbid: Callable[[], None]) -> None:
        self._context, self._forbid = context, forbid

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def abort(self, *args: Any, **kwargs: Any) -> None:
        self._forbid()
        await self._context.abort(*args, **kwargs)
