"""Failures of urllib3. The traceback has their requests, in locals of `request` and `urlopen`.

`ResponseError` is raised after urllib3's own retries, and judged by the status in its text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .._words.judging import Verdict
from . import http_statuses as http
from .judge_helpers import name_of, permanent, through, variables
from .unreachable import CUT_OFF

SENDING = {
    ("urllib3._request_methods", "request"),
    ("urllib3.request", "request"),
    ("urllib3.connectionpool", "urlopen"),
}
STATUS = re.compile(r"too many ([0-9]{3}) error responses")


def requests_of(failure: Exception) -> list[http.SentRequest]:
    return [
        http.sent_request(found["method"], found.get("headers"))
        for found in variables(failure, SENDING)
        if "method" in found
    ]


def of_the_system(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    return http.after(failure, asked) if isinstance(failure, OSError) else permanent(failure)


def wrapped(failure: Exception, cause: Any, asked: Sequence[http.SentRequest]) -> Verdict:
    """Judge a failure by the failure that it wraps; the reason names the outer failure."""
    verdict = judge(cause, asked)
    why = verdict.why.replace(name_of(cause), name_of(failure), 1)
    return Verdict(verdict.transient, verdict.retry_after, why)


def broken_off(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    tunnel = next((text for text in map(str, failure.args) if text.startswith("Tunnel ")), "")
    if tunnel:
        return http.refused_by_proxy(failure, asked, tunnel)
    # during the handshake no request has been sent
    connecting = any(
        through(cause, "urllib3.connection", "connect") for cause in http.behind(failure)
    )
    return http.before(failure, asked) if connecting else http.after(failure, asked)


def by_reason(failure: Any, asked: Sequence[http.SentRequest]) -> Verdict:
    return wrapped(failure, getattr(failure, "reason", None), asked)


def by_proxy(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    said = str(getattr(failure, "original_error", ""))
    if said.startswith("Tunnel "):
        return http.refused_by_proxy(failure, asked, said)
    return http.before(failure, asked)


def by_tls(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    cut_off = any(isinstance(argument, CUT_OFF) for argument in failure.args)
    return broken_off(failure, asked) if cut_off else http.before_or_never(failure, asked)


def by_status(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    found = STATUS.search(str(failure))
    return http.answered(failure, int(found[1]), None, asked) if found else permanent(failure)


judge = http.judge_by(
    {
        "MaxRetryError": by_reason,
        "ConnectTimeoutError": http.before,
        "EmptyPoolError": http.before,
        "ProxyError": by_proxy,
        "SSLError": by_tls,
        "ResponseError": by_status,
        "TimeoutError": broken_off,
        "ProtocolError": broken_off,
        "IncompleteRead": broken_off,
        "InvalidChunkLength": broken_off,
    },
    {"urllib3"},
    requests_of,
    of_the_system,
)
