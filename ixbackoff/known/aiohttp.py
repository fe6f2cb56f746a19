"""Failures of aiohttp.

Those with a status have their request; the others do not say which they belong to, but the client
session and the response in the traceback do. A time-out of the whole request
(`ClientTimeout(total=...)`) is a plain `TimeoutError`, of which nothing is known: it may pass,
after a `POST`, too. `sock_read` and `sock_connect` have classes of their own.
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

SENDING = {("aiohttp.client", "_request")}
READING = {("aiohttp.client_reqrep", name) for name in ("read", "text", "json", "start")}


def requests_of(failure: Any) -> list[Asked]:
    """Return what was asked, the first request first."""
    return [*in_frames(failure), *in_answer(failure)]


def in_frames(failure: Exception) -> Iterator[Asked]:
    for found in variables(failure, SENDING):
        for earlier in found.get("history", ()):
            yield from in_answer(earlier)
        if "method" in found:
            yield asked_with(found["method"], found.get("headers"))
    for found in variables(failure, READING):
        yield from in_answer(found.get("self"))


def in_answer(answer: Any) -> Iterator[Asked]:
    """Yield the request of an answer, or of a failure that has what an answer has."""
    for earlier in getattr(answer, "history", None) or ():
        yield from in_answer(earlier)
    request = getattr(answer, "request_info", None)
    if request is not None:
        yield asked_with(request.method, request.headers)


def unsent(failure: Exception) -> Verdict:
    return before(failure, requests_of(failure))


def broken_off(failure: Exception) -> Verdict:
    return after(failure, requests_of(failure))


def by_status(failure: Any) -> Verdict:
    status, headers = getattr(failure, "status", None), getattr(failure, "headers", None)
    return answered(failure, status, headers, requests_of(failure))


def by_proxy(failure: Any) -> Verdict:
    return refused_by_proxy(failure, list(in_frames(failure)), str(getattr(failure, "status", "")))


judge = judge_by(
    {
        "ClientConnectorError": unsent,
        "ConnectionTimeoutError": unsent,
        "ClientConnectionError": broken_off,
        "ServerFingerprintMismatch": never,
        "ClientPayloadError": broken_off,
        "ClientHttpProxyError": by_proxy,
        "TooManyRedirects": never,
        "ClientResponseError": by_status,
    },
    frozenset({"aiohttp"}),
)
