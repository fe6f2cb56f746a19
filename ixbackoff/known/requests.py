"""Failures of requests, each judged by the failure of urllib3 that it wraps.

Most of them have their request; for those that come while a body is read it stands in the
traceback, and so does the first request of a redirect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._words.verdicts import Verdict
from . import urllib3
from .exchanges import Asked, after, answered, asked_with, before, judge_by, never
from .frames import variables

SENDING = {("requests.sessions", "send")}
READING = {("requests.models", "generate")}


def requests_of(failure: Any) -> list[Asked]:
    """Return what was asked, the first request first."""
    return [
        asked_with(request.method, getattr(request, "headers", None))
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


def unsent(failure: Exception) -> Verdict:
    return before(failure, requests_of(failure))


def broken_off(failure: Exception) -> Verdict:
    return after(failure, requests_of(failure))


def by_cause(failure: Exception) -> Verdict:
    cause = next((each for each in failure.args if isinstance(each, Exception)), None)
    if cause is None:
        return broken_off(failure)
    return urllib3.weighed(failure, cause, requests_of(failure))


def by_tls(failure: Exception) -> Verdict:
    return by_cause(failure) if failure.args else never(failure)


def by_status(failure: Any) -> Verdict:
    answer = getattr(failure, "response", None)
    if answer is None:
        return never(failure)
    return answered(failure, answer.status_code, answer.headers, requests_of(failure))


judge = judge_by(
    {
        "ConnectTimeout": unsent,
        "ProxyError": by_cause,
        "SSLError": by_tls,
        "ConnectionError": by_cause,
        "RetryError": by_cause,
        "ReadTimeout": broken_off,
        "Timeout": broken_off,
        "ChunkedEncodingError": by_cause,
        "HTTPError": by_status,
    },
    frozenset({"requests"}),
)
