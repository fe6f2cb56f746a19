"""The header `Retry-After`, by which a web server asks to be left alone."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?", re.ASCII)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of the header `Retry-After`.

    The header holds seconds or a date. A date is compared with the header `Date`, or with the clock
    of this machine if that header is missing.

    >>> retry_after({"Retry-After": "2"})
    2.0
    >>> retry_after({
    ...     "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:07 GMT"
    ... })
    30.0

    Returns:
        Seconds, finite and not negative; `None` if the header is missing or malformed.
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
    """Return the seconds since 1970 of an HTTP date, or `None` if `date` is not one."""
    try:
        parsed = parsedate_to_datetime(date)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
