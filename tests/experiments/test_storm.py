"""The post's server, client and storm for real: processes, sockets and signals, on loopback."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.experiments.crash import Get
from benchmarks.storm import client, scenario, server
from benchmarks.storm.client import Clients
from benchmarks.storm.descriptors import connections

SHORT = ["--port=0", "--steady=1", "--outage=1", "--watch=2", "--clients=60", "--think=0.5"]
TIME = r"^\w{3} \d\d \d\d:\d\d:\d\d\.\d{3}"
pytestmark = pytest.mark.slow
MAINS = {"server": server.main, "client": client.main, "run": scenario.main}


@contextmanager
def started(command: str, *words: str) -> Generator[subprocess.Popen[str]]:
    """A process of its own, that is ended in any case."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "benchmarks.storm", command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The next line of a process that matches."""
    assert process.stdout is not None
    for text in process.stdout:
        if found := re.search(pattern, text):
            return found
    raise AssertionError(f"It never said {pattern}.")


def port(process: subprocess.Popen[str]) -> int:
    return int(line(process, r"listening on 127\.0\.0\.1:(\d+)/api")[1])


def gone(number: int) -> bool:
    """True if the process of this number has ended, at once or soon."""
    for _ in range(50):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        with suppress(OSError):
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":  # nobody waits for it
                return True
        time.sleep(0.1)
    return False


def asked(at: int, text: str) -> bytes:
    with socket.create_connection(("127.0.0.1", at), timeout=5) as connection:
        connection.sendall(text.encode())
        answer = b""
        while piece := connection.recv(1000):
            answer += piece
        return answer


def test_the_server_answers_after_its_delay_and_tells_how_many_there_are() -> None:
    with started("server", "--port=0", "--seconds=20", "--base=0.5") as process:
        at = port(process)
        start = time.monotonic()
        assert asked(at, "GET /api HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
        assert 0.5 <= time.monotonic() - start < 1.0
        assert asked(at, "GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 404 ")
        assert asked(at, "x" * 10_000) == b""
        line(process, r"^\w{3} \d\d \d\d:\d\d:\d\d\.\d{3}: concurrency:    0, last delay: 500ms$")


def test_who_has_gone_keeps_the_place_and_no_place_is_left_then() -> None:
    with started("server", "--port=0", "--seconds=20", "--base=3", "--places=2") as process:
        at = port(process)
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", at), timeout=5) as connection:
                connection.sendall(b"GET /api HTTP/1.1\r\n\r\n")
        line(process, "concurrency:    2,")
        assert asked(at, "GET /api HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 503 ")


def test_the_server_ends_by_itself_and_at_sigterm() -> None:
    with ExitStack() as stack:
        alone = stack.enter_context(started("server", "--port=0", "--seconds=0.5"))
        ended = [stack.enter_context(started("server", "--port=0")) for _ in range(2)]
        for process, number in zip(ended, (signal.SIGTERM, signal.SIGINT), strict=True):
            port(process)
            process.send_signal(number)
            assert process.communicate(timeout=5)[1] == ""
            assert process.returncode == 0
        assert alone.wait(timeout=5) == 0


def test_the_clients_print_what_comes_of_their_requests(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "EVERY", 1.0)
    with started("server", "--port=0", "--seconds=30") as process:
        at = port(process)
        assert client.main([f"--port={at}", "--clients=50", "--think=0.4", "--seconds=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    pattern = r"OK: ([\d.]+) req/sec, errors: 0\.00 req/sec, timedout: 0\.00 req/sec"
    rates = [float(found[1]) for found in map(re.compile(pattern).fullmatch, lines) if found]
    assert len(rates) == 2
    assert rates[1] == pytest.approx(50 / 0.5, rel=0.3)


def test_requests_that_take_too_long_and_connections_that_are_refused_are_counted() -> None:
    async def both() -> tuple[client.Counts, client.Counts]:
        return await asyncio.gather(counted(at, words, 1.5), counted(unserved, words, 1.0))

    with (
        started("server", "--port=0", "--seconds=30", "--base=10") as process,
        socket.socket() as bound,
    ):
        bound.bind(("127.0.0.1", 0))
        unserved = bound.getsockname()[1]
        at = port(process)
        words = client.parsed([f"--port={at}", "--clients=5", "--think=0.01", "--timeout=0.2"])
        slow, refused = asyncio.run(both())
    assert slow.ok == 0
    assert 15 <= slow.timed_out <= 30
    assert slow.errors == 0
    assert refused.errors >= 25
    assert refused.ok == 0


async def counted(at: int, words: object, seconds: float) -> client.Counts:
    clients = Clients(words, at)  # type: ignore[arg-type]
    asking = asyncio.create_task(clients.run())
    await asyncio.sleep(seconds)
    counts = clients.counts
    asking.cancel()
    await asyncio.wait([asking])
    return counts


def test_short_storms_come_to_their_verdicts_and_leave_nobody() -> None:
    slow = ["--limit=0", "--factor=2", "--timeout=0.3", "--clients=200"]
    quiet = [*SHORT, "--most-lag=60"]
    with started("run", *quiet, "--verbose") as mild, started("run", *quiet, *slow) as hard:
        numbers = [int(line(one, r"server: process (\d+)")[1]) for one in (mild, hard)]
        said = [one.communicate(timeout=20) for one in (mild, hard)]
        assert (mild.returncode, hard.returncode) == (0, 0)
    assert [err for _, err in said] == ["", ""]
    for out, _ in said:
        assert "SIGSTOP" in out
        assert "SIGCONT" in out
        assert re.search(r"[01]\.\d\d s after SIGCONT: concurrency \d+, delay", out)
    assert said[0][0].endswith("verdict: it recovers\n")
    assert "concurrency:  " in said[0][0]
    assert said[1][0].endswith("verdict: it does not recover\n")
    assert all(map(gone, numbers))


def test_a_loop_that_lags_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = Clients.ask

    async def blocking(clients: Clients, command: Get) -> None:
        time.sleep(0.15)
        await ask(clients, command)

    monkeypatch.setattr(Clients, "ask", blocking)
    assert scenario.main([*SHORT, "--outage=0.1", "--clients=8"]) == 0
    *_, lag, verdict = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"lag of the clients' event loop: (\d+) ms at the 99th percentile", lag)
    assert found is not None
    assert int(found[1]) > 100
    assert verdict == "verdict: none, this machine is too loaded to judge"


def test_a_delay_that_overflows_holds_the_server() -> None:
    """With 64 bits, 55 requests would take more than 292 years each: one of them ends at once."""
    steep = ["--port=0", "--seconds=20", "--limit=0", "--factor=1000"]
    with ExitStack() as stack:
        servers = [
            (stack.enter_context(started("server", *steep, *flag)), held)
            for flag, held in [((), 100), (("--int64",), 54)]
        ]
        for process, _ in servers:
            at = port(process)
            for _ in range(100):
                connection = socket.create_connection(("127.0.0.1", at), timeout=5)
                stack.enter_context(connection).sendall(b"GET /api HTTP/1.1\r\n\r\n")
        for process, held in servers:
            line(process, rf"concurrency: +{held},")
            line(process, rf"concurrency: +{held},")


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        flag = f"--port={taken.getsockname()[1]}"
        for command in "server", "run":
            with started(command, flag) as process:
                out, err = process.communicate(timeout=10)
            assert (out, process.returncode) == ("", 2)
            assert "Address already in use" in err
            assert len(err.splitlines()) == 1


def test_a_server_that_dies_is_one_line() -> None:
    with started("run", *SHORT) as process:
        number = int(line(process, r"server: process (\d+)")[1])
        os.kill(number, signal.SIGKILL)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 1
    assert err == f"The server, process {number}, has ended by itself (signal 9).\n"


def test_no_permission_to_signal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kill = os.kill

    def refused(number: int, what: int) -> None:
        if what == signal.SIGSTOP:
            raise PermissionError
        kill(number, what)

    monkeypatch.setattr(os, "kill", refused)
    assert scenario.main(SHORT) == 1
    told = capsys.readouterr()
    number = re.search(r"server: process (\d+)", told.out)
    assert number is not None
    assert len(told.err.splitlines()) == 1
    assert "may not send SIGSTOP" in told.err
    assert gone(int(number[1]))


def test_the_server_ends_with_the_storm_even_while_it_is_stopped() -> None:
    with ExitStack() as stack:
        storms = {
            what: stack.enter_context(started("run", *SHORT, "--outage=60"))
            for what in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
        }
        for what, process in storms.items():
            number = int(line(process, r"server: process (\d+)")[1])
            line(process, "SIGSTOP")
            process.send_signal(what)
            _, err = process.communicate(timeout=10)
            assert process.returncode == (-9 if what == signal.SIGKILL else 130), what
            assert "Traceback" not in err
            assert gone(number), what


@pytest.mark.parametrize("program", MAINS)
@pytest.mark.parametrize("flag", ["--port=70000", "--nothing", "--port=x"])
def test_a_wrong_command_is_one_line(
    program: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        MAINS[program]([flag])
    assert ending.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("program", "flag"),
    [
        ("server", "--factor=0.5"),
        ("server", "--base=nan"),
        ("server", "--backlog=-1"),
        ("server", "--host=192.0.2.1"),
        ("client", "--host=example.com"),
        ("client", "--clients=0"),
        ("client", "--backoff=none"),
        ("client", "--think=0"),
        ("run", "--outage=0"),
        ("run", "--host=127.0.0.1"),
    ],
)
def test_numbers_out_of_bounds_are_one_line(
    program: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        MAINS[program]([flag])
    assert ending.value.code == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert flag.partition("=")[0] in said


def test_more_clients_than_connections_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "connections", lambda: 10)
    with pytest.raises(SystemExit):
        client.main(["--clients=11"])
    assert "10 connections" in capsys.readouterr().err


@pytest.mark.parametrize("program", MAINS)
def test_help(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        MAINS[program](["--help"])
    assert ending.value.code == 0
    assert f"python -m benchmarks.storm {program}" in capsys.readouterr().out


def test_this_process_may_have_connections() -> None:
    assert connections() >= 100
