"""Failures of `urllib.request` and `http.client` of the standard library.

`URLError` wraps what went wrong while a connection was made or the request was sent; the traceback
tells which of the two, and which request. A connection that is reset while the answer is awaited
is a plain `ConnectionResetError` here, of which nothing is known: it may pass, after a `POST`,
too. So may `RemoteDisconnected`, which is one, if the traceback does not tell its request.
"""

from __future__ import annotations

import socket
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

OPENING = {("urllib.request", "open")}
RETRIEVING = {("urllib.request", "urlretrieve")}
CONNECTING = {("http.client", "connect")}
READING = {
    ("http.client", name)
    for name in ("begin", "_read_status", "read", "read1", "readinto", "_safe_read")
}


def requests_of(failure: Exception) -> list[Asked]:
    """Return what was asked, the first request first."""
    opened = [found["req"] for found in variables(failure, OPENING) if "req" in found]
    if opened:
        return [asked_with(request.get_method(), request.header_items()) for request in opened]
    return list(in_frames(failure))


def in_frames(failure: Exception) -> Iterator[Asked]:
    for found in variables(failure, RETRIEVING):
        yield Asked("GET" if found.get("data") is None else "POST")
    for found in variables(failure, READING):
        method = getattr(found.get("self"), "_method", None)
        if method:
            yield asked_with(method)


def by_reason(failure: Any) -> Verdict:
    reason = getattr(failure, "reason", None)
    if not isinstance(reason, OSError):
        return never(failure)
    asked = requests_of(failure)
    if str(reason).startswith("Tunnel "):
        return refused_by_proxy(failure, asked, str(reason))
    connecting = any(True for _ in variables(reason, CONNECTING))
    if connecting or isinstance(reason, ConnectionRefusedError | socket.gaierror):
        return before(failure, asked)
    if isinstance(reason, ConnectionError | TimeoutError):
        return after(failure, asked)
    told = before(failure, asked)
    return never(failure) if told.transient else told


def by_status(failure: Any) -> Verdict:
    return answered(failure, failure.code, failure.headers, requests_of(failure))


def broken_off(failure: Exception) -> Verdict:
    return after(failure, requests_of(failure))


def disconnected(failure: Exception) -> Verdict:
    asked = requests_of(failure)
    return after(failure, asked) if asked else Verdict(True)


judge = judge_by(
    {
        "HTTPError": by_status,
        "ContentTooShortError": broken_off,
        "URLError": by_reason,
        "RemoteDisconnected": disconnected,
        "BadStatusLine": broken_off,
        "IncompleteRead": broken_off,
    },
    frozenset({"http", "urllib"}),
)
