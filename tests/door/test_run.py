"""`ixbackoff run MODULE:PROGRAM`: its value, its waits, and its exit statuses."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ixbackoff.__main__ import main
from ixbackoff._door.stderr_log import LOGGER, logged

from ..support import jobs
from ..support.processes import Child

JOBS = jobs.__name__


@pytest.fixture(autouse=True)
def no_other_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Overlook the handlers of pytest, so that the log goes where the command sends it."""
    monkeypatch.setattr(LOGGER, "hasHandlers", lambda: False)


def ran(capfd: pytest.CaptureFixture[str], words: str) -> tuple[int, str, str]:
    """The exit status of `run`, and what it writes on standard output and error."""
    try:
        status = main(["run", *words.replace("JOBS", JOBS).split()])
    except SystemExit as ended:
        status = int(ended.code or 0)
    return status, *capfd.readouterr()


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("JOBS:well", "value\n"),
        ("JOBS:data", '{"number": 1}\n'),
        ("JOBS:raw", "raw"),
        ("JOBS:decorated", "decorated\n"),
        ("JOBS:coroutine", "awaited\n"),
        ("JOBS:well --interpreter JOBS:mine", "mine\n"),
        ("JOBS:with_arguments -- http://localhost/ page", "http://localhost/page\n"),
        ("JOBS:with_arguments --schedule JOBS:quick -- [1] [2]", "[1, 2]\n"),
        ("JOBS:asking --interpreter JOBS:asked", "7\n"),
        ("JOBS:asking --interpreter JOBS:handlers", "7\n"),
        ("JOBS:asking --interpreter JOBS:awaited", "8\n"),
    ],
)
def test_the_value_is_on_standard_output(
    words: str, out: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ran(capfd, words) == (0, out, "")


def test_a_value_that_json_does_not_know(capfd: pytest.CaptureFixture[str]) -> None:
    assert ran(capfd, "JOBS:odd")[1].startswith("<object object")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            "JOBS:failing --schedule JOBS:quick",
            1,
            [
                "Throw: try 1 of 2 failed (NotReady: not there); waiting 0.01 s",
                "failing failed: NotReady: not there (tries: 2, waits: 1, 0.01 s in all)",
            ],
        ),
        (
            "JOBS:failing --within 0.5",
            1,
            [
                "failing failed: NotReady: not there (not tried again: a wait of 1 s would not end "
                "before the deadline of 0.5 s; tries: 1, waits: 0, 0 s in all)"
            ],
        ),
        (
            "JOBS:bug",
            1,
            [
                "bug failed: ValueError: invalid literal for int() with base 10: 'x' (not tried "
                "again: ValueError is not known to pass by itself; on=... can choose it; "
                "tries: 1, waits: 0, 0 s in all)"
            ],
        ),
        (
            "JOBS:open_program",
            2,
            [
                "open_program cannot be run: The program is open, it ends at N4: end it with "
                ".end(), or go down with .retry(...)."
            ],
        ),
        (
            "JOBS:asking",
            2,
            [
                "asking cannot be run: No handler for Ask: join one to the interpreter, "
                "interpreter | Ask.handled_by(...); live() answers the standard commands."
            ],
        ),
        (
            "JOBS:with_arguments",
            2,
            [
                "with_arguments needs the arguments url and path: "
                "write the arguments after --, or name a program."
            ],
        ),
        (
            "JOBS:well --interpreter JOBS:number",
            2,
            [
                f"argument --interpreter: {JOBS}:number is not an interpreter, but 3; "
                "--help tells more."
            ],
        ),
    ],
)
def test_each_failure_is_told_in_one_line(
    words: str, status: int, said: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    ended, out, err = ran(capfd, words)
    assert (ended, out) == (status, "")
    assert err.splitlines() == said


def test_a_log_that_somebody_has_set_up_stays_as_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = [*LOGGER.handlers]
    assert ran(capfd, "JOBS:failing --schedule JOBS:quick")[2].count("\n") == 2
    monkeypatch.undo()
    handler = logging.NullHandler()
    LOGGER.addHandler(handler)
    try:
        with logged():
            assert LOGGER.handlers == [*begun, handler]
    finally:
        LOGGER.removeHandler(handler)
    assert LOGGER.handlers == begun


@pytest.mark.parametrize(
    ("words", "status", "trace"),
    [
        (
            "JOBS:plain --rehearse 503,429:30,timeout,ok",
            0,
            [
                "     0.000  PAGE -> raised ServerError(503, None)",
                "     0.000  Delay(seconds=1.0, rung=4) -> None",
                "     1.000  PAGE -> raised Throttled(30.0)",
                "     1.000  Delay(seconds=30.0, rung=3) -> None",
                "    31.000  PAGE -> raised TimeoutError('rehearsed')",
                "    31.000  Delay(seconds=30.0, rung=2) -> None",
                "    61.000  PAGE -> None",
                "    61.000  plain succeeds",
            ],
        ),
        (
            "JOBS:failing --rehearse ok",
            1,
            [
                "     0.000  Throw(error=NotReady('not there')) -> raised NotReady('not there')",
                "     0.000  Delay(seconds=1.0, rung=1) -> None",
                "     1.000  Throw(error=NotReady('not there')) -> raised NotReady('not there')",
                "     1.000  failing fails: NotReady: not there (tries: 2, waits: 1, 1 s in all)",
            ],
        ),
        (
            "JOBS:plain --rehearse 404",
            1,
            [
                "     0.000  PAGE -> raised ClientError(404)",
                "     0.000  plain fails: ClientError: client error 404: the same request will "
                "fail again (rehearsed; not tried again: ClientError is not known to pass by "
                "itself; on=... can choose it; tries: 1, waits: 0, 0 s in all)",
            ],
        ),
        (
            "JOBS:limited --rehearse ok@9,refused@2,ok:7@4",
            0,
            [
                "     0.000  PAGE -> raised TimeoutError('takes(9, None): the time limit is 5 s')",
                "     5.000  Delay(seconds=1.0, rung=4) -> None",
                "     6.000  PAGE -> raised ConnectionRefusedError('rehearsed')",
                "     8.000  Delay(seconds=2.0, rung=3) -> None",
                "    10.000  PAGE -> 7",
                "    14.000  limited succeeds: 7",
            ],
        ),
        (
            "JOBS:coroutine --rehearse reset,ok:done",
            0,
            [
                "     0.000  call_async(coroutine) -> raised ConnectionResetError('rehearsed')",
                "     0.000  Delay(seconds=0.01, rung=2) -> None",
                "     0.010  call_async(coroutine) -> 'done'",
                "     0.010  coroutine succeeds: 'done'",
            ],
        ),
    ],
)
def test_a_rehearsal(
    words: str, status: int, trace: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    ended, out, err = ran(capfd, words)
    page = "Download(url='http://localhost/page', path='page.html')"
    assert (ended, err) == (status, "")
    assert out.splitlines() == [line.replace("PAGE", page) for line in trace]


def test_a_rehearsal_needs_no_arguments_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    assert ran(capfd, "JOBS:with_arguments --rehearse ok:3")[1].endswith("succeeds: 3\n")
    status, out, _ = ran(capfd, "JOBS:endless --rehearse 503")
    assert status == 1
    assert out.endswith("endless has not ended after 1000 commands\n")


def test_a_rehearsal_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    words = "--rehearse 503,ok:3@2 --output-format json -- http://localhost/a"
    status, out, err = ran(capfd, f"JOBS:makes_for {words}")
    told = json.loads(out)
    assert (status, err) == (0, "")
    assert (told["program"], told["seconds"], told["failure"]) == ("makes_for", 3.0, None)
    page = "Download(url='http://localhost/a', path='page.html')"
    first, wait, last = told["trace"]
    assert first == {
        "at": 0.0,
        "command": page,
        "answer": None,
        "failure": "ServerError(503, None)",
    }
    assert (wait["at"], wait["command"]) == (0.0, "Delay(seconds=1.0, rung=2)")
    assert (last["at"], last["command"], last["answer"], told["value"]) == (1.0, page, "3", "3")


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        ("plain --rehearse 404", "ClientError: client error 404: the same request will fail"),
        ("endless --rehearse 503", "has not ended after 1000 commands"),
    ],
)
def test_a_rehearsal_that_fails_as_json(
    words: str, failure: str, capfd: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = ran(capfd, f"JOBS:{words} --output-format json")
    told = json.loads(out)
    assert (status, told["value"]) == (1, None)
    assert told["failure"].startswith(failure)


def test_only_a_rehearsal_has_a_format(capfd: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capfd, "JOBS:well --output-format json")
    assert (status, err) == (2, "--output-format is for --rehearse; --help tells more.\n")


@pytest.mark.parametrize("wrong", ["maybe", "200x", "503:soon", "503@", "ok,", "200", "timeout:3"])
def test_what_is_not_an_outcome(wrong: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capfd, f"JOBS:plain --rehearse {wrong}")
    assert (status, out) == (2, "")
    assert "is not an outcome: give ok, ok:VALUE, 503" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["slow", "sleeping"])
def test_ctrl_c_in_a_wait(name: str, tmp_path: Path) -> None:
    tmp_path.joinpath("waiting.py").write_text(
        "from ixbackoff import *\n"
        "slow = at(N4).retry(Throw(NotReady('not there')))\n"
        "async def fail(): raise NotReady('not there')\n"
        "sleeping = at(N4).retry(call_async(fail))\n"
    )
    with Child(
        [sys.executable, "-m", "ixbackoff", "run", f"waiting:{name}"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert "waiting 1 s" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "Interrupted.\n"
        assert process.wait(10) == 130


def test_a_closed_pipe(tmp_path: Path) -> None:
    tmp_path.joinpath("long.py").write_text(
        "from ixbackoff import *\ntext = at(N0).do(call(str, 'x' * 1_000_000))\n"
    )
    with Child(
        [sys.executable, "-m", "ixbackoff", "run", "long:text"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(10) == 1
