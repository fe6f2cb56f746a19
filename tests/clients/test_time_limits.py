"""Time-outs of clients with a backoff inside: of a try, of a body, and of what comes later."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from typing import Any

import httpx
import httpx2
import pytest
import requests
import urllib3

from ixbackoff import N3, DeadlineExceeded, backoff
from ixbackoff.clients import adapter, transport
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Late, Origin, Redirect, Slow

patiently = backoff(N3, schedule=Constant(0.001))
shortly = patiently.replace(within=0.6)
LIBRARIES: list[Any] = [httpx, httpx2]
both = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
LATE = Late(0.2, Slow(0.8, piece=5))  # the answer begins in time, its body ends later


def session(used: Any) -> requests.Session:
    made = requests.Session()
    made.mount("http://", adapter(used))
    return made


def each_answers(body: bytes, requested: Sequence[Callable[[], bytes]]) -> None:
    """Ask at the same time, and check each answer."""
    with ThreadPoolExecutor(len(requested)) as pool:
        answers = [pool.submit(request) for request in requested]
    for request, answer in zip(requested, answers, strict=True):
        assert answer.result() == body, request


def test_a_body_may_take_longer_than_the_request() -> None:
    def got(library: Any) -> bytes:
        with library.Client(transport=transport(shortly), timeout=5) as client:
            body: bytes = client.get(f"{origin.url}/a").content
            return body

    def streamed(library: Any) -> bytes:
        with (
            library.Client(transport=transport(shortly), timeout=5) as client,
            client.stream("GET", f"{origin.url}/a") as answer,
        ):
            body: bytes = answer.read()
            return body

    with Origin({"/a": b"acorn"}, {"/a": repeat(LATE)}) as origin:
        each_answers(b"acorn", [partial(way, of) for way in (got, streamed) for of in LIBRARIES])
        assert origin.counts["GET /a"] == 2 * len(LIBRARIES)


def test_a_body_of_requests_may_too() -> None:
    def got(timeout: Any, stream: bool) -> bytes:
        with session(shortly) as client:
            return client.get(f"{origin.url}/a", timeout=timeout, stream=stream).content

    time_outs: list[Any] = [5, (5, 5), None, urllib3.Timeout(5), urllib3.Timeout(read=5)]
    requested = [partial(got, one, stream) for one in time_outs for stream in (False, True)]
    with Origin({"/a": b"acorn"}, {"/a": repeat(LATE)}) as origin:
        each_answers(b"acorn", requested)
        assert origin.counts["GET /a"] == len(requested)


@both
def test_the_request_after_a_redirect_has_time_outs_of_its_own(library: Any) -> None:
    seen: list[float] = []

    class Noting(library.HTTPTransport):  # type: ignore[misc]
        def handle_request(self, request: Any) -> Any:
            seen.append(request.extensions["timeout"]["read"])
            return super().handle_request(request)

    with (
        Origin({"/b": b"acorn"}, {"/a": [Late(0.2, Redirect("/b"))]}) as origin,
        library.Client(
            transport=transport(patiently.replace(within=5), Noting()),
            timeout=60,
            follow_redirects=True,
        ) as client,
    ):
        answer = client.get(f"{origin.url}/a")
    assert [round(seconds, 1) for seconds in seen] == [5.0, 5.0]
    assert answer.request.extensions["timeout"]["read"] == 60


def test_a_time_out_of_urllib3_is_at_most_what_is_left() -> None:
    def took(timeout: Any) -> float:
        began = time.monotonic()
        with session(shortly) as client, pytest.raises(DeadlineExceeded):
            client.get(f"{origin.url}/a", timeout=timeout)
        assert timeout.total in (20, None)  # it is the user's
        return time.monotonic() - began

    time_outs = [urllib3.Timeout(20), urllib3.Timeout(read=20), urllib3.Timeout()]
    with (
        Origin({"/a": b"acorn"}, {"/a": repeat(Late(20))}) as origin,
        ThreadPoolExecutor(len(time_outs)) as pool,
    ):
        assert max(pool.map(took, time_outs)) < 5


@pytest.mark.parametrize("name", ["httpx", "requests"])
def test_a_request_that_begins_after_the_deadline_around_it(name: str) -> None:
    """It fails as a time-out, not by a number of seconds that its library does not take."""
    failures: list[Exception] = []
    made = httpx.Client(transport=transport(patiently)) if name == "httpx" else session(patiently)

    @backoff(N3, within=0.05, nested="once")
    def page() -> None:
        time.sleep(0.1)
        try:
            client.get(f"{origin.url}/a")
        except Exception as failure:
            failures.append(failure)
            raise

    with (
        Origin({"/a": b"acorn"}, {"/a": repeat(Late(0.5))}) as origin,
        made as client,
        pytest.raises(DeadlineExceeded),
    ):
        page()
    assert [type(failure).__name__[-7:] for failure in failures] == ["Timeout"]
