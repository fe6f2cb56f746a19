"""The live interpreters themselves: commands that need no service, and what is imported when."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff import N0, N2, Download, Exponential, Log, Throw, Upload, at, call
from ixbackoff._running.sleeping import LONGEST_SLEEP
from ixbackoff.schedules import Listed
from ixbackoff.testing.web import Fault, Hang, Malformed, Origin, Redirect, Reset, Status, Truncated

from ..support.ways.live import SYNC, Way, each_way, open_descriptors

ROOT = Path(__file__).parents[2]


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


FAULTS: dict[str, Fault] = {
    "/a/hang": Hang(),
    "/a/malformed": Malformed(),
    "/a/redirect": Redirect("/a/redirect"),
    "/a/reset": Reset(10),
    "/a/status": Status(503),
    "/a/truncated": Truncated(5),
}


@each_way
def test_nothing_is_left_open(way: Way, tmp_path: Path) -> None:
    """In a process of its own: here, other threads may open files and close theirs."""
    faults = {path: repeat(fault) for path, fault in FAULTS.items()}
    with Origin(dict.fromkeys(["/a", *FAULTS], b"acorn" * 1000), faults) as origin:
        words = f"{way.name!r}, {origin.url!r}, {str(tmp_path)!r}"
        code = f"from {__name__} import leave_nothing_open; leave_nothing_open({words})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)  # noqa: S603
        assert {f"GET {path}" for path in FAULTS} < {*origin.counts}


def leave_nothing_open(name: str, url: str, folder: str) -> None:
    way = Way(name)
    command = Download(f"{url}/a", f"{folder}/a")
    upload = Upload(command.path, (Path(folder) / "store" / "key").as_uri())
    way.perform(command)  # what the libraries open once and keep, they open now
    way.perform(upload)
    before = open_descriptors()
    for path in FAULTS:
        with pytest.raises(Exception, match=path):
            way.perform(Download(url + path, command.path))
    way.perform(command)
    with pytest.raises(ValueError, match="does not name a store"):
        way.perform(Upload(command.path, "nowhere"))
    way.perform(upload)
    assert open_descriptors() == before


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
