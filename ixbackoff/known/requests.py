"""Failures of requests, judged by their status, or by the failure of urllib3 that they wrap.

A failure in the middle of a body has no request, and a failure after a redirect lacks the first
request: both requests are read from local variables in the traceback.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._words.judging import Verdict
from . import http_statuses as http
from .judge_helpers import permanent, variables
from .urllib3 import wrapped

SENDING = {("requests.sessions", "send")}
READING = {("requests.models", "generate")}


def requests_of(failure: Any) -> list[http.SentRequest]:
    return [
        http.sent_request(request.method, getattr(request, "headers", None))
        for request in sent(failure)
        if getattr(request, "method", None)
    ]


def sent(failure: Any) -> Iterator[Any]:
    for found in variables(failure, SENDING):
        yield found.get("request")
    answers = [found.get("self") for found in variables(failure, READING)]
    for answer in (*answers, getattr(failure, "response", None)):
        for earlier in getattr(answer, "history", ()):
            yield getattr(earlier, "request", None)
        yield getattr(answer, "request", None)
    yield getattr(failure, "request", None)


def by_cause(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    cause = next((each for each in failure.args if isinstance(each, Exception)), None)
    return http.after(failure, asked) if cause is None else wrapped(failure, cause, asked)


def by_tls(failure: Exception, asked: Sequence[http.SentRequest]) -> Verdict:
    return by_cause(failure, asked) if failure.args else permanent(failure)


judge = http.judge_by(
    {
        "ConnectTimeout": http.before,
        "SSLError": by_tls,
        "ConnectionError": by_cause,
        "RetryError": by_cause,
        "Timeout": http.after,
        "ChunkedEncodingError": by_cause,
        "HTTPError": http.by_response,
    },
    {"requests"},
    requests_of,
)
