"""Failures of urllib3.

They do not say which request they belong to; the functions `request` and `urlopen` of the traceback
do. `MaxRetryError` and `ProxyError` are judged by the failure that they are about. A pool that has
no connection left (`EmptyPoolError`) has sent nothing. `ResponseError`, after the retries of
urllib3 itself, is judged by the status in its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .._words.verdicts import Verdict
from . import sockets
from .exchanges import Asked, after, answered, asked_with, before, behind, never, refused_by_proxy
from .frames import variables

SENDING = {
    ("urllib3._request_methods", "request"),
    ("urllib3.request", "request"),
    ("urllib3.connectionpool", "urlopen"),
}
CONNECTING = {("urllib3.connection", "connect")}
STATUS = re.compile(r"too many ([0-9]{3}) error responses")

Weigher: TypeAlias = Callable[[Exception, Any, Sequence[Asked]], Verdict]
"""A function that judges a failure by what it is about, after these requests."""


def judge(failure: Exception) -> Verdict:
    return weighed(failure, failure, requests_of(failure))


def requests_of(failure: Exception) -> list[Asked]:
    """Return what was asked, the first request first."""
    return [
        asked_with(found["method"], found.get("headers"))
        for found in variables(failure, SENDING)
        if "method" in found
    ]


def weighed(failure: Exception, cause: Any, asked: Sequence[Asked]) -> Verdict:
    """Judge a failure of urllib3, or of a library above it, by the one of urllib3 behind it."""
    for base in cause.__class__.__mro__:
        if base.__module__.partition(".")[0] == "urllib3" and base.__name__ in WEIGHERS:
            return WEIGHERS[base.__name__](failure, cause, asked)
    return after(failure, asked) if isinstance(cause, OSError) else never(failure)


def unsent(failure: Exception, _: Any, asked: Sequence[Asked]) -> Verdict:
    return before(failure, asked)


def broken_off(failure: Exception, cause: Any, asked: Sequence[Asked]) -> Verdict:
    tunnel = next((text for text in map(str, cause.args) if text.startswith("Tunnel ")), "")
    if tunnel:
        return refused_by_proxy(failure, asked, tunnel)
    return before(failure, asked) if connecting(cause) else after(failure, asked)


def connecting(cause: Exception) -> bool:
    """Return true if it came during the handshake, when nothing had been sent."""
    return any(True for each in behind(cause) for _ in variables(each, CONNECTING))


def by_reason(failure: Exception, cause: Any, asked: Sequence[Asked]) -> Verdict:
    return weighed(failure, getattr(cause, "reason", None), asked)


def by_proxy(failure: Exception, cause: Any, asked: Sequence[Asked]) -> Verdict:
    said = str(getattr(cause, "original_error", ""))
    if said.startswith("Tunnel "):
        return refused_by_proxy(failure, asked, said)
    return before(failure, asked)


def by_tls(failure: Exception, cause: Any, asked: Sequence[Asked]) -> Verdict:
    cut_off = any(isinstance(argument, sockets.CUT_OFF) for argument in cause.args)
    return broken_off(failure, cause, asked) if cut_off else before_or_never(failure, asked)


def before_or_never(failure: Exception, asked: Sequence[Asked]) -> Verdict:
    told = before(failure, asked)
    return never(failure) if told.transient else told


def by_status(failure: Exception, cause: Any, asked: Sequence[Asked]) -> Verdict:
    found = STATUS.search(str(cause))
    return answered(failure, int(found[1]), None, asked) if found else never(failure)


WEIGHERS: Mapping[str, Weigher] = {
    "MaxRetryError": by_reason,
    "ConnectTimeoutError": unsent,
    "EmptyPoolError": unsent,
    "ProxyError": by_proxy,
    "SSLError": by_tls,
    "ResponseError": by_status,
    "ReadTimeoutError": broken_off,
    "TimeoutError": broken_off,
    "ProtocolError": broken_off,
    "IncompleteRead": broken_off,
    "InvalidChunkLength": broken_off,
}
