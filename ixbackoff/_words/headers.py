"""Headers by which a server asks to be left alone, for a time or for good."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC
from typing import NamedTuple

LEFT = ("Remaining", "Reset")
NUMBERS = re.compile(r"\b([a-z]+)\s*=\s*([0-9]+)", re.ASCII)
LONGEST = 1e9
"""The seconds and requests of a quota are cut to this; a reset of this or more is a Unix time."""
SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?", re.ASCII)
READ = (
    *("Retry-After", "Date", "RateLimit", "RateLimit-Policy"),
    *(f"{x}{name}" for x in ("RateLimit-", "X-RateLimit-", "X-Rate-Limit-") for name in LEFT),
)
"""The headers that `retry_after` reads."""
ANSWER = "x-should-retry"
NACK = "finagle-http-nonretryable-nack"
PUSHBACK = "grpc-retry-pushback-ms"
MILLISECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)
OVERLOADED = "x-envoy-overloaded"
PROXIES = OVERLOADED, "x-envoy-ratelimited"
"""Headers whose presence in an answer tells an Envoy proxy not to send the request again."""


def is_forbidden(headers: Mapping[str, str]) -> bool:
    """Return whether a service forbids another try, by a header of language models or Finagle."""
    return headers.get(ANSWER) == "false" or NACK in headers


def is_pushed_back(metadata: Mapping[str, object]) -> bool:
    """Return whether a server of gRPC forbids another try (gRFC A6)."""
    return PUSHBACK in metadata and not MILLISECONDS.fullmatch(str(metadata[PUSHBACK]))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds, finite and not negative, for which headers ask to be left alone.

    `Retry-After` holds seconds or a date. A date is compared with the header `Date`, or with the
    clock of this machine if `Date` is missing. Without a valid `Retry-After`, the seconds are those
    of `RateLimit` or an older header, if that header says that no request is left.
    """
    asked = headers.get("Retry-After", "").strip()
    if SECONDS.fullmatch(asked):
        return min(float(asked), sys.float_info.max)
    until = moment(asked)
    if until is None:
        quota = rate_limit(headers)
        return quota.seconds if quota is not None and quota.left < 1 else None
    now = moment(headers.get("Date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def moment(date: str) -> float | None:
    """Return the seconds since 1970 of an HTTP date, or `None` if `date` is not one."""
    from email.utils import parsedate_to_datetime  # only if needed: it imports socket

    try:
        parsed = parsedate_to_datetime(date)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


class RateLimit(NamedTuple):
    """The rest of a quota: `left` requests in the next `seconds`."""

    left: float
    seconds: float
    each: float = 0.0  # the seconds per request, by the policy of the quota; 0 if unknown


def rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    """Return the rest of the quota that is used up first, `None` if no header names one.

    `RateLimit` and `RateLimit-Policy` are defined by draft-ietf-httpapi-ratelimit-headers-08. The
    other headers are those of earlier drafts and of services such as GitHub, whose reset is in
    seconds or in seconds since 1970.
    """
    found: list[RateLimit] = []
    policies = parameters(headers.get("RateLimit-Policy", ""))
    for name, rest in parameters(headers.get("RateLimit", "")).items():
        if "r" in rest:
            policy = policies.get(name, {})
            each = policy["w"] / policy["q"] if policy.get("q") and "w" in policy else 0.0
            found.append(RateLimit(rest["r"], rest.get("t", each), each))
    for prefix in "RateLimit-", "X-RateLimit-", "X-Rate-Limit-":
        left, reset = (headers.get(prefix + name, "").strip() for name in LEFT)
        if SECONDS.fullmatch(left) and SECONDS.fullmatch(reset):
            seconds, now = float(reset), time.time()
            seconds = seconds if seconds < LONGEST else min(max(0.0, seconds - now), LONGEST)
            found.append(RateLimit(min(float(left), LONGEST), seconds))
    return min(found, default=None)


def parameters(header: str) -> dict[str, dict[str, float]]:
    items = [one.partition(";") for one in header.split(",")]
    return {
        name.strip(): {k: min(float(v), LONGEST) for k, v in NUMBERS.findall(rest)}
        for name, _, rest in items
    }
