"""Failures of `urllib.request` and `http.client` of the standard library.

`URLError` wraps a failure to connect or to send the request; the traceback tells which of the two.
`RemoteDisconnected` without its request in the traceback is transient, like `ConnectionResetError`,
its base class.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

from .._words.judging import Verdict
from . import http_statuses as http
from .judge_helpers import permanent, through, variables

OPENING = {("urllib.request", "open")}
RETRIEVING = {("urllib.request", "urlretrieve")}
READING = {
    ("http.client", name)
    for name in ("begin", "_read_status", "read", "read1", "readinto", "_safe_read")
}


def requests_of(failure: Exception) -> list[http.SentRequest]:
    opened = [found["req"] for found in variables(failure, OPENING) if "req" in found]
    if opened:
        return [
            http.sent_request(request.get_method(), request.header_items()) for request in opened
        ]
    return list(in_frames(failure))


def in_frames(failure: Exception) -> Iterator[http.SentRequest]:
    for found in variables(failure, RETRIEVING):
        yield http.SentRequest("GET" if found.get("data") is None else "POST")
    for found in variables(failure, READING):
        method = getattr(found.get("self"), "_method", None)
        if method:
            yield http.sent_request(method)


def by_reason(failure: Any, asked: Sequence[http.SentRequest]) -> Verdict:
    reason = getattr(failure, "reason", None)
    if not isinstance(reason, OSError):
        return permanent(failure)
    if str(reason).startswith("Tunnel "):
        return http.refused_by_proxy(failure, asked, str(reason))
    connecting = through(reason, "http.client", "connect")
    if connecting or isinstance(reason, ConnectionRefusedError | socket.gaierror):
        return http.before(failure, asked)
    if isinstance(reason, ConnectionError | TimeoutError):
        return http.after(failure, asked)
    return http.before_or_never(failure, asked)


def by_status(failure: Any, asked: Sequence[http.SentRequest]) -> Verdict:
    return http.answered(failure, failure.code, failure.headers, asked)


def disconnected(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    return http.after(failure, asked) if asked else Verdict(True)


judge = http.judge_by(
    {
        "HTTPError": by_status,
        "ContentTooShortError": http.after,
        "URLError": by_reason,
        "RemoteDisconnected": disconnected,
        "BadStatusLine": http.after,
        "IncompleteRead": http.after,
    },
    {"http", "urllib"},
    requests_of,
)
