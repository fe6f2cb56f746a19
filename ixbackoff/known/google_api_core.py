"""Failures of google-api-core, and so of Google's client libraries.

Over REST the status decides, as that of any other web server. Over gRPC it is the status of the
call, as in `known/grpc.py`. So some of what `google.api_core.retry.if_transient_error` says may
pass does so only after a request that may be carried out twice: 500 and INTERNAL. Google says the
same of them (AIP-194) and leaves it to the caller to use that predicate where it may be.

The time that the service asks for is read from `RetryInfo` in the details, from the header
`Retry-After`, and from gRPC's metadata. A `RetryError` is judged by the failure that it ended with.
"""

from __future__ import annotations

import re
from typing import Any

from .._words import verdicts
from .._words.verdicts import Verdict
from . import grpc
from .exchanges import answered, asked_with, judge_by, never

DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)s", re.ASCII)


def by_cause(failure: Any) -> Verdict:
    cause = getattr(failure, "cause", None)
    return verdicts.judge(cause) if isinstance(cause, Exception) else never(failure)


def by_call(failure: Any) -> Verdict:
    """Judge the answer to a call, over REST or gRPC."""
    response: Any = getattr(failure, "response", None)
    if hasattr(response, "trailing_metadata"):
        return grpc.judge(response)
    if failure.code is None:
        return never(failure)
    request = getattr(response, "request", None)
    method = getattr(request, "method", None)
    asked = [asked_with(method, getattr(request, "headers", None))] if method else []
    headers = getattr(response, "headers", None)
    told = answered(failure, int(failure.code), headers, asked)
    delays = (delay_of(detail) for detail in getattr(failure, "details", ()))
    delay = next((seconds for seconds in delays if seconds is not None), told.retry_after)
    return Verdict(True, delay) if told.transient else told


def aborted(failure: Any) -> Verdict:
    """Judge a transaction that another one was in the way of, which only gRPC tells."""
    return Verdict(True) if getattr(failure, "response", None) is None else by_call(failure)


def delay_of(detail: Any) -> float | None:
    """Return the seconds of a `RetryInfo`, as a message or as JSON, or `None`."""
    if hasattr(detail, "get"):
        found = DURATION.fullmatch(str(detail.get("retryDelay")))
        return float(found[1]) if found else None
    duration = getattr(detail, "retry_delay", None)
    return None if duration is None else grpc.seconds_of(duration)


judge = judge_by(
    {"RetryError": by_cause, "Aborted": aborted, "GoogleAPICallError": by_call},
    frozenset({"google"}),
)
