"""Live commands that are over their time end, over real sockets, whatever the other side does."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from email.utils import formatdate
from itertools import repeat
from pathlib import Path
from threading import Timer, get_ident
from typing import TypeAlias

import pytest

from ixbackoff import (
    N0,
    N5,
    ClientError,
    DeadlineExceeded,
    Download,
    Exponential,
    ServerError,
    all_of,
    at,
    call,
    do,
)
from ixbackoff.live import Limits, live, response_headers
from ixbackoff.testing.web import Fault, Hang, Late, Origin, Redirect, Status

from ..support.ways.live import (
    ASYNC,
    IN_ALL,
    PATIENT,
    SECONDS,
    SYNC,
    Drip,
    Way,
    each_async_way,
    each_way,
    full,
    nothing_left,
    one_by_one,
    peer,
    taking,
)

OFTEN = Exponential(base=0.1)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
pytestmark = pytest.mark.slow

Server: TypeAlias = Callable[[], AbstractContextManager[str]]


@pytest.fixture(autouse=True, scope="module")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let the libraries read now what they read once, such as certificates."""
    path = str(tmp_path_factory.mktemp("folder") / "a")
    for way in (SYNC, *ASYNC):
        with Origin({"/a": b"acorn"}) as origin:
            way.perform(Download(f"{origin.url}/a", path))


@contextmanager
def redirecting() -> Generator[str]:
    for_ever = repeat(Late(0.1, Redirect("/a")))
    with Origin({}, {"GET /a": for_ever, "HEAD /a": for_ever}) as origin:
        yield f"{origin.url}/a"


SERVERS: dict[str, Server] = {
    "takes no connection": full,
    "shakes no hands": lambda: peer(scheme="https"),
    "shakes hands by the byte": lambda: peer(
        *one_by_one(b"\x16\x03\x03\x10\x00\x02\x00\x0f\xf0\x03\x03" + bytes(100)), scheme="https"
    ),
    "never answers": peer,
    "drips headers": lambda: peer(*one_by_one(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100)),
    "asks for patience": lambda: peer(*[b"HTTP/1.1 102 Processing\r\n\r\n"] * 100),
    "redirects": redirecting,
    "stops in the body": lambda: peer(HEAD + b"acorn"),
    "drips the body": lambda: peer(HEAD, *one_by_one(b"x" * 100)),
}
each_server = pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS.keys())


@each_way
@each_server
def test_a_download_ends_with_its_program(way: Way, server: Server, tmp_path: Path) -> None:
    with nothing_left(tmp_path), server() as url:
        program = at(N0).do(Download(url, str(tmp_path / "a")))
        with taking(SECONDS), pytest.raises(DeadlineExceeded) as caught:
            way.run(program, limits=PATIENT, within=SECONDS)
    assert str(caught.value) == "not done within 0.2 s (Download was running)"
    assert isinstance(caught.value.__cause__, TimeoutError)
    if way is SYNC:
        assert str(caught.value.__cause__).startswith(f"GET {url}: not done within 0.")


@pytest.mark.parametrize(
    "name", ["takes no connection", "shakes no hands", "drips headers", "drips the body"]
)
def test_a_download_ends_by_its_own_limit(name: str, tmp_path: Path) -> None:
    with nothing_left(tmp_path), SERVERS[name]() as url:
        with taking(SECONDS), pytest.raises(TimeoutError) as caught:
            SYNC.perform(Download(url, str(tmp_path / "a")), limits=IN_ALL)
        assert str(caught.value) == f"GET {url}: not done within 0.2 s"


@each_async_way
def test_an_awaited_download_ends_by_its_own_limit(way: Way, tmp_path: Path) -> None:
    with nothing_left(tmp_path), SERVERS["drips the body"]() as url:
        with taking(SECONDS), pytest.raises(TimeoutError) as caught:
            way.perform(Download(url, str(tmp_path / "a")), limits=IN_ALL)
        assert str(caught.value) == f"GET {url}: not done within 0.2 s"


@pytest.mark.parametrize("name", ["takes no connection", "drips headers", "redirects"])
def test_headers_are_asked_for_in_time(name: str, tmp_path: Path) -> None:
    with nothing_left(tmp_path), SERVERS[name]() as url:
        program = at(N0).do(call(response_headers, url, limits=PATIENT))
        with taking(SECONDS), pytest.raises(DeadlineExceeded, match="Call was running") as caught:
            program.run(live(), within=SECONDS)
        assert str(caught.value.__cause__).startswith(f"HEAD {url}: not done within 0.")


def test_the_shorter_of_two_limits_is_kept(tmp_path: Path) -> None:
    with peer() as url:
        command = Download(url, str(tmp_path / "a"))
        with taking(SECONDS), pytest.raises(TimeoutError, match=r"GET .* within 0\.2 s"):
            SYNC.run(at(N0).do(command), limits=IN_ALL, within=5.0)
        with taking(SECONDS), pytest.raises(DeadlineExceeded, match=r"within 0\.2 s"):
            SYNC.run(at(N0).do(do(command).limit(SECONDS)), limits=PATIENT, within=5.0)


def test_a_second_address_gets_its_share_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = socket.getaddrinfo

    def known(
        host: str,
        port: int,
        family: int = 0,
        type: int = 0,  # noqa: A002
    ) -> list[tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]]:
        hosts = ("127.0.0.2", "127.0.0.1") if host == "localhost" else (host,)
        found = [asked(address, port, family, type) for address in hosts]
        return [(*one[:4], one[4]) for several in found for one in several]

    monkeypatch.setattr(socket, "getaddrinfo", known)
    with Origin({"/a": b"acorn"}) as origin:
        port = int(origin.url.rpartition(":")[2])
        command = Download(f"http://localhost:{port}/a", str(tmp_path / "a"))
        with full("127.0.0.2", port), taking(SECONDS / 2):
            SYNC.run(at(N0).do(command), limits=PATIENT, within=SECONDS)
    assert (tmp_path / "a").read_bytes() == b"acorn"


def test_a_proxy_has_no_more_time_than_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nothing_left(tmp_path), peer(*one_by_one(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100)) as url:
        monkeypatch.setenv("https_proxy", url)
        program = at(N0).do(Download("https://localhost/a", str(tmp_path / "a")))
        with taking(SECONDS), pytest.raises(DeadlineExceeded):
            SYNC.run(program, limits=PATIENT, within=SECONDS)


@each_way
def test_a_ladder_gives_up_in_time_where_nothing_is_answered(way: Way, tmp_path: Path) -> None:
    with nothing_left(tmp_path), Origin({}, {"GET /a": repeat(Hang())}) as origin:
        program = at(N5).retry(Download(f"{origin.url}/a", str(tmp_path / "a")))
        with taking(1.0), pytest.raises(DeadlineExceeded) as caught:
            way.run(program, limits=Limits(), schedule=OFTEN, within=1.0)
    assert str(caught.value) == "not done within 1 s (Download was running)"
    assert origin.counts["GET /a"] == 1


@each_way
def test_a_ladder_begins_no_wait_that_would_end_too_late(way: Way, tmp_path: Path) -> None:
    with nothing_left(tmp_path), Origin({}, {"GET /a": repeat(Status(503))}) as origin:
        program = at(N5).retry(Download(f"{origin.url}/a", str(tmp_path / "a")))
        with taking(0.3), pytest.raises(ServerError) as caught:
            way.run(program, schedule=OFTEN, within=0.6)  # 0.1 + 0.2, and 0.4 would be too long
    assert "0.4 s would not end before the deadline" in " ".join(caught.value.__notes__)
    assert origin.counts["GET /a"] == 3


@each_way
def test_a_server_that_asks_for_a_year_is_believed(way: Way, tmp_path: Path) -> None:
    year = 365 * 24 * 3600
    asked: list[int | str] = [year, formatdate(time.time() + year, usegmt=True)]
    script = [Status(503, retry_after) for retry_after in asked]
    with Origin({}, {"GET /a": script}) as origin:
        program = at(N5).retry(Download(f"{origin.url}/a", str(tmp_path / "a")))
        for _ in asked:
            with taking(0.0), pytest.raises(ServerError) as caught:
                way.run(program, within=10.0)
            assert caught.value.retry_after == pytest.approx(year, abs=5)
            assert "not tried again" in " ".join(caught.value.__notes__)
    assert origin.counts["GET /a"] == 2


@pytest.mark.parametrize("asked", ["Thu, 01 Jan 1970 00:00:00 GMT", "0", "-5", "soon", "1e-9", ""])
def test_no_answer_of_a_server_makes_a_wait_shorter(asked: str, tmp_path: Path) -> None:
    with Origin({"/a": b"acorn"}, {"GET /a": [Status(503, asked), None]}) as origin:
        program = at(N5).retry(Download(f"{origin.url}/a", str(tmp_path / "a")))
        with taking(0.1):
            SYNC.run(program, schedule=OFTEN, within=5.0)
    assert origin.counts["GET /a"] == 2


@pytest.mark.parametrize("hangs", [Hang(), Drip(HEAD)], ids=["silent", "dripping"])
def test_the_first_failure_of_some_at_once_ends_the_others_in_mid_download(
    hangs: Fault, tmp_path: Path
) -> None:
    faults: dict[str, Iterable[Fault]] = {
        "GET /slow": repeat(hangs),
        "GET /gone": repeat(Status(404)),
    }
    with nothing_left(tmp_path), Origin({}, faults) as origin, taking(0):
        some = [Download(f"{origin.url}/{name}", str(tmp_path / name)) for name in ("slow", "gone")]
        with pytest.raises(ClientError):
            at(N0).do(all_of(some)).run(live())


def test_ctrl_c_ends_some_downloads_at_once(tmp_path: Path) -> None:
    faults = {"GET /a": repeat(Hang()), "GET /b": repeat(Hang())}
    with nothing_left(tmp_path), Origin({}, faults) as origin, taking(0.5):
        some = [Download(f"{origin.url}/{name}", str(tmp_path / name)) for name in ("a", "b")]
        pressed = Timer(0.5, signal.pthread_kill, [get_ident(), signal.SIGINT])
        pressed.start()
        with pytest.raises(KeyboardInterrupt):
            at(N0).do(all_of(some)).run(live())
        pressed.join()
