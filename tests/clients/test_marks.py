"""Marks of requests, by each client: who gets one, on which requests, and what it says."""

from __future__ import annotations

from itertools import repeat
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import requests

from ixbackoff import FOREVER, N3, Constant, Misuse, backoff
from ixbackoff._limits.served_requests import ServedRequest, beginning
from ixbackoff._words.try_header import Trying, read
from ixbackoff.clients import marks
from ixbackoff.testing.web import Origin, Redirect, Status

from ..support.clients.marking import SENDING, Send, Sent

patiently = backoff(N3, schedule=Constant(0.001))
HERE = {"127.0.0.1"}
DOWN = {"/down": repeat(Status(503))}
PAGES = {"/page": b"acorn", "/other": b"hazel"}


@pytest.fixture(params=SENDING)
def send(request: pytest.FixtureRequest) -> Send:
    return SENDING[request.param]


def said(origin: Origin) -> list[str | None]:
    """Return the header of each request, without its seconds."""
    found = [request.headers.get("ixbackoff-try") for request in origin.requests]
    return [text and text.partition(", left=")[0] for text in found]


def test_each_try_of_a_run_has_its_number(send: Send) -> None:
    with Origin(PAGES, DOWN) as origin:
        send([("GET", f"{origin.url}/down", {})], HERE, patiently)
        assert said(origin) == ["n=1, more=3", "n=2, more=2", "n=3, more=1", "n=4, more=0"]
        send([("GET", f"{origin.url}/page", {})], HERE, backoff(FOREVER))
        send([("GET", f"{origin.url}/page", {})], HERE)
        assert said(origin)[4:] == ["n=1", None]


def test_a_backoff_inside_the_client_marks_each_try(send: Send) -> None:
    with Origin(PAGES, DOWN) as origin:
        send([("GET", f"{origin.url}/down", {})], HERE, inside=patiently.replace(within=9))
        assert said(origin) == ["n=1, more=3", "n=2, more=2", "n=3, more=1", "n=4, more=0"]
        lefts = [read(request.headers["ixbackoff-try"]).left or 0 for request in origin.requests]
        assert lefts == sorted(lefts, reverse=True)
        assert 8 < lefts[-1] < lefts[0] <= 9


def test_only_requests_that_are_repeated_have_a_number(send: Send) -> None:
    with Origin({}, {"/page": repeat(Status(200))}) as origin:
        url, bounded = f"{origin.url}/page", patiently.replace(within=9)
        keyed = {"Idempotency-Key": "5"}
        plain: list[Sent] = [("PATCH", url, {}), ("PUT", url, {})]
        sent: list[Sent] = [("POST", url, {}), ("POST", url, keyed), *plain]
        send(sent, HERE, bounded)
        found = [read(request.headers["ixbackoff-try"]) for request in origin.requests]
    assert [one.number for one in found] == [None, 1, None, 1]
    assert all(one.left is not None for one in found)


def test_without_again_only_the_time_is_said(send: Send) -> None:
    with Origin(PAGES, DOWN) as origin:
        send([("GET", f"{origin.url}/down", {})], HERE, patiently, again=False)
        assert said(origin) == [None] * 4
        send([("GET", f"{origin.url}/page", {})], HERE, patiently.replace(within=9), again=False)
        assert 8 < (read(origin.requests[4].headers["ixbackoff-try"]).left or 0) <= 9


@pytest.mark.parametrize("hosts", [{"localhost"}, {"127.0.0"}, {"0.0.1"}, {"*"}, {""}], ids=str)
def test_a_host_that_is_not_named_gets_none(send: Send, hosts: set[str]) -> None:
    with Origin(PAGES) as origin:
        own = {"ixbackoff-try": "n=1"}  # not even this one
        sent: list[Sent] = [("GET", f"{origin.url}/page", {}), ("GET", f"{origin.url}/page", own)]
        send(sent, hosts, patiently.replace(within=9))
        assert [request.headers.get("ixbackoff-try") for request in origin.requests] == [None] * 2


@pytest.mark.parametrize("inside", [False, True])
def test_a_redirect_to_another_host_bears_none(send: Send, inside: bool) -> None:
    tries: Any = {"inside": patiently} if inside else {"tries": patiently}
    with Origin(PAGES) as other, Origin(PAGES) as origin:
        away = other.url.replace("127.0.0.1", "localhost")
        origin.script("/away", [Redirect(f"{away}/page")])
        origin.script("/near", [Redirect(f"{origin.url}/page")])
        sent: list[Sent] = [("GET", f"{origin.url}/{path}", {}) for path in ("away", "near")]
        send(sent, HERE, **tries)
        assert said(origin) == ["n=1, more=3"] * 3
        assert said(other) == [None]


def test_the_hosts_are_names_of_any_case(send: Send) -> None:
    with Origin(PAGES) as origin:
        url = origin.url.replace("127.0.0.1", "LOCALHOST")
        send([("GET", f"{url}/page", {})], {"LocalHost"}, patiently)
        assert said(origin) == ["n=1, more=3"]


@pytest.mark.parametrize("name", ["httpx", "httpx async", "requests"])
def test_the_time_out_of_a_request_is_its_time(name: str) -> None:
    with Origin(PAGES) as origin:
        url = f"{origin.url}/page"
        SENDING[name]([("GET", url, {})], HERE, timeout=7.5)
        SENDING[name]([("GET", url, {})], HERE, patiently.replace(within=2), timeout=7.5)
        first, second = (read(request.headers["ixbackoff-try"]) for request in origin.requests)
    assert first == Trying(left=7.5)
    assert second.left is not None
    assert second.left <= 2


def serving(text: str) -> ServedRequest:
    return beginning("nested", False)("GET /", read(text))


def test_a_mark_is_passed_on_where_nothing_retries(send: Send) -> None:
    with Origin(PAGES) as origin, serving("n=3, more=1, left=5").inside():
        for tries in None, patiently.replace(nested="once"):
            send([("GET", f"{origin.url}/page", {})], HERE, tries)
        assert said(origin) == ["n=3, more=1"] * 2
        send([("GET", f"{origin.url}/page", {})], HERE, patiently)
        assert said(origin)[2] == "n=1, more=3"
        assert all((read(r.headers["ixbackoff-try"]).left or 9) <= 5 for r in origin.requests)


def test_a_no_is_passed_up_where_nothing_retries(send: Send) -> None:
    no = Status(503, headers={"x-should-retry": "false"})
    with Origin(PAGES, {"/no": [no], "/well": [Status(200, headers=no.headers)]}) as origin:
        for path, heard in ("/page", False), ("/well", False), ("/no", True):
            with (request := serving("left=9")).inside():
                send([("GET", f"{origin.url}{path}", {})], {"elsewhere"})
            assert request.in_vain == heard, path


@pytest.mark.parametrize(
    "hosts", ["orders.internal", [], {"orders:80"}, {"http://orders"}], ids=repr
)
def test_the_hosts_are_checked(hosts: Any) -> None:
    with pytest.raises(Misuse, match="give the names of hosts"):
        marks.aiohttp(hosts)
    with pytest.raises(Misuse, match="give the names of hosts"):
        marks.httpx(object(), hosts)


def test_a_client_of_another_library_is_refused() -> None:
    with pytest.raises(Misuse, match="a client of httpx: see"):
        marks.httpx(requests.Session(), HERE)
    with pytest.raises(Misuse, match="a session of requests: see"):
        marks.requests(httpx.Client(), HERE)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [object(), SimpleNamespace(mount=print)], ids=["none", "mount"])
def test_an_object_that_sends_nothing_is_refused_as_well(other: Any) -> None:
    with pytest.raises(Misuse, match="a session of requests: see"):
        marks.requests(other, HERE)


def test_an_address_of_ipv6_is_a_name() -> None:
    assert callable(marks.aiohttp({"::1"}))
