"""Failures of google-api-core and google-auth, over REST and gRPC, against real servers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import google.api_core.exceptions
import google.auth.exceptions
import google.auth.transport.requests
import grpc  # type: ignore[import-untyped]
import pytest
import requests
from google.api_core import grpc_helpers, retry

from ixbackoff import known
from ixbackoff.testing.web import Dropped, Fault, Hang, Origin, Status

from ..support.clients.tries import FOUR_TIMES, Tried, tried
from ..support.servers.certificates import self_signed, untrusted
from ..support.servers.grpc import CODES, Calls, delay, serving, status

exceptions: Any = google.api_core.exceptions
auth: Any = google.auth
helpers: Any = grpc_helpers

NOT_CARRIED_OUT = {408, 425, 429, 503}
PERHAPS_CARRIED_OUT = {500, 502, 504}
OTHERS = {400, 401, 403, 404, 409, 412, 499, 501}
PASSING_CALLS = {"UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"}


def rest(url: str, method: str, **headers: str) -> None:
    """Do what a REST client of Google's does with an answer."""
    with requests.Session() as session:
        answer = session.request(method, url, headers=headers, timeout=5.0)
        if answer.status_code >= 300:
            raise exceptions.from_http_response(answer)


def failed_by(fault: Fault, method: str = "GET", **headers: str) -> Tried:
    with Origin({}, {"/a": repeat(fault)}) as origin:
        told = tried(lambda: rest(f"{origin.url}/a", method, **headers))
        assert len(origin.requests) == told.tries
    return told


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
@pytest.mark.parametrize("status", sorted(NOT_CARRIED_OUT | PERHAPS_CARRIED_OUT | OTHERS))
def test_over_rest_the_status_decides(status: int, method: str) -> None:
    passes = status in NOT_CARRIED_OUT or (status in PERHAPS_CARRIED_OUT and method != "POST")
    told = failed_by(Status(status), method)
    assert told.tries == (FOUR_TIMES if passes else 1)
    assert passes or told.why.startswith("google.api_core.exceptions.")


def test_a_key_makes_a_post_repeatable() -> None:
    headers = {"Idempotency-Key": "5"}
    assert failed_by(Status(500), "POST", **headers).tries == FOUR_TIMES
    assert failed_by(Status(500), "POST").why == (
        "google.api_core.exceptions.InternalServerError 500 after a POST,"
        " which may have been carried out"
    )


DELAY = b"""{"error": {"message": "later", "details": [
    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE"},
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}]}}"""


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (Status(429, retry_after=7), 7.0),
        (Status(503, retry_after=timedelta(seconds=30)), 30.0),
        (Status(503, retry_after="soon"), None),
        (Status(429, body=DELAY), 1.5),
        (Status(429, body=DELAY, retry_after=7), 1.5),
        (Status(429, body=DELAY.replace(b"1.5s", b"soon")), None),
    ],
)
def test_the_time_that_is_asked_for_over_rest(fault: Fault, seconds: float | None) -> None:
    with (
        Origin({}, {"/a": [fault]}) as origin,
        pytest.raises(exceptions.GoogleAPICallError) as caught,
    ):
        rest(f"{origin.url}/a", "POST")
    assert known.is_transient(caught.value)
    assert known.retry_after(caught.value) == seconds


@pytest.fixture(scope="module")
def running() -> Generator[Calls]:
    with serving() as calls:
        yield calls


@pytest.fixture
def server(running: Calls) -> Calls:
    running.called.clear()
    running.metadata.clear()
    return running


@contextmanager
def calling(server: Calls, method: str) -> Generator[Callable[[], object]]:
    """Wrap a call as Google's clients do."""
    with grpc.insecure_channel(server.address) as channel:
        call = helpers.wrap_errors(channel.unary_unary(f"/nuts/{method}"))
        yield lambda: call(b"", timeout=0.1 if method == "hang" else 10.0)


@pytest.mark.parametrize("code", [code for code in CODES if code != "OK"])
def test_over_grpc_the_status_of_the_call_decides(code: str, server: Calls) -> None:
    with calling(server, code) as call:
        told = tried(call)
    assert isinstance(told.failure, exceptions.GoogleAPICallError)
    assert len(server.called) == told.tries == (FOUR_TIMES if code in PASSING_CALLS else 1)


def test_a_deadline_may_have_come_after_the_work(server: Calls) -> None:
    with calling(server, "hang") as call:
        told = tried(call)
    assert isinstance(told.failure, exceptions.DeadlineExceeded)
    assert told.why == "grpc DEADLINE_EXCEEDED: the call may have been carried out"


def test_the_time_that_is_asked_for_over_grpc(server: Calls) -> None:
    cases: list[tuple[str, str | bytes]] = [
        ("grpc-retry-pushback-ms", "1500"),
        ("grpc-status-details-bin", status("UNAVAILABLE", delay(2))),
    ]
    for pair, seconds in zip(cases, [1.5, 2.0], strict=True):
        server.metadata[:] = [pair]
        with (
            calling(server, "UNAVAILABLE") as call,
            pytest.raises(exceptions.ServiceUnavailable) as caught,
        ):
            call()
        assert known.retry_after(caught.value) == seconds


def test_the_end_of_googles_own_retries_is_judged_by_the_last_failure(server: Calls) -> None:
    short = retry.Retry(initial=0.01, maximum=0.01, timeout=0.02)
    for code, tries in [("UNAVAILABLE", FOUR_TIMES), ("INTERNAL", 1)]:
        with calling(server, code) as call:
            told = tried(short(call))
        assert isinstance(told.failure, exceptions.RetryError)
        assert told.tries == tries


def fetch(url: str) -> None:
    """Make the request by which google-auth asks for a token."""
    with requests.Session() as session:
        auth.transport.requests.Request(session)(url, "POST", timeout=0.2)


@pytest.mark.parametrize("fault", [Dropped(), Hang()], ids=repr)
def test_a_request_for_a_token_passes(fault: Fault) -> None:
    with Origin({}, {"/a": repeat(fault)}) as origin:
        told = tried(lambda: fetch(f"{origin.url}/a"))
        assert len(origin.requests) == told.tries == FOUR_TIMES
    assert isinstance(told.failure, google.auth.exceptions.TransportError)


def test_a_request_for_a_token_that_cannot_be_made_does_not(tmp_path: Path) -> None:
    with untrusted(self_signed(tmp_path)) as server:
        told = tried(lambda: fetch(server.url))
    name = "google.auth.exceptions.TransportError"
    assert (told.tries, told.why) == (1, f"{name}: the certificate does not verify")
    told = tried(lambda: fetch("http://oak.invalid"))
    assert (told.tries, told.why) == (1, f"{name}: the name of the host is not known")


def test_each_class_of_google_api_core_has_a_verdict() -> None:
    passing = set()
    kind: Any
    for name, kind in inspect.getmembers(exceptions, inspect.isclass):
        if issubclass(kind, exceptions.GoogleAPIError):
            told = known.judge(kind("said", None) if name == "RetryError" else kind("said"))
            assert told.transient or told.why
            assert known.judge(kind.__new__(kind)) == told
            passing |= {name} if told.transient else set()
    assert passing == {"TooManyRequests", "ResourceExhausted", "ServiceUnavailable", "Aborted"}


def test_each_class_of_google_auth_has_a_verdict() -> None:
    kind: Any
    for name, kind in inspect.getmembers(auth.exceptions, inspect.isclass):
        assert known.is_transient(kind("said")) is (name == "TransportError"), name
        assert known.judge(kind.__new__(kind)) == known.judge(kind("said")), name
    refreshed = auth.exceptions.RefreshError("said", retryable=True)
    assert known.is_transient(refreshed)
