"""The origin that fails by a script: it does so, and it ends."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, RemoteDisconnected
from itertools import repeat
from typing import Any, NamedTuple

import httpx2
import pytest
import trio

from ixbackoff.testing.web import (
    Answer,
    Connection,
    Document,
    Down,
    Dropped,
    Fault,
    Hang,
    Late,
    Lost,
    Malformed,
    Origin,
    Redirect,
    Reset,
    Slow,
    Status,
    Truncated,
)
from ixbackoff.testing.web.origin import CONNECTIONS
from ixbackoff.testing.web.received import BODY_SIZE, HEAD_SIZE

from ..support.ways.live import SYNC


def connected(origin: Origin) -> socket.socket:
    return socket.create_connection((origin.host, origin.port), timeout=5.0)


def asked(origin: Origin, text: bytes) -> bytes:
    with connected(origin) as client:
        client.sendall(text)
        return b"".join(iter(lambda: client.recv(4096), b""))


class Said(NamedTuple):
    """An answer, as a client sees it."""

    status: int
    headers: dict[str, str]
    body: bytes


def said(
    origin: Origin,
    method: str,
    path: str,
    body: bytes | Iterable[bytes] | None = None,
    headers: dict[str, str] | None = None,
) -> Said:
    """Send a request by the client of the standard library."""
    with closing(HTTPConnection(origin.host, origin.port, timeout=5.0)) as client:
        client.request(method, path, body, headers or {})
        with client.getresponse() as answer:
            return Said(answer.status, dict(answer.getheaders()), answer.read())


def test_a_script_is_for_one_method_and_path_in_order() -> None:
    with Origin({"/a": b"acorn"}, {"HEAD /a": [Status(503), None, Status(429)]}) as origin:
        answers = [asked(origin, b"HEAD /a?b HTTP/1.0\r\n\r\n").split()[1] for _ in range(4)]
        assert answers == [b"503", b"200", b"429", b"200"]
        assert asked(origin, b"GET /a HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\nacorn")
        assert asked(origin, b"GET /b HTTP/1.0\r\n\r\n").split()[1] == b"404"
        patch = b"PATCH /a HTTP/1.0\r\nContent-Length: 3\r\n\r\nnut"
        assert asked(origin, patch).split()[1] == b"405"
    assert origin.counts == {
        "HEAD /a": 4,
        "GET /a": 1,
        "GET /b": 1,
        "PATCH /a": 1,
    }


def test_a_script_for_a_method_goes_before_one_for_its_path() -> None:
    faults: dict[str, list[Fault | None]] = {
        "/a": [Status(500), Status(501)],
        "GET /a": [Status(502), None],
    }
    with Origin({"/a": b"acorn"}, faults) as origin:
        answers = [said(origin, method, "/a").status for method in ("GET", "HEAD", "GET", "GET")]
        assert answers == [502, 500, 200, 501]
        assert said(origin, "GET", "/a").status == 200


def test_a_script_can_be_replaced() -> None:
    with Origin({"/a": b"acorn"}, {"/a": repeat(Status(503))}) as origin:
        assert said(origin, "GET", "/a").status == 503
        origin.script("/a", [])
        assert said(origin, "GET", "/a").status == 200


def test_what_is_put_stands_there_and_is_kept_for_the_test() -> None:
    with Origin() as origin:
        put = said(origin, "PUT", "/a?b", b"acorn")
        assert (put.status, put.headers["ETag"]) == (201, said(origin, "GET", "/a").headers["ETag"])
        assert said(origin, "GET", "/a").body == b"acorn"
        assert said(origin, "PUT", "/a", b"beechnut").status == 204
        assert said(origin, "HEAD", "/a").headers["Content-Length"] == "8"
        assert said(origin, "DELETE", "/a").status == 204
        assert said(origin, "DELETE", "/a").status == 404
    assert origin.resources == {}
    assert [one.body for one in origin.requests if one.method == "PUT"] == [b"acorn", b"beechnut"]
    assert origin.requests[0].target == "/a?b"


def test_what_is_posted_is_kept_and_answered_with_the_resource() -> None:
    json = Document(b"{}", headers={"Content-Type": "application/json"})
    with Origin({"/orders": json}) as origin:
        posted = said(origin, "POST", "/orders", iter([b"two ", b"acorns"]), {"X-Key": "7"})
        assert (posted.status, posted.body) == (200, b"{}")
        assert posted.headers["Content-Type"] == "application/json"
        assert said(origin, "POST", "/nowhere", b"two acorns").status == 404
    chunked, whole = origin.requests
    assert chunked.body == whole.body == b"two acorns"
    assert chunked.headers["x-key"] == "7"
    assert chunked.headers["transfer-encoding"] == "chunked"


@pytest.mark.parametrize(
    ("known", "status"),
    [('"v1"', 304), ('W/"v1"', 304), ('"v0", "v1"', 304), ("*", 304), ('"v0"', 200), ("v1", 200)],
)
def test_what_a_client_has_already_is_not_sent_again(known: str, status: int) -> None:
    with Origin({"/a": Document(b"acorn", etag='"v1"'), "/b": Document(b"b", etag=None)}) as origin:
        for method in ("GET", "HEAD"):
            answer = said(origin, method, "/a", headers={"If-None-Match": known})
            assert (answer.status, answer.headers["ETag"]) == (status, '"v1"')
        assert said(origin, "GET", "/b", headers={"If-None-Match": known}).status == 200


def test_a_client_that_asks_whether_to_go_on_is_told_so() -> None:
    with Origin() as origin, connected(origin) as client:
        client.sendall(b"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"acorn")
        assert client.recv(12) == b"HTTP/1.1 201"


NOT_DONE = [Status(503), Reset(), Dropped(), Malformed(), Redirect("/b"), Late(0.01, Reset())]
DONE = [Lost(), Reset(0), Truncated(), Slow(0.01), Late(0.01)]


@pytest.mark.parametrize("fault", [*NOT_DONE, *DONE], ids=repr)
def test_a_request_is_carried_out_by_the_faults_that_answer_it(fault: Fault) -> None:
    with Origin(faults={"PUT /a": [fault]}) as origin:
        with suppress(Exception):
            said(origin, "PUT", "/a", b"acorn")
        assert ("/a" in origin.resources) == (fault in DONE)


def test_a_lost_answer_cannot_be_told_from_a_reset() -> None:
    for fault in (Lost(), Reset()):
        with Origin(faults={"/a": [fault]}) as origin, pytest.raises(ConnectionResetError):
            said(origin, "PUT", "/a", b"acorn")


@pytest.mark.parametrize(
    ("asks", "value"),
    [
        (2, "2"),
        (2.0, "2"),
        (1.5, "1.5"),
        (1e9, "1000000000"),
        (datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC), "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("soon", "soon"),
    ],
)
def test_it_asks_to_be_left_alone_in_seconds_or_by_a_date(
    asks: float | datetime | str, value: str
) -> None:
    with Origin({"/a": b"acorn"}, {"/a": [Status(429, asks, {"X-A": "b"}, b"wait")]}) as origin:
        answer = said(origin, "GET", "/a")
    assert (answer.headers["Retry-After"], answer.headers["X-A"]) == (value, "b")
    assert answer.body == b"wait"


def test_it_asks_to_be_left_alone_until_a_date_so_long_after_its_own() -> None:
    with Origin(faults={"/a": [Status(503, timedelta(hours=1))]}) as origin:
        headers = said(origin, "GET", "/a").headers
    dates = [
        datetime.strptime(headers[name], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
        for name in ("Retry-After", "Date")
    ]
    assert dates[0] - dates[1] == timedelta(hours=1)
    assert abs(datetime.now(UTC) - dates[1]) < timedelta(minutes=1)


def test_an_answer_comes_late() -> None:
    faults = {"/a": [Late(0.1), Late(0.1, Status(503)), Slow(0.1, piece=3)]}
    with Origin({"/a": b"acorn"}, faults) as origin:
        begin = time.monotonic()
        assert said(origin, "GET", "/a").body == b"acorn"
        assert said(origin, "GET", "/a").status == 503
        assert said(origin, "GET", "/a").body == b"acorn"
        assert time.monotonic() - begin >= 0.4
    assert origin.requests[2].at - origin.requests[0].at >= 0.2


def test_down_means_refused_for_so_long_and_for_everyone() -> None:
    with Origin({"/a": b"acorn"}, {"GET /a": [Down(0.2)]}) as origin:
        url = f"{origin.url}/a"
        begin = time.monotonic()
        with pytest.raises(ConnectionError):
            asked(origin, b"GET /a HTTP/1.1\r\n\r\n") or SYNC.headers(url)
        with pytest.raises(ConnectionRefusedError):
            SYNC.headers(url)
        while time.monotonic() - begin < 5.0:
            try:
                SYNC.headers(url)
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        assert time.monotonic() - begin >= 0.2


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: y\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * HEAD_SIZE,
        b"PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nac",
        b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nac",
        b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    ],
    ids=lambda text: repr(text[:60]),
)
def test_what_is_not_a_request_gets_no_answer(text: bytes) -> None:
    with Origin({}) as origin, connected(origin) as client:
        with suppress(OSError):  # it may be cut off before it has said all
            client.sendall(text)
            client.shutdown(socket.SHUT_WR)
        with suppress(OSError):  # where the server did not read all
            assert client.recv(100) == b""
    assert origin.requests == []


@pytest.mark.parametrize(
    "head",
    [
        f"Content-Length: {BODY_SIZE + 1}\r\n\r\n",
        f"Transfer-Encoding: chunked\r\n\r\n{BODY_SIZE + 1:x}\r\n",
    ],
)
def test_a_body_that_is_too_large_is_refused(head: str) -> None:
    with Origin() as origin:
        assert asked(origin, f"PUT /a HTTP/1.1\r\n{head}".encode())[:12] == b"HTTP/1.1 413"
    assert origin.requests == []
    assert origin.resources == {}


@pytest.mark.parametrize("fault", [Hang(), Slow(60.0), Down(60.0), Late(60.0)], ids=repr)
def test_it_ends_at_once_whatever_its_clients_do(
    fault: Fault, capfd: pytest.CaptureFixture[str]
) -> None:
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    with Origin({"/a": b"acorn"}, {"GET /a": repeat(fault)}) as origin:
        clients = [connected(origin) for _ in range(4)]
        for client in clients[:2]:
            with suppress(ConnectionError):  # the first one may have brought the server down
                client.sendall(b"GET /a HTTP/1.1\r\n\r\n")
        clients.pop(0).close()  # one that has gone
        while not origin.requests:
            time.sleep(0.01)
        begin = time.monotonic()
    assert time.monotonic() - begin < 8.0  # of the 60 that the faults take
    for client in clients:
        client.close()
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == files
    assert capfd.readouterr() == ("", "")


def test_it_takes_so_many_connections_and_no_more() -> None:
    with Origin({"/a": b"acorn"}, {"GET /a": repeat(Hang())}) as origin:
        clients = [connected(origin) for _ in range(CONNECTIONS + 1)]
        assert clients[-1].recv(1) == b""
        for client in clients:
            client.close()


def test_a_client_under_an_event_loop_is_served_like_any_other() -> None:
    async def statuses(client: httpx2.AsyncClient, url: str) -> list[int]:
        return [(await client.get(url)).status_code for _ in range(2)]

    async def asking(url: str) -> list[int]:
        async with httpx2.AsyncClient() as client:
            return await statuses(client, url)

    with Origin({"/a": b"acorn"}, {"/a": [Status(503), None, Status(503)]}) as origin:
        assert asyncio.run(asking(origin.url + "/a")) == [503, 200]
        assert trio.run(asking, origin.url + "/a") == [503, 200]


def test_a_fault_of_ones_own_answers_through_the_connection() -> None:
    @dataclass(frozen=True)
    class Echo:
        def answer(self, connection: Connection) -> None:
            connection.send_answer(Answer(418, {"X-Well": "no"}, connection.request.body))

    with Origin(faults={"/a": [Echo()]}) as origin:
        answer = said(origin, "POST", "/a", b"acorn")
    assert (answer.status, answer.headers["X-Well"], answer.body) == (418, "no", b"acorn")


def broken(faults: Iterable[Fault | None]) -> None:
    with Origin({"/a": b"acorn"}, {"/a": faults}) as origin:
        with suppress(RemoteDisconnected):
            said(origin, "GET", "/a")
        with suppress(RemoteDisconnected):
            said(origin, "GET", "/a")


def test_a_fault_that_is_broken_is_told_at_the_end_of_the_block() -> None:
    class Broken:
        def answer(self, connection: Connection) -> None:
            raise ZeroDivisionError(f"in the fault of {connection.request.path}")

    def script() -> Iterable[Fault | None]:
        yield None
        raise LookupError("in the script")

    with pytest.raises(ZeroDivisionError, match="in the fault of /a"):
        broken([Broken()])
    with pytest.raises(LookupError, match="in the script"):
        broken(script())


not_typed: Any = Status(503)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Origin({"a": b"acorn"}), "'a' does not begin with a slash: write '/a'"),
        (lambda: Origin({}, {"a": []}), "'a' does not begin with a slash: write '/a'"),
        (lambda: Origin({}, {"GET a": []}), "'a' does not begin with a slash: write '/a'"),
        (lambda: Origin({}, {"/a": not_typed}), r"give a list of faults"),
        (lambda: Status(0), "give a number from 100 to 999"),
        (lambda: Status(503, datetime(2038, 1, 1)), "with a time zone"),
        (lambda: Slow(-1.0), "give seconds, 0 or more"),
        (lambda: Slow(1.0, 0), "give a number of bytes, 1 or more"),
        (lambda: Late(float("nan")), "give seconds, 0 or more"),
        (lambda: Down(-1.0), "give seconds, 0 or more"),
        (lambda: Down("2"), r"Down\(seconds='2'\): give seconds, 0 or more"),  # type: ignore[arg-type]
        (lambda: Origin().url, "An Origin listens in its block"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_made(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises((ValueError, TypeError, RuntimeError), match=words):
        wrong()


def test_it_is_entered_once() -> None:
    with Origin() as origin:
        pass
    with pytest.raises(RuntimeError, match="entered only once"), origin:
        pass


def in_another_process(program: str) -> str:
    arguments = [sys.executable, "-W", "error", "-X", "dev", "-c", program]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
    return done.stdout + done.stderr


def test_a_program_that_never_leaves_its_block_ends() -> None:
    program = "from ixbackoff.testing.web import Origin; kept = Origin().__enter__(); print('end')"
    arguments = [sys.executable, "-c", program]
    done = subprocess.run(arguments, capture_output=True, check=True, timeout=30)  # noqa: S603
    assert done.stdout == b"end\n"


def test_nothing_is_left_open() -> None:
    program = """
from http.client import HTTPConnection
from ixbackoff.testing.web import Origin, Reset, Status, Truncated
with Origin({"/a": b"acorn"}, {"/a": [Status(503), Reset(), Reset(2), Truncated()]}) as origin:
    for _ in range(5):
        client = HTTPConnection(origin.host, origin.port)
        try:
            client.request("GET", "/a")
            client.getresponse().read()
        except Exception:
            pass
        client.close()
import gc
gc.collect()
"""
    assert in_another_process(program) == ""


def test_it_is_loaded_by_its_own_name_only() -> None:
    program = """
import sys
import ixbackoff.testing
print(sorted({"ixbackoff.testing.web", "email", "http", "selectors", "socket"} & set(sys.modules)))
"""
    assert in_another_process(program) == "[]\n"


def test_the_bodies_of_the_oldest_requests_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ixbackoff.testing.web.origin.BODIES_SIZE", 100)
    with Origin() as origin:
        for number in range(5):
            httpx2.put(f"{origin.url}/{number}", content=b"%d" % number * 30)
        httpx2.put(f"{origin.url}/large", content=b"x" * 200)
        assert [len(request.body) for request in origin.requests] == [0, 0, 0, 0, 0, 0]
        httpx2.put(f"{origin.url}/small", content=b"x" * 20)
        assert [request.target for request in origin.requests][-2:] == ["/large", "/small"]
        assert origin.requests[-1].body == b"x" * 20
        assert httpx2.get(f"{origin.url}/large").content == b"x" * 200
