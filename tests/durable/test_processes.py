"""Processes and engines: one works on a file, and what Ctrl-C or a kill leaves behind goes on."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, SIGKILL
from typing import Any

import pytest

from ixbackoff import N1, Constant, Misuse, at, call
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live

from ..support.durable.engines import until, url_in, working
from ..support.durable.pressed import fetching
from ..support.kills.programs import Record, copy, interpreter
from ..support.processes import Child

ROOT = Path(__file__).parents[2]


@durable(name="title")
def title(text: str) -> Any:
    return at(N1).retry(call(str.title, text))


@durable(name="nap", schedule=Constant(0.3))
def nap() -> Any:
    return at(N1).do(call(str, 1)).wait().do(call(str, 2))


@contextmanager
def worker(database: str, record: Record) -> Generator[subprocess.Popen[str]]:
    """Another process that performs runs."""
    with Child(
        [sys.executable, "-m", "tests.support.kills.programs", database, "60", "copy"],
        cwd=ROOT,
        env=os.environ | {"RECORD": str(record.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.slow
def test_one_process_works_on_a_file_until_it_is_dead(tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    with worker(url_in(tmp_path), record) as other:
        with pytest.raises(
            Misuse, match=r"Another worker performs the runs in .*/runs\.sqlite: start"
        ):
            Engine(interpreter(record), copy, database=url_in(tmp_path))
        with working(tmp_path, interpreter(record), copy, worker=False) as client:
            client.start_with_id("copy-0", copy, "copy-0")
            until(record.read)
        other.send_signal(SIGKILL)
        other.wait()
        with working(tmp_path, interpreter(record), copy) as engine:
            assert engine.start_with_id("copy-0", copy, "copy-0").result()[0] == "copy-0"
    assert {one.process for one in record.read()} == {str(other.pid), str(os.getpid())}


def in_a_fork(function: Callable[[], Any]) -> tuple[int, str]:
    """Do something in a forked process; return its id, and what it returned or raised."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            said = repr(function())
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    os.waitpid(process, 0)
    return process, said


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_an_engine_is_not_used_in_a_fork(tmp_path: Path) -> None:
    with working(tmp_path, live(), title) as engine:
        run = engine.start(title, "a")
        assert run.result() == "A"
        for use in (run.result, lambda: engine.start(title, "b")):
            assert "This engine belongs to the process that made it" in in_a_fork(use)[1]
        assert "None" in in_a_fork(engine.close)[1]
        other = url_in(tmp_path).replace("runs", "others")
        _, said = in_a_fork(lambda: Engine(live(), title, database=other))
        assert "This process was forked from a process with an engine" in said
        assert engine.start(title, "b").result() == "B"


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_does_not_hold_the_lock_of_a_file(tmp_path: Path) -> None:
    with working(tmp_path, live(), title):
        process = os.fork()
        if process == 0:
            time.sleep(20)
            os._exit(0)
    try:
        with working(tmp_path, live(), title) as engine:
            assert engine.start(title, "a").result() == "A"
    finally:
        os.kill(process, SIGKILL)
        os.waitpid(process, 0)


def test_an_engine_that_is_closed_begins_nothing_and_waits_for_nothing(tmp_path: Path) -> None:
    with working(tmp_path, live(), nap) as engine:
        slow = engine.start_with_id("slow", nap)
        waiting: list[BaseException] = []

        def wait() -> None:
            try:
                slow.result()
            except BaseException as error:
                waiting.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
    thread.join(5)
    said = "This engine is closed, so run slow continues in the next engine: make another one"
    assert [said in str(error) for error in waiting] == [True]
    with pytest.raises(Misuse, match="This engine is closed, so run x was not started"):
        engine.start_with_id("x", nap)
    engine.close()
    with working(tmp_path, live(), nap) as again:
        assert again.start_with_id("slow", nap).result() == "2"
    assert slow.result() == "2"


def test_an_engine_is_used_by_many_threads(tmp_path: Path) -> None:
    results: list[str] = []

    def use(number: int) -> None:
        results.append(engine.start_with_id(f"run {number % 5}", title, f"a{number % 5}").result())

    with working(tmp_path, live(), title) as engine:
        threads = [threading.Thread(target=use, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert sorted(results) == sorted(f"A{number % 5}" for number in range(20))


class Origin:
    """A server whose first answer never comes."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/a"
        self.asked = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        first, _ = self.listening.accept()
        self.asked.set()
        second, _ = self.listening.accept()
        with first, second:
            second.recv(10_000)
            second.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["in a wait", "in a command"])
def test_ctrl_c_leaves_nothing_that_runs_and_the_next_engine_goes_on(
    moment: str, tmp_path: Path
) -> None:
    origin = Origin()
    file = str(tmp_path / "file")
    if moment == "in a wait":
        socket.create_connection(origin.listening.getsockname()).close()  # the first is answered
    words = [url_in(tmp_path), "one", origin.url, file]
    with Child(
        [sys.executable, "-m", "tests.support.durable.pressed", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        if moment == "in a command":
            assert origin.asked.wait(10)
        process.send_signal(SIGINT)
        pressed = time.monotonic()
        _, said = process.communicate(timeout=20)
    assert time.monotonic() - pressed < 3.0
    assert process.returncode == -SIGINT
    assert said.splitlines()[-1] == "KeyboardInterrupt"
    assert said.count("Traceback") == 1
    with working(tmp_path, live(), fetching) as engine:
        engine.start_with_id("one", fetching, origin.url, file).result()
    origin.thread.join(5)
    origin.listening.close()
    assert Path(file).read_text() == "hello"
