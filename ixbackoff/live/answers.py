"""What the answer of a web server means."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from .._words.failures import ClientError, ServerError, Throttled
from .refusals import RedirectError

SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?", re.ASCII)
WORTH_ANOTHER_TRY = frozenset({408, 425})
THROTTLED = 429


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to be left alone, from the header `Retry-After`.

    It gives seconds, or a date, which is taken relative to the header `Date` if there is one.

    >>> retry_after({"Retry-After": "2"})
    2.0
    >>> retry_after({
    ...     "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT"
    ... })
    30.0

    Returns:
        0 or more, and finite; `None` if there is no such header, or nonsense in it.
    """
    asked = headers.get("Retry-After", "").strip()
    if SECONDS.fullmatch(asked):
        return min(float(asked), sys.float_info.max)
    until = moment(asked)
    if until is None:
        return None
    now = moment(headers.get("Date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def moment(date: str) -> float | None:
    """The seconds since 1970 of an HTTP date, or `None` if it is none."""
    try:
        parsed = parsedate_to_datetime(date)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def failure_of_status(status: int, headers: Mapping[str, str], asked: str) -> Exception | None:
    """The failure that a status is, or `None` if it is none.

    Args:
        status: what the server answered.
        headers: the answer's.
        asked: what was asked, as it may be shown.
    """
    failure: Exception
    if 200 <= status < 300 and status != 206:
        return None
    if status == THROTTLED:
        failure = Throttled(retry_after(headers))
    elif status >= 500 or status in WORTH_ANOTHER_TRY:
        failure = ServerError(status, retry_after(headers))
    elif status >= 400:
        failure = ClientError(status)
    elif status >= 300:
        return RedirectError(f"{asked}: it was redirected to nowhere, by status {status}")
    else:
        return ConnectionError(f"{asked}: it was answered with status {status}, unasked")
    failure.add_note(asked)
    return failure
