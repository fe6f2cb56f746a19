"""Failures of requests, beyond what is common to all clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import repeat

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from ixbackoff import N3, backoff, is_transient, known
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Hang, Origin, Reset, Slow, Status

from ..support.clients.classes import exceptions_of, passing_unseen

patiently = backoff(N3, schedule=Constant(0.001))


def test_without_a_request_only_what_was_not_sent_may_pass() -> None:
    assert passing_unseen("requests") == {"ConnectTimeout"}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_each_class_has_its_verdict(method: str) -> None:
    request = requests.Request(method, "http://nuts.example/a?token=hush").prepare()
    passing: set[str] = set()
    for kind in exceptions_of("requests"):
        if issubclass(kind, requests.JSONDecodeError):
            failure: Exception = kind("hush", "hush", 0)
        elif issubclass(kind, requests.RequestException):
            failure = kind("hush", request=request)
        else:
            failure = kind("hush")
        assert "hush" not in known.judge(failure).why
        if is_transient(failure):
            passing.add(kind.__name__)
    unsent = {"ConnectTimeout"}
    broken_off = {
        "ConnectionError",
        "ProxyError",
        "SSLError",
        "Timeout",
        "ReadTimeout",
        "ChunkedEncodingError",
        "RetryError",
    }
    assert passing == (unsent | broken_off if method == "GET" else unsent)


@pytest.mark.parametrize(
    ("url", "failure"),
    [
        ("/a", requests.exceptions.MissingSchema),
        ("ftp://nuts.example/a", requests.exceptions.InvalidSchema),
        ("http://", requests.exceptions.InvalidURL),
    ],
)
def test_a_wrong_url_is_asked_once(url: str, failure: type[Exception]) -> None:
    asked: list[str] = []

    @patiently
    def get() -> requests.Response:
        asked.append(url)
        return requests.get(url, timeout=1)

    with pytest.raises(failure):
        get()
    assert len(asked) == 1


def test_an_answer_that_is_not_json_is_asked_for_once() -> None:
    with Origin({"/a": b"acorn"}) as origin:

        @patiently
        def get() -> object:
            with requests.get(f"{origin.url}/a", timeout=5) as answer:
                return answer.json()

        with pytest.raises(json.JSONDecodeError):
            get()
        assert len(origin.requests) == 1


@pytest.mark.parametrize(("method", "asked"), [("GET", 4), ("POST", 1)])
@pytest.mark.parametrize("timeout", [5.0, 0.05])
def test_a_body_that_breaks_off_while_it_is_streamed(
    method: str, asked: int, timeout: float
) -> None:
    fault = Reset(after=2) if timeout == 5.0 else Slow(5.0, 1)

    @patiently
    def stream(url: str) -> bytes:
        with requests.request(method, url, stream=True, timeout=timeout) as answer:
            return b"".join(answer.iter_content(1))

    with Origin({"/a": b"acorn"}, {"/a": repeat(fault)}) as origin:
        with pytest.raises(requests.RequestException):
            stream(f"{origin.url}/a")
        assert len(origin.requests) == asked


@pytest.fixture
def session() -> Iterator[requests.Session]:
    """A session whose retries are those of urllib3, and end after the first."""
    with requests.Session() as made:
        made.mount("http://", HTTPAdapter(max_retries=retries()))
        yield made


def retries() -> Retry:
    return Retry(total=1, backoff_factor=0, status_forcelist=[404, 500, 503], allowed_methods=None)


@pytest.mark.parametrize(
    ("method", "status", "asked"),
    [("GET", 503, 4), ("GET", 500, 4), ("POST", 503, 4), ("POST", 500, 1), ("GET", 404, 1)],
)
def test_after_the_retries_of_urllib3_the_status_counts(
    session: requests.Session, method: str, status: int, asked: int
) -> None:
    with Origin({}, {"/a": repeat(Status(status))}) as origin:
        ask = patiently(lambda: session.request(method, f"{origin.url}/a", timeout=5))
        with pytest.raises(requests.exceptions.RetryError):
            ask()
        assert len(origin.requests) == asked * 2


def test_after_the_retries_of_urllib3_a_lost_post_is_not_tried_again(
    session: requests.Session,
) -> None:
    with Origin({}, {"/a": repeat(Hang())}) as origin:
        ask = patiently(lambda: session.post(f"{origin.url}/a", timeout=(5, 0.05)))
        with pytest.raises(requests.ConnectionError) as caught:
            ask()
        assert len(origin.requests) == 2
    assert known.judge(caught.value).why == (
        "requests.ConnectionError after a POST, which may have been carried out"
    )
