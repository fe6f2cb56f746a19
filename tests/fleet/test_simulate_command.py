"""The command line of the fleet, as a user has it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N0, N3, Call, Command, Download, Misuse, NotReady, at, call, do
from ixbackoff.fleet import Answering, BoundedQueue, Outage, simulate
from ixbackoff.fleet.fleet_subcommands import COMMANDS, main
from ixbackoff.testing import answers, takes

from ..support.ways.programs import Ask

SOURCE = """
from dataclasses import dataclass
from ixbackoff import (
    FOREVER, N3, RetryBudget, Command, Constant, Do, Download, Log, at, attempt, backoff,
)
from ixbackoff.testing import answers

@dataclass(frozen=True)
class GetETag(Command[str]):
    url: str

@attempt
def fetch(url: str) -> Do[GetETag | Download | Log, str]:
    etag = yield from GetETag(url)
    yield from Log(etag.upper())
    yield from Download(url, etag)
    return etag

page = at(N3).retry(Download("http://localhost/a", "a"))
copy = at(N3).retry(fetch("http://localhost/a"))
patient = at(FOREVER).retry(Download("http://localhost/a", "a"))
unfinished = at(N3).do(Download("http://localhost/a", "a"))
etags = GetETag.handled_by(lambda command: "1a")
few = GetETag.handled_by(answers("1a", "1b"))
awaited = GetETag.awaited_by(print)
number = 5
waits = Constant(0.5)

def each(client: int):
    return at(N3).retry(Download(f"http://localhost/{client}", "a"))

def fails(client: int):
    return 1 / 0

def gives_none(client: int):
    return None

@backoff(N3)
def decorated(number: int):
    return number

@backoff(N3, schedule=waits, within=9)
def in_time(number: int):
    return number
"""
SMALL = ["--clients", "50", "--think", "1", "--seconds", "40", "--outage", "10:5"]
PROGRAM = [sys.executable, "-m", "ixbackoff", "fleet"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("import nothing_like_this")
    (tmp_path / "wrong.py").write_text("x = = 1")
    (tmp_path / "exits.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in "mine", "broken", "wrong", "exits":
        sys.modules.pop(name, None)


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        try:
            status = main([*words])
        except SystemExit as ended:
            status = int(ended.code or 0)
        return status, *capsys.readouterr()

    return run


def test_a_program_of_the_users(run: Run) -> None:
    status, out, err = run("simulate", "mine:page", *SMALL)
    assert (status, err) == (0, "")
    words = [line.split()[0] for line in out.splitlines()]
    assert words == ["goodput", "load", "recovery", "latency", "gave", "events"]
    assert run("simulate", "mine:page", *SMALL) == (0, out, "")
    assert run("simulate", "mine:each", *SMALL) == (0, out, "")
    assert run("simulate", "mine:page", *SMALL, "--seed", "2")[1] != out


def test_a_decorated_function_of_the_users_with_its_own_schedule_and_deadline(run: Run) -> None:
    said = run("simulate", "mine:page", *SMALL)
    assert run("simulate", "mine:decorated", *SMALL) == said
    given = ["--schedule", "mine:waits", "--within", "9"]
    in_time = run("simulate", "mine:in_time", *SMALL)
    assert in_time == run("simulate", "mine:page", *SMALL, *given) != said


@pytest.mark.slow
def test_many_seeds(run: Run) -> None:
    words = ["simulate", "mine:page", *SMALL, "--budget", "finagle", "--shared", "--seed", "3"]
    here = run(*words, "--seeds", "3", "--jobs", "1")
    assert run(*words, "--seeds", "3", "--jobs", "2") == here
    status, out, _ = here
    head, *lines, verdict = out.splitlines()
    assert (status, head.split()) == (0, ["3", "seeds", "least", "median", "most"])
    assert verdict.split() == ["recovers", "3", "of", "3"]
    before = [run(*words[:-1], seed)[1].split()[1] for seed in ("3", "4", "5")]
    least, middle, most = lines[0].split()[-3:]
    assert [least, middle, most] == [f"{float(one):.3g}" for one in sorted(before, key=float)]


def test_many_seeds_of_a_service_that_does_not_come_back(run: Run) -> None:
    words = ["--clients", "4", "--think", "1", "--seconds", "20", "--outage", "10:10"]
    status, out, _ = run("simulate", "mine:page", *words, "--seeds", "2", "--jobs", "1")
    assert (status, out.splitlines()[-1].split()) == (1, ["recovers", "0", "of", "2"])
    assert out.splitlines()[-2].split()[-3:] == ["never"] * 3


def test_a_wrong_program_is_one_sentence_with_the_seed(run: Run) -> None:
    words = ["mine:fails", "--seeds", "2", "--seed", "5", "--jobs", "1"]
    status, out, err = run("simulate", *words)
    assert (status, out) == (2, "")
    assert err.endswith("ZeroDivisionError: division by zero (with seed=5)\n")


def test_what_is_told_is_what_was(run: Run) -> None:
    words = ["--clients", "4", "--think", "1", "--seconds", "60", "--outage", "10:50"]
    status, out, _ = run("simulate", "mine:page", *words, "--queue", "0", "--workers", "4")
    outcome = simulate(
        at(N3).retry(Download("http://localhost/a", "a")),
        BoundedQueue(0, 0.1, 4).serves(Download),
        clients=4,
        seconds=60,
        outages=[Outage(10, 50)],
        think=1,
    )
    well = outcome.rate(lambda second: second.well, 5, 10)
    gave_up = outcome.total(lambda second: second.gave_up)
    runs = gave_up + outcome.total(lambda second: second.well)
    assert outcome.gave_up == 3  # the fourth one's request is worked on, and stops
    assert status == 1
    assert out.splitlines()[0].startswith(f"goodput    {well:.1f} runs/s")
    assert out.splitlines()[2:] == [
        "recovery   not before the simulation ended",
        "latency    0.1 s in the median and 0.1 s at the 99th percentile of the runs that "
        "succeeded",
        f"gave up    75.0% of 4 clients, in {gave_up / runs:.1%} of {runs:.0f} runs",
        f"events     {outcome.events}",
    ]


def test_before_an_outage_at_the_beginning_there_is_nothing_to_compare_with(run: Run) -> None:
    status, out, _ = run("simulate", "mine:page", "--clients", "5", "--outage", "0:5")
    assert status == 1
    assert "the goodput before the outage is 0" in out


@pytest.mark.parametrize(
    "words",
    [
        ["--schedule", "mine:waits"],
        ["--schedule", "ixbackoff.schedules.published:post_blue"],
        ["--within", "3s"],
        ["--schedule", "0.1"],
        ["--budget", "grpc"],
        ["--budget", "finagle", "--shared"],
        ["--budget", "botocore", "--shared"],
        ["--service", "post", "--backlog", "3"],
        ["--queue", "1", "--workers", "2", "--time", "0.01"],
    ],
)
def test_each_flag_changes_what_comes_out(run: Run, words: list[str]) -> None:
    some = ["--clients", "1000", "--seconds", "40", "--outage", "10:15"]
    plain, changed = (
        run("simulate", "mine:page", *some),
        run("simulate", "mine:page", *some, *words),
    )
    assert changed[2] == ""
    assert changed[0] in (0, 1)
    assert changed[1] != plain[1]


def test_handlers_make_the_answers(run: Run) -> None:
    status, out, err = run("simulate", "mine:copy", *SMALL, "--answers", "mine:etags")
    assert (status, err) == (0, "")
    asked = float(out.splitlines()[1].split()[1])
    well = float(out.splitlines()[0].split()[1])
    assert asked > 1.8 * well > 0  # an ETag and a page for each


def test_pictures(run: Run, folder: Path) -> None:
    status, out, _ = run("simulate", "mine:page", *SMALL, "--picture", "new")
    assert status == 0
    assert out.splitlines()[-2:] == ["new/simulation.png", "new/simulation.svg"]
    assert (folder / "new/simulation.png").read_bytes().startswith(b"\x89PNG")
    assert "latency of runs, s" in (folder / "new/simulation.svg").read_text()


def test_a_picture_of_a_partial_outage_says_that_the_service_is_slower(
    run: Run, folder: Path
) -> None:
    run("simulate", "mine:page", *SMALL, "--outage", "5:5:0.5", "--picture", "new")
    drawn = (folder / "new/simulation.svg").read_text()
    assert "the service is slower" in drawn


def test_a_picture_of_many_seeds_says_that_it_shows_the_first(run: Run, folder: Path) -> None:
    words = ["simulate", "mine:page", *SMALL, "--seed", "3", "--seeds", "2", "--jobs", "1"]
    assert run(*words, "--picture", "new")[0] == 0
    assert " gave up (seed 3)<" in (folder / "new/simulation.svg").read_text()


WRONG: dict[str, tuple[list[str], str]] = {
    "no clients": (["mine:page", "--clients", "0"], "--clients"),
    "an outage longer than the run": (["mine:page", "--seconds", "20"], "not within the 20 s"),
    "an outage that is none": (["mine:page", "--outage", "5"], "START:LENGTH"),
    "no number": (["mine:page", "--outage", "nan:1"], "not within"),
    "no program": ([], "MODULE:NAME"),
    "no name": (["mine"], "write MODULE:NAME"),
    "no such module": (["nowhere:page"], "No module named 'nowhere'"),
    "no such name": (["mine:nothing"], "has no nothing"),
    "a module that fails": (["broken:page"], "No module named 'nothing_like_this'"),
    "a module with an error": (["wrong:page"], "SyntaxError"),
    "a module that exits": (["exits:page"], "SystemExit: 3"),
    "not a program": (["mine:number"], "not a program, but 5"),
    "an open program": (["mine:unfinished"], "open"),
    "a function that fails": (["mine:fails"], "ZeroDivisionError"),
    "a function that makes none": (["mine:gives_none"], "None is not a program"),
    "a command that nothing serves": (
        ["mine:copy"],
        "GetETag is answered with str, and no handler makes one: give an interpreter with "
        "GetETag.handled_by(...), on the command line as --answers MODULE:NAME.",
    ),
    "answers that end": (["mine:copy", "--answers", "mine:few"], "any number of times"),
    "answers that are none": (["mine:copy", "--answers", "mine:page"], "not an interpreter"),
    "answers that are awaited": (["mine:copy", "--answers", "mine:awaited"], "is async"),
    "no schedule": (["mine:page", "--schedule", "mine:page"], "not a schedule"),
    "an unknown flag": (["mine:page", "--speed", "9"], "--speed"),
    "an unknown service": (["mine:page", "--service", "cloud"], "cloud"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_sentence(run: Run, words: list[str], said: str) -> None:
    status, out, err = run("simulate", *words)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_folder_that_cannot_be_used(run: Run, folder: Path) -> None:
    (folder / "file").touch()
    status, _, err = run("simulate", "mine:page", *SMALL, "--picture", "file")
    assert (status, err) == (2, "file cannot be used: File exists.\n")


def started(folder: Path, *words: str, **how: Any) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).parent.parent.parent)
    return subprocess.Popen(  # noqa: S603
        [*PROGRAM, *words], cwd=folder, env={**os.environ, "PYTHONPATH": root}, **how
    )


def test_on_a_terminal_there_is_a_line_that_changes(folder: Path) -> None:
    ours, its = os.openpty()
    with started(
        folder, "simulate", "mine:page", *SMALL, stdout=subprocess.PIPE, stderr=its
    ) as process:
        os.close(its)
        out, _ = process.communicate(timeout=60)
    shown = b""
    try:
        while more := os.read(ours, 65_536):
            shown += more
    except OSError:  # all of it is read
        pass
    os.close(ours)
    assert process.returncode == 0
    assert out.startswith(b"goodput")
    *lines, end = shown.split(b"\r")[1:]
    assert end == b"\n"
    assert len(lines) >= 2
    assert lines[-1].split()[:2] == [b"39", b"s"]
    assert {len(line) for line in lines} <= {79, len(lines[0])}


def test_elsewhere_there_is_none(folder: Path) -> None:
    with started(
        folder, "simulate", "mine:page", *SMALL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"goodput")


def test_an_interrupt_ends_it_with_one_line(folder: Path) -> None:
    ours, its = os.openpty()
    words = ["simulate", "mine:patient", "--seconds", "1000000"]
    with started(folder, *words, stdout=subprocess.PIPE, stderr=its) as process:
        os.close(its)
        select.select([ours], [], [], 60)  # it runs
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    shown = os.read(ours, 1_000_000)
    os.close(ours)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in shown
    assert shown.endswith(b"\nInterrupted.\r\n")


def test_nobody_has_to_read_what_it_prints(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with started(folder, "--help", stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")


def test_the_dispatcher(run: Run) -> None:
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    assert all(name in out for name in COMMANDS)
    assert run() == (2, "", out)
    assert run("nonsense") == (2, "", f"nonsense is not a command.\n{out}")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(run: Run, name: str) -> None:
    status, out, err = run(name, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: ixbackoff fleet {name}")


def test_the_fleet_is_not_loaded_with_the_package() -> None:
    code = (
        "import sys, ixbackoff\n"
        "assert not [name for name in sys.modules if 'fleet' in name]\n"
        "import ixbackoff.fleet\n"
        "assert not {'argparse', 'asyncio', 'matplotlib', 'httpx2'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


class Count(Command[int]):
    __slots__ = ()


class Bigger(Count):
    __slots__ = ()


class Said(Command[int | None]):
    __slots__ = ()


class Untold(Command):  # type: ignore[type-arg]
    __slots__ = ()


def answered(command: Any, interpreter: Any = None, service: float = 0.1, **how: Any) -> Any:
    served = Answering(BoundedQueue(9, service), interpreter).serves(Command)
    return simulate(at(N0).do(command), served, clients=1, seconds=9, trace=True, **how).trace[0]


def test_the_service_has_the_time_and_the_handler_the_answer() -> None:
    counting = Count.handled_by(lambda _: 3)
    assert answered(Count(), counting).answer == 3
    assert answered(Bigger(), counting).answer == 3  # the nearest base's
    limited = answered(do(Count()).limit(1), counting, service=2.0)
    assert isinstance(limited.failure, TimeoutError)
    stopped = answered(do(Count()).limit(4), counting, outages=[Outage(0, 3)])
    assert stopped.answer == 3


def test_what_a_handler_raises_is_a_failure() -> None:
    def refuse(_: Count) -> int:
        raise NotReady

    assert isinstance(answered(Count(), Count.handled_by(refuse)).failure, NotReady)


@pytest.mark.parametrize("command", [Download("http://localhost", "a"), Said(), Untold()])
def test_none_is_the_answer_where_it_can_be(command: Command[Any]) -> None:
    assert answered(command).answer is None


@pytest.mark.parametrize("command", [Count(), Bigger(), Ask("x"), call(len, "abc")])
def test_none_is_no_answer_where_it_cannot_be(command: Command[Any]) -> None:
    with pytest.raises(Misuse, match="no handler makes one"):
        answered(command)


def test_scripts_that_are_for_tests_are_refused() -> None:
    with pytest.raises(Misuse, match="any number of times"):
        answered(Count(), Count.handled_by(answers()))
    with pytest.raises(Misuse, match="for Virtual"):
        answered(Count(), Count.handled_by(lambda _: takes(2, 3)))
    assert answered(call(len, "abc"), Call.handled_by(lambda command: 3)).answer == 3
