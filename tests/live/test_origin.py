"""The origin that fails by a script: it does so, and it ends."""

from __future__ import annotations

import os
import socket
import threading
import time
from itertools import repeat

import pytest

from ixbackoff.squirrel.faults import Down, Hang, Slow, Status
from ixbackoff.squirrel.origin import CONNECTIONS, Origin

from ..support.origins import SYNC


def asked(origin: Origin, text: bytes) -> bytes:
    host, port = origin.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5.0) as client:
        client.sendall(text)
        return b"".join(iter(lambda: client.recv(4096), b""))


def test_a_script_is_for_one_method_and_path_in_order() -> None:
    with Origin({"/a": b"acorn"}, {("HEAD", "/a"): [Status(503), None, Status(429)]}) as origin:
        said = [asked(origin, b"HEAD /a?b HTTP/1.1\r\n\r\n").split()[1] for _ in range(4)]
        assert said == [b"503", b"200", b"429", b"200"]
        assert asked(origin, b"GET /a HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\nacorn")
        assert asked(origin, b"GET /b HTTP/1.1\r\n\r\n").split()[1] == b"404"
        assert (
            asked(origin, b"PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nnut").split()[1] == b"405"
        )
    assert origin.counts == {
        ("HEAD", "/a"): 4,
        ("GET", "/a"): 1,
        ("GET", "/b"): 1,
        ("PUT", "/a"): 1,
    }


def test_down_means_refused_for_so_long_and_for_everyone() -> None:
    with Origin({"/a": b"acorn"}, {("GET", "/a"): [Down(0.2)]}) as origin:
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
    "text", [b"", b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"\x16\x03"]
)
def test_what_is_no_request_gets_no_answer(text: bytes) -> None:
    with Origin({}) as origin:
        host, port = origin.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=5.0) as client:
            client.sendall(text)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(100) == b""
    assert origin.requests == []


@pytest.mark.parametrize("fault", [Hang(), Slow(60.0), Down(60.0)], ids=repr)
def test_it_ends_at_once_whatever_its_clients_do(
    fault: Hang | Slow | Down, capfd: pytest.CaptureFixture[str]
) -> None:
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    with Origin({"/a": b"acorn"}, {("GET", "/a"): repeat(fault)}) as origin:
        host, port = origin.url.removeprefix("http://").split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(4)]
        for client in clients[:2]:
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
    with Origin({"/a": b"acorn"}, {("GET", "/a"): repeat(Hang())}) as origin:
        host, port = origin.url.removeprefix("http://").split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS + 1)]
        clients[-1].settimeout(5.0)
        assert clients[-1].recv(1) == b""
        for client in clients:
            client.close()
