"""`Retry-After`, as servers send it."""

from __future__ import annotations

import math
import time
from email.utils import formatdate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ixbackoff import ClientError, ServerError, Throttled
from ixbackoff._words.headers import retry_after
from ixbackoff.live.errors import failure_of_status


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("31536000", 31536000.0),
        ("Sat, 01 Jan 2039 00:00:00 GMT", 31536000.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("9" * 30, 1e30),
        ("9" * 400, 1.7976931348623157e308),
        ("Fri, 01 Jan 2038 00:00:30 GMT", 30.0),
        ("Friday, 01-Jan-38 00:00:30 GMT", 30.0),
        ("Fri Jan  1 00:00:30 2038", 30.0),
        ("Fri, 01 Jan 2038 01:00:30 +0100", 30.0),
        ("Fri, 01 Jan 2038 00:00:30 -0000", 30.0),
        ("Thu, 31 Dec 2037 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0.0),
        ("", None),
        ("-1", None),
        ("-0", None),
        ("0x10", None),
        ("60s", None),
        ("1m", None),
        ("１２", None),  # noqa: RUF001
        ("Thu, 01 Jan", None),
        ("+1", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("1_0", None),
        ("٣", None),
        ("1, 2", None),
        ("soon", None),
        ("Fri, 99 Jan 2038 00:00:30 GMT", None),
        ("Fri, 01 Jan 99999999 00:00:30 GMT", None),
    ],
)
def test_seconds_and_dates(asked: str, seconds: float | None) -> None:
    headers = {"Retry-After": asked, "Date": "Fri, 01 Jan 2038 00:00:00 GMT"}
    assert retry_after(headers) == seconds


def test_without_a_date_header_a_date_is_relative_to_now() -> None:
    for headers in ({}, {"Date": "today"}):
        in_a_minute = formatdate(time.time() + 60, usegmt=True)
        assert retry_after({"Retry-After": in_a_minute, **headers}) == pytest.approx(60, abs=2)
    assert retry_after({}) is None


@pytest.mark.slow
@given(st.text(), st.text())
@example("Mon, 1 Jan 0000 00:00:00 GMT", "")
@example("1 Jan 2000 00:00:00 +999999999999999999999", "")
@example("Mon, 1 Jan 9999 23:59:59 -9999", "Mon, 1 Jan 0001 00:00:00 +9999")
def test_nothing_that_a_server_sends_breaks_it(asked: str, date: str) -> None:
    seconds = retry_after({"Retry-After": asked, "Date": date})
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@given(st.integers(100, 999), st.text())
def test_every_status_is_a_failure_or_well(status: int, asked: str) -> None:
    failure = failure_of_status(status, {"Retry-After": asked}, "GET http://localhost/a")
    assert (failure is None) == (200 <= status < 300 and status != 206)
    if status == 429:
        assert isinstance(failure, Throttled)
    elif status >= 500 or status in (408, 425):
        assert isinstance(failure, ServerError)
        assert failure.status == status
    elif status >= 400:
        assert isinstance(failure, ClientError)
        assert failure.status == status
