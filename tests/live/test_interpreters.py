"""The live interpreters themselves: commands that need no service, and what is imported when."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import threading
import time
from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff import N0, N2, Download, Exponential, Log, Throw, Upload, at, call
from ixbackoff._running.sleeping import LONGEST_SLEEP
from ixbackoff.schedules import Listed
from ixbackoff.testing.web import Fault, Hang, Malformed, Origin, Redirect, Reset, Status, Truncated

from ..support.ways.live import SYNC, Way, each_way


@each_way
def test_log_goes_to_logging_and_is_not_a_format(
    way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    way.run(at(N0).do(Log("100 %s of {it}")).do(Log("ouch", logging.ERROR)))
    way.run(at(N0).do(Log("elsewhere", 10)), logger=logging.getLogger("other"))
    assert [told for told in caplog.record_tuples if told[0] != "asyncio"] == [
        ("ixbackoff", logging.INFO, "100 %s of {it}"),
        ("ixbackoff", logging.ERROR, "ouch"),
        ("other", logging.DEBUG, "elsewhere"),
    ]


@each_way
def test_throw_raises_and_call_calls(way: Way) -> None:
    assert way.run(at(N0).do(call(pow, 2, 5))) == 32
    error = LookupError("no such nut")
    with pytest.raises(LookupError) as caught:
        way.run(at(N0).do(Throw(error)))
    assert caught.value is error


@each_way
def test_delay_sleeps(way: Way) -> None:
    begin = time.monotonic()
    way.run(at(N2).wait().wait(), schedule=Exponential(base=0.05))
    assert time.monotonic() - begin >= 0.15


def test_no_delay_is_too_long_for_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    SYNC.run(at(N2).wait().wait(), schedule=Listed([5.0, 1e308]))
    assert slept == [5.0, LONGEST_SLEEP]


def open_files() -> int:
    """Count the open files, once threads of other tests have closed theirs."""
    count, again = -1, len(os.listdir("/proc/self/fd"))
    while count != again:
        time.sleep(0.3)
        count, again = again, len(os.listdir("/proc/self/fd"))
    return count


@each_way
def test_nothing_is_left_open(way: Way, tmp_path: Path) -> None:
    faults: list[Fault] = [
        Hang(),
        Malformed(),
        Redirect("/a"),
        Reset(10),
        Status(503),
        Truncated(5),
    ]
    with Origin({"/a": b"acorn" * 1000}) as origin:
        threads = threading.active_count()
        command = Download(f"{origin.url}/a", str(tmp_path / "a"))
        upload = Upload(command.path, (tmp_path / "store" / "key").as_uri())
        way.perform(command)  # what the libraries open once and keep, they open now
        way.perform(upload)
        gc.collect()  # what other tests have left
        before = open_files()
        for fault in faults:
            origin.script("GET /a", repeat(fault))
            with pytest.raises(Exception, match="/a"):
                way.perform(command)
        origin.script("GET /a", ())
        way.perform(command)
        with pytest.raises(ValueError, match="does not name a store"):
            way.perform(Upload(command.path, "nowhere"))
        way.perform(upload)
        while threading.active_count() > threads:
            time.sleep(0.01)  # the origin closes its side
        assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("missing", "command", "used_by"),
    [
        ("httpx2", "Download('http://localhost/a', 'a')", "Download"),
        ("obstore", "Upload('pyproject.toml', 'memory:///a')", "Upload"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    missing: str, command: str, used_by: str
) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None
from ixbackoff import N0, Download, Log, Upload, at
from ixbackoff.live import live
at(N0).do(Log("ready")).run(live())
try:
    at(N0).do({command}).run(live())
except ImportError as error:
    print(error)
"""
    assert (
        said_by(program)
        == f"{used_by} needs {missing}: pip install '.[live]' in a checkout of ixbackoff\n"
    )


def test_what_is_not_used_is_not_imported() -> None:
    program = """
import sys
from ixbackoff import N0, Log, at
from ixbackoff.live import live, live_async
at(N0).do(Log("ready")).run(live())
live_async()
print(sorted({"anyio", "asyncio", "httpx2", "obstore", "trio"} & set(sys.modules)))
"""
    assert said_by(program) == "[]\n"


def said_by(program: str) -> str:
    """Run a program in a process of its own, and return what it prints."""
    arguments = [sys.executable, "-c", program]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout  # noqa: S603
