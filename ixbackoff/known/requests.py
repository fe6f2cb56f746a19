"""Failures of requests, each judged by the failure of urllib3 that it wraps.

For a failure in the middle of a body, and for the first request of a redirect, the request is in
the traceback.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._words.verdicts import Verdict
from .http_statuses import SentRequest, after, before, by_response, judge_by, sent_request
from .judging import permanent
from .tracebacks import variables
from .urllib3 import wrapped

SENDING = {("requests.sessions", "send")}
READING = {("requests.models", "generate")}


def requests_of(failure: Any) -> list[SentRequest]:
    return [
        sent_request(request.method, getattr(request, "headers", None))
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


def by_cause(failure: Exception, asked: Sequence[SentRequest]) -> Verdict:
    cause = next((each for each in failure.args if isinstance(each, Exception)), None)
    return after(failure, asked) if cause is None else wrapped(failure, cause, asked)


def by_tls(failure: Exception, asked: Sequence[SentRequest]) -> Verdict:
    return by_cause(failure, asked) if failure.args else permanent(failure)


judge = judge_by(
    {
        "ConnectTimeout": before,
        "SSLError": by_tls,
        "ConnectionError": by_cause,
        "RetryError": by_cause,
        "Timeout": after,
        "ChunkedEncodingError": by_cause,
        "HTTPError": by_response,
    },
    {"requests"},
    requests_of,
)
