"""A middleware of aiohttp."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .._functions.backoff import Backoff
from .._words.extras import needed
from .retried_requests import Resending

__tracebackhide__ = True

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse

# When a connection breaks, aiohttp sends an idempotent request once more, and so calls the
# middleware a second time, with the same timer. The second call raises the failure of the first.
BROKEN: ContextVar[tuple[object, Exception] | None] = ContextVar("ixbackoff_broken", default=None)
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})


def middleware(backoff: Backoff[Any]) -> ClientMiddlewareType:
    """Make a middleware that retries requests, for sessions of aiohttp.

    >>> from ixbackoff import N3, backoff
    >>> from ixbackoff.clients import middleware
    >>> options = {"middlewares": [middleware(backoff(N3, within=30))]}  # of a ClientSession

    Args:
        backoff: a backoff without `until`; `within` covers all but the body of the last answer.

    Raises:
        ImportError: aiohttp is not installed.
        Misuse: `backoff` is not a backoff, or it has `until`.
    """
    with needed("middleware", "aiohttp", {"aiohttp"}):
        import aiohttp

    def failure_of(answer: ClientResponse) -> Exception | None:
        if answer.ok:
            return None
        info, said = answer.request_info, answer.reason or ""
        info = info._replace(real_url=info.real_url.with_query(None))  # a query may have secrets
        return aiohttp.ClientResponseError(
            info, answer.history, status=answer.status, message=said, headers=answer.headers
        )

    sending = Resending(backoff, failure_of)

    async def send(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        timer, before = getattr(request, "_timer", None), BROKEN.get()
        BROKEN.set(None)
        if before is not None and before[0] is timer is not None:
            raise before[1]
        name, body = f"{request.method} {request.url.host}", request.body
        once = body != b"" and body.size is None
        try:
            return await sending.send_async(name, lambda: handler(request), once)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as failure:
            if request.method in IDEMPOTENT:
                BROKEN.set((timer, failure))
            raise

    return send
