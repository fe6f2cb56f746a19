"""Failures of google-api-core and google-auth, and so of Google's client libraries.

`google.api_core.retry.if_transient_error` also retries after 500 and INTERNAL; here 500 is
transient only after a request that may be carried out twice, and INTERNAL is permanent, as AIP-194
advises.
"""

from __future__ import annotations

import re
from typing import Any

from .._words.judging import Verdict
from . import grpc
from .http_statuses import answered, before, by_attribute, judge_by
from .judge_helpers import permanent
from .shapes import headers_of, requests_of

DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)s", re.ASCII)


def by_call(failure: Any, _: Any) -> Verdict:
    response: Any = getattr(failure, "response", None)
    if hasattr(response, "trailing_metadata"):
        return grpc.judge(response)
    if failure.code is None:
        return permanent(failure)
    verdict = answered(failure, int(failure.code), headers_of(failure), requests_of(failure))
    delays = (delay_of(detail) for detail in getattr(failure, "details", ()))
    delay = next((seconds for seconds in delays if seconds is not None), verdict.retry_after)
    return Verdict(True, delay) if verdict.transient else verdict


def aborted(failure: Any, asked: Any) -> Verdict:
    return Verdict(True) if getattr(failure, "response", None) is None else by_call(failure, asked)


def delay_of(detail: Any) -> float | None:
    """Return the seconds of a `RetryInfo` (a message or JSON); `None` for any other detail."""
    if hasattr(detail, "get"):
        found = DURATION.fullmatch(str(detail.get("retryDelay")))
        return float(found[1]) if found else None
    duration = getattr(detail, "retry_delay", None)
    return None if duration is None else grpc.seconds_of(duration)


def by_itself(failure: Any, _: Any) -> Verdict:
    return Verdict(True) if getattr(failure, "retryable", False) is True else permanent(failure)


judge = judge_by(
    {
        "RetryError": by_attribute("cause"),
        "Aborted": aborted,
        "GoogleAPICallError": by_call,
        "TransportError": before,
        "GoogleAuthError": by_itself,
    },
    {"google"},
)
