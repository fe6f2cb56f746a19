"""Failures of `urllib.request` and `http.client` of the standard library.

`URLError` wraps a failure to connect or to send the request; the traceback tells which of the two.
`RemoteDisconnected` without its request in the traceback is transient, as the plain
`ConnectionResetError` is that it derives from.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

from .._words.verdicts import Verdict
from .http_statuses import (
    SentRequest,
    after,
    answered,
    before,
    before_or_never,
    judge_by,
    refused_by_proxy,
    sent_request,
)
from .judging import permanent
from .tracebacks import through, variables

OPENING = {("urllib.request", "open")}
RETRIEVING = {("urllib.request", "urlretrieve")}
READING = {
    ("http.client", name)
    for name in ("begin", "_read_status", "read", "read1", "readinto", "_safe_read")
}


def requests_of(failure: Exception) -> list[SentRequest]:
    opened = [found["req"] for found in variables(failure, OPENING) if "req" in found]
    if opened:
        return [sent_request(request.get_method(), request.header_items()) for request in opened]
    return list(in_frames(failure))


def in_frames(failure: Exception) -> Iterator[SentRequest]:
    for found in variables(failure, RETRIEVING):
        yield SentRequest("GET" if found.get("data") is None else "POST")
    for found in variables(failure, READING):
        method = getattr(found.get("self"), "_method", None)
        if method:
            yield sent_request(method)


def by_reason(failure: Any, asked: Sequence[SentRequest]) -> Verdict:
    reason = getattr(failure, "reason", None)
    if not isinstance(reason, OSError):
        return permanent(failure)
    if str(reason).startswith("Tunnel "):
        return refused_by_proxy(failure, asked, str(reason))
    connecting = through(reason, "http.client", "connect")
    if connecting or isinstance(reason, ConnectionRefusedError | socket.gaierror):
        return before(failure, asked)
    if isinstance(reason, ConnectionError | TimeoutError):
        return after(failure, asked)
    return before_or_never(failure, asked)


def by_status(failure: Any, asked: Sequence[SentRequest]) -> Verdict:
    return answered(failure, failure.code, failure.headers, asked)


def disconnected(failure: Exception, asked: Sequence[SentRequest]) -> Verdict:
    return after(failure, asked) if asked else Verdict(True)


judge = judge_by(
    {
        "HTTPError": by_status,
        "ContentTooShortError": after,
        "URLError": by_reason,
        "RemoteDisconnected": disconnected,
        "BadStatusLine": after,
        "IncompleteRead": after,
    },
    {"http", "urllib"},
    requests_of,
)
