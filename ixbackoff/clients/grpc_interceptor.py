"""An interceptor of grpc, for sync channels and those of `grpc.aio`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._functions.backoff import Backoff
from .._words.commands import is_coroutine_function
from .._words.extras import needed
from .retried_requests import Resending, limited

__tracebackhide__ = True


def interceptor(backoff: Backoff[Any]) -> Any:
    """Make an interceptor that retries calls, for channels of `grpc` and of `grpc.aio`.

    It is for calls with one request and one answer. Calls with streams are made once.

    >>> import grpc
    >>> from ixbackoff import N3, backoff
    >>> from ixbackoff.clients import interceptor
    >>> retrying = interceptor(backoff(N3, within=30))
    >>> with grpc.insecure_channel("localhost:50051") as channel:
    ...     channel = grpc.intercept_channel(channel, retrying)

    Args:
        backoff: a backoff without `until`; `within` is the seconds of a call with all tries.

    Raises:
        ImportError: grpcio is not installed.
        Misuse: `backoff` is not a backoff, or it has `until`.
    """
    with needed("interceptor", "grpc", {"grpc"}):
        grpc: Any = import_module("grpc")
    kinds = grpc.UnaryUnaryClientInterceptor, grpc.aio.UnaryUnaryClientInterceptor
    sending: Resending[Any] = Resending(backoff, failure_of)

    def intercept(_: Any, continuation: Any, details: Any, request: Any) -> Any:
        method = details.method
        name = (method.decode() if isinstance(method, bytes) else method).lstrip("/")

        def one_try() -> Any:
            return continuation(details._replace(timeout=limited(details.timeout)), request)

        async def one_try_async() -> Any:
            call = await continuation(details, request)
            await call  # raises its failure
            return call

        if is_coroutine_function(continuation):
            return sending.send_async(name, one_try_async)
        return sending.send(name, one_try)

    return type("Interceptor", kinds, {"intercept_unary_unary": intercept})()


def failure_of(outcome: Any) -> Exception | None:
    failure = outcome.exception() if hasattr(outcome, "result") else None
    return failure if isinstance(failure, Exception) else None
