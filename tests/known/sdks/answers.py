"""Answers of services of models: with a status, and with each way of saying when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ixbackoff.testing.web import Status


def status(number: int, body: Mapping[str, Any] | None = None, **headers: str) -> Status:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named["Content-Type"] = "application/json"
    return Status(number, headers=named, body=json.dumps(body or {}).encode())


def in_a_minute() -> Status:
    """An answer whose limit is reset by the server's clock, which is an hour late."""
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    return status(
        429,
        Date=now.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        anthropic_ratelimit_tokens_reset=f"{now + timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}",
        anthropic_ratelimit_tokens_remaining="0",
        anthropic_ratelimit_requests_reset=f"{now + timedelta(hours=2):%Y-%m-%dT%H:%M:%SZ}",
        anthropic_ratelimit_requests_remaining="9",
    )


LIMITED: list[tuple[Status, float]] = [
    (status(429), 0.5),
    (status(429, retry_after="7"), 7.0),
    (status(429, retry_after_ms="1500", retry_after="7"), 1.5),
    (status(429, retry_after_ms="soon", retry_after="7"), 7.0),
    (status(429, x_ratelimit_reset_tokens="6m0s", x_ratelimit_remaining_tokens="0"), 360.0),
    (status(429, x_ratelimit_reset_tokens="6m0s", x_ratelimit_remaining_tokens="5"), 0.5),
    (status(429, x_ratelimit_reset_tokens="later", x_ratelimit_remaining_tokens="0"), 0.5),
    (
        status(
            429,
            x_ratelimit_reset_requests="120ms",
            x_ratelimit_remaining_requests="0",
            x_ratelimit_reset_tokens="1m2.5s",
            x_ratelimit_remaining_tokens="0",
        ),
        62.5,
    ),
    (in_a_minute(), 60.0),
]
