"""Marks that tell your own services which try a request is, and how long its sender waits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from .._limits.deadlines import time_limit
from .._limits.nesting import RUNNING, served
from .._limits.served_requests import ServedRequest, hear_answer
from .._words.commands import Misuse
from .._words.extras import needed
from .._words.headers import is_pushed_back
from .._words.rungs import ENDLESS
from .._words.try_header import HEADER, Trying
from ..known.http_statuses import sent_request
from .requests_adapter import seconds_of
from .retried_requests import MARK, limited

__tracebackhide__ = True

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse
    from requests import Session

C = TypeVar("C")


def trying() -> Trying:
    """Return the try that this code is part of: that of a run, or of the request being served."""
    run, retries, *_ = RUNNING.get()
    request, left = served(), time_limit()
    top = getattr(run, "top", 0)
    if top and getattr(run, "retrying", True):  # a program also has steps that it does not repeat
        return Trying(retries + 1, None if top == ENDLESS else max(top - retries, 0), left)
    return (Trying() if request is None else request.trying)._replace(left=left)


def marking(hosts: Collection[str], again: bool) -> Callable[..., None]:
    """Return a function that marks a request, or removes a mark that a redirect has copied."""
    wrong = isinstance(hosts, str) or not hosts
    if wrong or any("/" in host or host.count(":") == 1 for host in hosts):  # IPv6 has more colons
        advice = 'give the names of hosts, such as {"orders.internal"}, without schemes or ports'
        raise Misuse(f"hosts={hosts!r}: {advice}.")
    names = {host.lower() for host in hosts}

    def mark(request: Any, patience: object = None) -> None:
        request.headers.pop(HEADER, None)
        if urlsplit(str(request.url)).hostname not in names:
            return
        said = trying()
        if isinstance(patience, int | float):
            said = said.within(patience)
        if not (again and sent_request(request.method, request.headers).repeatable):
            said = Trying(left=said.left)
        if text := str(said):
            request.headers[HEADER] = text

    return mark


def httpx(client: C, hosts: Collection[str], *, again: bool = True) -> C:
    """Mark the requests of a client of httpx or httpx2 to `hosts`, and return the client.

    A service with `ixbackoff.middleware` then leaves the retries to a sender that retries, and ends
    its runs once the sender no longer waits. An answer "do not retry" is passed on: if this process
    serves a request itself, and that request fails, this process answers "do not retry", too.

    >>> import httpx
    >>> from ixbackoff.clients import marks
    >>> client = marks.httpx(httpx.Client(), {"orders.internal"})

    Args:
        client: a sync or async client, perhaps with a `transport` that retries.
        hosts: the exact names of the hosts; requests to other hosts get no mark.
        again: false to send only the remaining seconds.

    Raises:
        Misuse: `client` is of another library, or `hosts` are not names of hosts.
    """
    mark, hooks = marking(hosts, again), getattr(client, "event_hooks", None)
    if hooks is None:
        raise Misuse(f"marks.httpx({client!r}) takes a client of httpx: see marks.requests.")

    async def nothing() -> None: ...

    end: Any = nothing if hasattr(client, "aclose") else bool

    def ask(request: Any) -> Any:
        def each_try() -> None:
            timeouts: dict[str, object] = request.extensions.get("timeout") or {}
            mark(request, timeouts.get("read"))

        each_try()
        request.extensions = {**request.extensions, MARK: each_try}
        return end()

    def hear(answer: Any) -> Any:
        hear_answer(answer.status_code, answer.headers)
        return end()

    hooks["request"].append(ask)
    hooks["response"].append(hear)
    return client


def requests(session: Session, hosts: Collection[str], *, again: bool = True) -> Session:
    """Mark the requests of a session of requests, as `marks.httpx` does, and return the session.

    >>> import requests
    >>> from ixbackoff.clients import marks
    >>> session = marks.requests(requests.Session(), {"orders.internal"})
    """
    mark, send = marking(hosts, again), getattr(session, "send", None)
    if send is None or not hasattr(session, "mount"):
        raise Misuse(f"marks.requests({session!r}) takes a session of requests: see marks.httpx.")

    def marked(request: Any, **options: Any) -> Any:  # also called for each redirect
        each_try = partial(mark, request, seconds_of(options.get("timeout"))[1])
        each_try()
        setattr(request, MARK, each_try)
        answer = send(request, **options)
        hear_answer(answer.status_code, answer.headers)
        return answer

    vars(session)["send"] = marked
    return session


def aiohttp(hosts: Collection[str], *, again: bool = True) -> ClientMiddlewareType:
    """Make a middleware of aiohttp that marks requests as `marks.httpx` does, but reads no timeout.

    Give it after a `middleware` that retries, so that each try gets its own mark.

    >>> from ixbackoff.clients import marks
    >>> options = {"middlewares": [marks.aiohttp({"orders.internal"})]}  # of a ClientSession
    """
    mark = marking(hosts, again)

    async def send(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        mark(request)
        answer = await handler(request)
        hear_answer(answer.status, answer.headers)
        return answer

    return send


def grpc(*, again: bool = True) -> Any:
    """Make an interceptor of gRPC, sync and `aio`, that marks the calls of a channel to a service.

    It is for calls with one request and one answer, whose timeout says how long the sender waits.
    Give it after an `interceptor` that retries, so that each try gets its own mark.

    >>> import grpc
    >>> from ixbackoff.clients import marks
    >>> with grpc.insecure_channel("localhost:50051") as channel:
    ...     channel = grpc.intercept_channel(channel, marks.grpc())
    """
    with needed("marks.grpc", "grpc", {"grpc"}):
        library: Any = import_module("grpc")
    kinds: Any = library.UnaryUnaryClientInterceptor, library.aio.UnaryUnaryClientInterceptor

    def intercept(_: Any, continuation: Any, details: Any, request: Any) -> Any:
        metadata = [pair for pair in details.metadata or () if pair[0] != HEADER]
        said, around = trying()._replace(left=None), served()
        if again and said.number is not None:
            metadata.append((HEADER, str(said)))
        timeout = limited(details.timeout)
        call = continuation(details._replace(metadata=tuple(metadata), timeout=timeout), request)
        if around is not None and isawaitable(call):
            return heard(call, around)
        if around is not None:
            call.add_done_callback(around.hear)
        return call

    return type("MarkingInterceptor", kinds, {"intercept_unary_unary": intercept})()


async def heard(sent: Any, around: ServedRequest) -> Any:
    call = await sent
    if is_pushed_back(dict(await call.trailing_metadata() or ())):
        around.in_vain = True
    return call
