"""Failures of httpx and httpx2, and of httpcore and httpcore2 beneath them.

Those of httpx have their request. What httpx was asked first, before redirects, stands in the
traceback; and so does the request of httpcore, whose failures have none. A pool that is full
(`PoolTimeout`) has sent nothing. A request of which a part was sent (`WriteError`,
`WriteTimeout`) may have been carried out, so it is judged as one that was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._words.verdicts import Verdict
from .exchanges import (
    Asked,
    after,
    answered,
    asked_with,
    before,
    judge_by,
    never,
    refused_by_proxy,
)
from .frames import variables

SENDING = {(f"{package}._client", "send") for package in ("httpx", "httpx2")} | {
    (f"{package}.{place}", function)
    for package in ("httpcore", "httpcore2")
    for place, function in (
        ("_sync.connection_pool", "handle_request"),
        ("_async.connection_pool", "handle_async_request"),
        ("_sync.interfaces", "request"),
        ("_async.interfaces", "request"),
    )
}


def requests_of(failure: Exception) -> list[Asked]:
    """Return what was asked, the first request first."""
    return [asked_with(request.method, request.headers) for request in sent(failure)]


def sent(failure: Exception) -> Iterator[Any]:
    for found in variables(failure, SENDING):
        if "request" in found:
            yield found["request"]
    answer = getattr(failure, "response", None)
    for earlier in getattr(answer, "history", ()):
        yield from own_request(earlier)
    yield from own_request(failure)


def own_request(owner: Any) -> Iterator[Any]:
    try:
        request = getattr(owner, "request", None)
    except RuntimeError:  # made by hand, without a request
        return
    if request is not None:
        yield request


def unsent(failure: Exception) -> Verdict:
    return before(failure, requests_of(failure))


def broken_off(failure: Exception) -> Verdict:
    return after(failure, requests_of(failure))


def by_status(failure: Any) -> Verdict:
    answer = getattr(failure, "response", None)
    if answer is None:
        return never(failure)
    return answered(failure, answer.status_code, answer.headers, requests_of(failure))


def by_proxy(failure: Exception) -> Verdict:
    return refused_by_proxy(failure, requests_of(failure), str(failure))


judge = judge_by(
    {
        "ConnectError": unsent,
        "ConnectTimeout": unsent,
        "PoolTimeout": unsent,
        "ProxyError": by_proxy,
        "ReadError": broken_off,
        "ReadTimeout": broken_off,
        "WriteError": broken_off,
        "WriteTimeout": broken_off,
        "CloseError": broken_off,
        "NetworkError": broken_off,
        "TimeoutException": broken_off,
        "RemoteProtocolError": broken_off,
        "HTTPStatusError": by_status,
    },
    frozenset({"httpx", "httpx2", "httpcore", "httpcore2"}),
)
