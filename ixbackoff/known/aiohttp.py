"""Failures of aiohttp. The request is in `request_info`, or in a frame of the traceback.

For `ClientTimeout(total=...)` aiohttp raises Python's own `TimeoutError`, not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._words.judging import Verdict
from . import http_statuses as http
from .judge_helpers import permanent, variables
from .unreachable import UNKNOWN_HOST

SENDING = {("aiohttp.client", "_request")}
LOOK_UP_LATER = ((3,), (11,), (12,))  # codes of c-ares: the name server failed, or did not answer
READING = {("aiohttp.client_reqrep", name) for name in ("read", "text", "json", "start")}


def requests_of(failure: Any) -> list[http.SentRequest]:
    return [*in_frames(failure), *in_answer(failure)]


def in_frames(failure: Exception) -> Iterator[http.SentRequest]:
    for found in variables(failure, SENDING):
        for earlier in found.get("history", ()):
            yield from in_answer(earlier)
        if "method" in found:
            yield http.sent_request(found["method"], found.get("headers"))
    for found in variables(failure, READING):
        yield from in_answer(found.get("self"))


def in_answer(answer: Any) -> Iterator[http.SentRequest]:
    """Yield the requests of an answer, or of a failure with the same attributes."""
    for earlier in getattr(answer, "history", None) or ():
        yield from in_answer(earlier)
    request = getattr(answer, "request_info", None)
    if request is not None:
        yield http.sent_request(request.method, request.headers)


def by_name(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    """Judge a failed look-up by its error code: that of `socket`, or of aiodns if installed."""
    found = [
        each.args[:1] for each in http.behind(failure) if each.__class__.__name__ == "DNSError"
    ]
    if found and found[0] not in LOOK_UP_LATER:
        return permanent(failure, f": {UNKNOWN_HOST}")
    return http.before(failure, asked)


def by_status(failure: Any, asked: Sequence[http.SentRequest]) -> Verdict:
    status, headers = getattr(failure, "status", None), getattr(failure, "headers", None)
    return http.answered(failure, status, headers, asked)


def by_proxy(failure: Any, _: Sequence[http.SentRequest]) -> Verdict:
    return http.refused_by_proxy(
        failure, list(in_frames(failure)), str(getattr(failure, "status", ""))
    )


judge = http.judge_by(
    {
        "ClientConnectorError": http.before,
        "ClientConnectorDNSError": by_name,
        "ConnectionTimeoutError": http.before,
        "ClientConnectionError": http.after,
        "ServerFingerprintMismatch": http.never,
        "ClientPayloadError": http.after,
        "ClientHttpProxyError": by_proxy,
        "TooManyRedirects": http.never,
        "ClientResponseError": by_status,
    },
    {"aiohttp"},
    requests_of,
)
