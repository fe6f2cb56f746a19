"""Hostile answers: right bytes or a clear failure, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ixbackoff import N0, ClientError, Download, at
from ixbackoff.live import Connections, live, live_async, response_headers, response_headers_async
from ixbackoff.testing.web import Connection, Fault, Origin

from ..support.ways.live import PATIENT

ROOT = Path(__file__).parents[2]
FORGED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"


@pytest.mark.slow
def test_each_of_710_comes_out_as_its_own_bytes_or_as_a_clear_failure() -> None:
    words = [sys.executable, "-m", "tests.support.hostile.attacks", "turns"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)  # noqa: S603
    assert done.stdout.startswith("710 hostile answers"), done.stderr
    assert done.stdout.endswith("as promised\n"), done.stdout


class More(Fault):
    """Answers, keeps the connection, and sends what looks like another answer at once."""

    def __init__(self, *headers: bytes) -> None:
        self.said = b"\r\n".join([*headers, b"", FORGED])

    def answer(self, connection: Connection) -> None:
        connection.send(self.said)
        connection.wait_for_end()


MORE: dict[str, More] = {
    "a body for HEAD": More(b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(FORGED)),
    "a body of 204": More(b"HTTP/1.1 204 No", b"Content-Length: %d" % len(FORGED)),
    "another answer": More(b"HTTP/1.1 404 No", b"Content-Length: 0"),
    "another answer after chunks": More(
        b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", b"", b"0", b""
    ),
}


@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
def test_what_comes_behind_an_answer_is_not_taken_for_the_next(more: More, tmp_path: Path) -> None:
    with (
        Origin({"/a": b"acorn"}, {"HEAD /b": [more]}) as origin,
        Connections(PATIENT) as connections,
    ):
        with suppress(ClientError):
            response_headers(f"{origin.url}/b", connections=connections)
        command = Download(f"{origin.url}/a", str(tmp_path / "a"))
        at(N0).do(command).run(live(connections=connections))
    assert (tmp_path / "a").read_bytes() == b"acorn"


@pytest.mark.anyio
@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
async def test_nor_in_an_event_loop(more: More, tmp_path: Path) -> None:
    with Origin({"/a": b"acorn"}, {"HEAD /b": [more]}) as origin:
        async with Connections(PATIENT) as connections:
            with suppress(ClientError):
                await response_headers_async(f"{origin.url}/b", connections=connections)
            command = Download(f"{origin.url}/a", str(tmp_path / "a"))
            await at(N0).do(command).run_async(live_async(connections=connections))
    assert (tmp_path / "a").read_bytes() == b"acorn"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
