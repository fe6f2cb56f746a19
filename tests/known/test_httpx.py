"""Failures of httpx, httpx2 and httpcore, beyond what is common to all clients."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import httpx
import httpx2
import pytest

from ixbackoff import N3, backoff, is_transient, known
from ixbackoff.schedules import Constant
from ixbackoff.testing.web import Origin, Reset, Status

from ..support.clients.classes import exceptions_of, passing_unseen

BOTH: list[Any] = [httpx, httpx2]
each_library = pytest.mark.parametrize("library", BOTH, ids=lambda it: it.__name__)
patiently = backoff(N3, schedule=Constant(0.001))

UNSENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}
BROKEN_OFF = {
    "NetworkError",
    "ReadError",
    "WriteError",
    "CloseError",
    "TimeoutException",
    "ReadTimeout",
    "WriteTimeout",
    "RemoteProtocolError",
}


@pytest.mark.parametrize("library", ["httpx", "httpx2", "httpcore", "httpcore2"])
def test_without_a_request_only_what_was_not_sent_may_pass(library: str) -> None:
    assert passing_unseen(library) == UNSENT


@each_library
@pytest.mark.parametrize(
    ("method", "passing"), [("GET", UNSENT | BROKEN_OFF), ("PATCH", UNSENT)], ids=["GET", "PATCH"]
)
def test_each_class_has_its_verdict(library: Any, method: str, passing: set[str]) -> None:
    request = library.Request(method, "http://sesame:opensaysme@nuts.example/a?token=hush")
    kinds: list[Any] = [
        kind
        for kind in exceptions_of(library.__name__)
        if issubclass(kind, library.RequestError) and kind.__name__ != "SSEError"
    ]
    failures = [kind("hush", request=request) for kind in kinds]
    assert {each.__class__.__name__ for each in failures if is_transient(each)} == passing
    for each in failures:
        assert "hush" not in known.judge(each).why


@each_library
def test_made_by_hand_without_a_request_or_an_answer(library: Any) -> None:
    assert known.judge(library.ReadTimeout("")).why == (
        f"{library.__name__}.ReadTimeout after a request of an unknown method, "
        "which may have been carried out"
    )
    assert not is_transient(library.HTTPStatusError("", request=None, response=None))


@each_library
def test_what_another_address_would_need_is_asked_once(library: Any) -> None:
    asked: list[str] = []

    @patiently
    def get(url: str) -> Any:
        asked.append(url)
        return library.get(url)

    for url, failure in (
        ("ftp://nuts.example/a", library.UnsupportedProtocol),
        ("http://[::1/a", library.InvalidURL),
        ("http:///a", library.UnsupportedProtocol),
    ):
        with pytest.raises(failure):
            get(url)
    assert len(asked) == 3


@each_library
@pytest.mark.parametrize(("method", "asked"), [("GET", 4), ("POST", 1)])
def test_a_body_that_breaks_off_while_it_is_streamed(library: Any, method: str, asked: int) -> None:
    @patiently
    def stream(url: str) -> bytes:
        with library.stream(method, url) as answer:
            return b"".join(answer.iter_bytes())

    with Origin({"/a": b"acorn"}, {"/a": repeat(Reset(after=2))}) as origin:
        with pytest.raises(library.ReadError):
            stream(f"{origin.url}/a")
        assert len(origin.requests) == asked


@each_library
def test_a_pool_that_is_full_has_sent_nothing(library: Any) -> None:
    tries: list[int] = []
    with (
        Origin({"/a": b"acorn"}) as origin,
        library.Client(
            limits=library.Limits(max_connections=1), timeout=library.Timeout(10.0, pool=0.01)
        ) as client,
        client.stream("GET", f"{origin.url}/a"),
    ):

        @patiently
        def post() -> Any:
            tries.append(1)
            return client.post(f"{origin.url}/a")

        with pytest.raises(library.PoolTimeout):
            post()
    assert origin.counts == {"GET /a": 1}
    assert len(tries) == 4


def test_a_class_of_ones_own_is_judged_as_its_base() -> None:
    class Late(httpx.ReadTimeout):
        pass

    assert is_transient(Late("", request=httpx.Request("GET", "http://nuts.example")))
    assert not is_transient(Late("", request=httpx.Request("POST", "http://nuts.example")))


@each_library
def test_a_status_counts_for_one_that_was_answered_by_hand(library: Any) -> None:
    def answer(_: Any) -> Any:
        return library.Response(503, headers={"retry-after": "7"})

    with library.Client(transport=library.MockTransport(answer)) as client:
        with pytest.raises(library.HTTPStatusError) as caught:
            client.get("http://nuts.example/a").raise_for_status()
        assert known.judge(caught.value) == known.Verdict(True, 7.0)


@each_library
def test_the_next_wait_is_as_long_as_the_server_asks(library: Any) -> None:
    with Origin({"/a": b"acorn"}, {"/a": [Status(429, retry_after=0.2)]}) as origin:
        patiently(lambda: library.get(f"{origin.url}/a").raise_for_status())()
        first, second = origin.requests
        assert second.at - first.at >= 0.2
