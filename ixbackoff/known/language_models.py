"""Failures of the SDKs of language models, and of libraries that derive from them, such as litellm.

The SDKs of openai, anthropic and groq repeat a `POST` after 408, 409, 429, any status from 500 on,
and a lost connection: an answer that is computed twice does no harm. Here the rule is for all SDKs.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from .._words.headers import is_forbidden, moment, retry_after
from .._words.judging import Verdict
from .google_api_core import delay_of
from .http_statuses import answered, reason_to_stop
from .judge_helpers import bases, permanent
from .shapes import by_cause, cause_of, headers_of, quietly, status_of

REPEATED = frozenset({408, 409, 429})
SPENT = re.compile(r"insufficient_(quota|credits|balance|funds)|billing_\w+|credit_balance_\w+")
# Errors inside a stream, whose status was 200.
TRANSIENT = frozenset(
    {"overloaded_error", "api_error", "rate_limit_error", "timeout_error", "server_error"}
)
UNIT = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?)(ms|[hms])", re.ASCII)


def judge(failure: Any) -> Verdict:
    errors = list(errors_of(failure))
    words = {str(error.get(key)) for error in errors for key in ("type", "code", "error_code")}
    if spent := sorted(filter(SPENT.fullmatch, words)):
        return permanent(failure, f": {spent[0]}, which lasts until somebody pays")
    status = status_of(failure)
    if status is None:
        return unanswered(failure, words)
    headers = headers_of(failure) or headers_of(openai_of(failure))
    allowed = headers.get("x-should-retry") == "true"
    if not is_forbidden(headers) and (allowed or status in REPEATED or status >= 500):
        return Verdict(True, asked(headers, errors))
    return answered(failure, status, headers, ())


def openai_of(failure: Any) -> Any:
    """Return the failure of openai inside a failure of litellm, or `None`."""
    below = cause_of(failure)
    return below if below is None else cause_of(below)


def unanswered(failure: Any, words: set[str]) -> Verdict:
    """Judge a connection that was lost, or an error inside a stream that began well."""
    if reason := reason_to_stop(failure):
        return permanent(failure, f": {reason}")
    if words & TRANSIENT or bases(failure) & {"APIConnectionError", "RetryableError"}:
        return Verdict(True)
    return by_cause(failure)


def errors_of(failure: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the body of an answer, and the error in it with its details."""
    for name in ("body", "details"):
        error: Any = quietly(failure, name)
        if error.__class__ is str:  # of mistralai
            with suppress(ValueError):
                error = json.loads(error)
        while error.__class__ is dict:
            yield error
            details: Any = error.get("details")
            if details.__class__ is list:
                yield from (one for one in details if one.__class__ is dict)
            error = error.get("error") or details


def asked(headers: Mapping[str, str], errors: list[Mapping[str, Any]]) -> float | None:
    """Return the seconds for which the service asked to be left alone."""
    milliseconds = retry_after({"Retry-After": headers.get("retry-after-ms", "")})
    if milliseconds is not None:
        return milliseconds / 1000
    if (seconds := retry_after(headers)) is not None:
        return seconds
    delays = [delay for error in errors if (delay := delay_of(error)) is not None]
    return max([*delays, *resets(headers)], default=None)


def resets(headers: Mapping[str, str]) -> Iterator[float]:
    """Yield the seconds until each exhausted limit is reset."""
    for name, value in headers.items():
        if headers.get(name.replace("-reset", "-remaining")) != "0":
            continue
        if name.startswith("x-ratelimit-reset-"):
            seconds = duration(value)
        else:
            seconds = until(value, headers.get("Date", ""))
        if seconds is not None:
            yield seconds


def duration(text: str) -> float | None:
    """Return the seconds of a duration as OpenAI writes it, or `None`.

    >>> duration("6m0s"), duration("120ms"), duration("1h2m3.5s"), duration("soon")
    (360.0, 0.12, 3723.5, None)
    """
    parts = PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * UNIT[unit] for number, unit in parts)


def until(text: str, date: str) -> float | None:
    """Return the seconds from the HTTP date `date`, or from now, until the RFC 3339 time `text`."""
    try:
        end = datetime.fromisoformat(text).timestamp()
    except (ArithmeticError, ValueError):
        return None
    now = moment(date)
    return max(0.0, end - (time.time() if now is None else now))
