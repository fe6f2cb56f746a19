"""`ixbackoff plan`: what it says, its exit statuses, and that its verdicts are right."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from math import inf, nextafter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N4,
    Constant,
    Exponential,
    Fibonacci,
    NotReady,
    all_of,
    at,
    do,
    plan,
)
from ixbackoff.__main__ import main
from ixbackoff._door.platform_time_limits import SERVICES, ServiceLimit, fit
from ixbackoff.testing import Virtual, takes

from ..support import jobs
from ..support.generators import ladders
from ..support.processes import Child
from ..support.ways.programs import Ask

JOBS = jobs.__name__
RUNGS: list[Any] = [N0, N1, N2, N3, N4]


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status of a plan, and what it prints."""
    status = main(["plan", *words])
    return status, capsys.readouterr().out


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = planned(capsys, f"{JOBS}:limited", "--fits", "30", "--fits", "lambda")
    assert status == 1
    assert out.splitlines() == [
        "limited: at most 5 tries, 4 waits and 40 s in all",
        "",
        "rung  tries          from    then waits  if",
        "N4        1           0 s           1 s  failed  ###",
        "N3        1           6 s           2 s  failed  ######",
        "N2        1          13 s           4 s  failed  ############",
        "N1        1          22 s           8 s  failed  ########################",
        "N0        1          35 s             -",
        "",
        "no   does not fit 30 s: 40 s is 10 s too long; give it within=30, or a lower rung",
        "yes  fits lambda (15 min), with 14 min 20 s to spare",
    ]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("plain --fits 30", 0, "yes  fits 30 s, if no try takes longer than 3 s"),
        ("plain --fits 14", 1, "no   does not fit 14 s: 15 s without its tries is 1 s too long"),
        (
            "partly_limited --fits 30",
            1,
            "no   does not fit 30 s: 51 s without some tries is 21 s too long",
        ),
        ("partly_limited", 0, "The times leave out tries of unknown length: give --each"),
        ("plain --fits 15", 1, "no   does not fit 15 s: no time is left for a try"),
        ("plain --fits 40 --each 5", 0, "yes  fits 40 s, with 0 s to spare"),
        ("plain --fits 39 --each 5", 1, "no   does not fit 39 s: 40 s is 1 s too long"),
        ("limited --fits 25 --each 2", 0, "yes  fits 25 s, with 0 s to spare"),
        ("endless --fits 900", 1, "no   does not fit 15 min: it retries until it succeeds"),
        ("unknown --fits 9", 0, "yes  fits 9 s, if its tries take no more than 6 s"),
        ("plain --each 1 --schedule JOBS:quick", 0, "plain: at most 5 tries, 4 waits and 5.04 s"),
        ("decorated", 0, "decorated: at most 3 tries, 2 waits and 0.02 s of waiting"),
        ("with_arguments", 0, "with_arguments: at most 3 tries, 2 waits"),
        ("makes", 0, "makes: at most 5 tries"),
        ("makes_for -- http://localhost/page", 0, "makes_for: at most 3 tries"),
        ("makes_for --each 2s --fits 1m -- 3", 0, "yes  fits 1 min, with 51 s to spare"),
        ("with_arguments -- page 3", 0, "with_arguments: at most 3 tries, 2 waits"),
        ("Jobs.inner", 0, "Jobs.inner: at most 5 tries"),
        ("called", 0, "copy page: at most 5 tries"),
        ("endless", 0, "endless: tries without end, until it succeeds"),
        ("bounded --fits 30", 0, "bounded: tries without end, until it succeeds or 30 s are over"),
        ("bounded --fits 29", 1, "no   does not fit 29 s: 30 s is 1 s too long"),
        ("open_program", 0, "open_program: at most 1 try, 0 waits"),
        ("endless", 0, "and so on, with the last wait repeated"),
        ("unknown", 0, "N1        ?           1 s           2 s  perhaps"),
    ],
)
def test_what_it_says(
    words: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = words.replace("JOBS", JOBS).split()
    ended, out = planned(capsys, f"{JOBS}:{name}", *rest)
    assert ended == status
    assert said in out


def test_a_path_into_a_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, f"{Path(jobs.__file__)}:plain")[1].startswith("plain: at most 5 tries")


def test_a_file_in_the_current_folder(tmp_path: Path) -> None:
    tmp_path.joinpath("own_job.py").write_text(
        "from ixbackoff import N1, Log, at\njob = at(N1).retry(Log('hello'))\n"
    )
    for module in "own_job", "own_job.py", "./own_job.py", str(tmp_path / "own_job.py"):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ixbackoff", "plan", f"{module}:job"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.startswith("job: at most 2 tries")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("JOBS:plian", "tests.support.jobs:plian: the module has no plian; did you mean plain?"),
        ("JOBS:Jobs.outer", "tests.support.jobs:Jobs.outer: the type has no outer"),
        ("JOBS", "tests.support.jobs: write MODULE:NAME"),
        ("order.py", "order.py: write MODULE:NAME, such as order:NAME"),
        ("no_such_module:page", "cannot be imported: ModuleNotFoundError: No module named"),
        ("no/such/file.py:page", "no/such/file.py: there is no such file"),
        ("JOBS:number", "jobs:number is not a program, but 3"),
        ("JOBS:page", "jobs:page is a command, not a program: put it on a ladder, at(N3).retry"),
        ("JOBS:reading", "jobs:reading is an attempt, not a program: put it on a ladder"),
        ("JOBS:patiently", "jobs:patiently is a backoff, not a program: name a function that is"),
        ("JOBS:makes_for", "jobs:makes_for needs the argument url: write the arguments after --"),
        ("JOBS:makes_nothing", "jobs:makes_nothing returned 3, which is not a program"),
        ("JOBS:fails", "jobs:fails() failed: KeyError: 'page'"),
        ("JOBS:undecorated", "jobs:undecorated is a coroutine function: decorate it"),
        ("JOBS:Jobs", "jobs:Jobs is not a program, but <class"),
        (
            "JOBS:makes_for -- a b",
            "makes_for() failed: TypeError: makes_for() takes 1 positional a",
        ),
        ("JOBS:with_arguments -- a", "with_arguments needs the argument path: write the arguments"),
        ("JOBS:with_arguments -- a b c", "with_arguments() failed: TypeError: too many positional"),
        ("JOBS:plain -- a", "plain() failed: TypeError: 'Program' object is not callable"),
    ],
)
def test_what_makes_no_program_is_told_in_one_sentence(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in "plan", "run":
        with pytest.raises(SystemExit) as ended:
            main([command, *words.replace("JOBS", JOBS).split()])
        assert ended.value.code == 2
        told = capsys.readouterr().err
        assert said in told
        assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--fits soon", "soon: give seconds, 0 to 1e+09, a time such as 5m, or one of lambda, "),
        ("--fits -1", "-1: give seconds"),
        ("--each x", "x: give seconds, 0 to 1e+09, or a number with s, m or h, such as 5m"),
        ("--schedule JOBS:number", "jobs:number is not a schedule, but 3"),
        ("--output-format png", "invalid choice: 'png'"),
    ],
)
def test_wrong_words(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", f"{JOBS}:plain", *words.replace("JOBS", JOBS).split()])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_schedule_that_gives_unusable_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", f"{JOBS}:plain", "--schedule", f"{JOBS}:unusable"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("plain cannot be planned: ")
    assert told.count("\n") == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = planned(capsys, f"{JOBS}:limited", "--fits", "sqs", "--output-format", "json")
    found = json.loads(out)
    assert status == 1
    assert (found["tries"], found["wait_count"]) == (5, 4)
    assert (found["seconds"], found["longest"]) == (15, 40)
    assert found["commands"] == {"Download": 5}
    assert [rung["begins"] for rung in found["rungs"]] == [0, 6, 13, 22, 35]
    [fits] = found["fits"]
    assert (fits["service"], fits["limit"], fits["fits"]) == ("sqs", 30, False)
    endless = json.loads(planned(capsys, f"{JOBS}:endless", "--output-format", "json")[1])
    assert (endless["endless"], endless["tries"], endless["longest"]) == (True, None, None)


def drawn(capsys: pytest.CaptureFixture[str], *words: str) -> ElementTree.Element:
    return ElementTree.fromstring(  # noqa: S314
        planned(capsys, *words, "--output-format", "svg")[1]
    )


def of_class(picture: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [one for one in picture.iter() if kind in one.get("class", "").split()]


def words_in(picture: ElementTree.Element) -> set[str]:
    return {(one.text or "").strip() for one in picture.iter()}


def test_the_picture_says_what_to_see(capsys: pytest.CaptureFixture[str]) -> None:
    picture = drawn(capsys, f"{JOBS}:limited", "--fits", "30", "--fits", "60")
    [head] = of_class(picture, "head")
    assert head.text == "limited does not fit 30 s"
    assert len(of_class(picture, "try")) == 5 + 1  # one is in the key
    assert len(of_class(picture, "wait")) == 4 + 1
    assert [line.get("class") for line in of_class(picture, "limit")] == ["limit over", "limit"]
    assert {"30 s", "1 min", "a try", "wait if failed", "8 s"} <= words_in(picture)
    assert "fits 1 min, with 20 s to spare" in words_in(picture)
    style = next(one.text or "" for one in picture.iter() if one.tag.endswith("style"))
    assert "@media (prefers-color-scheme: dark)" in style


def test_a_limit_does_not_cross_the_seconds_of_a_wait(capsys: pytest.CaptureFixture[str]) -> None:
    for limit in range(28, 36):
        picture = drawn(capsys, f"{JOBS}:limited", "--fits", str(limit))
        [line] = of_class(picture, "over")
        [text] = [one for one in of_class(picture, "behind") if one.text == "8 s"]
        middle = text.get("text-anchor") == "middle"
        assert abs(float(text.get("x", "")) - float(line.get("x1", ""))) > (15 if middle else 6)


def test_a_limit_far_away_does_not_squeeze_the_picture(capsys: pytest.CaptureFixture[str]) -> None:
    picture = drawn(capsys, f"{JOBS}:limited", "--fits", "lambda")
    assert of_class(picture, "limit") == []
    assert "lambda (15 min) \N{RIGHTWARDS ARROW}" in words_in(picture)


@pytest.mark.parametrize("name", ["plain", "unknown", "endless", "skipping", "polling", "well"])
def test_every_program_can_be_drawn(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    picture = drawn(capsys, f"{JOBS}:{name}")
    places = [float(one.get("cx", 0)) for one in of_class(picture, "try")]
    assert all(0 <= place <= 600 for place in places)
    assert planned(capsys, f"{JOBS}:{name}", "--output-format", "mermaid")[1].count("[*]") == 2


def test_markers_and_dashes_stand_beside_colors(capsys: pytest.CaptureFixture[str]) -> None:
    assert "wait if well" in words_in(drawn(capsys, f"{JOBS}:polling"))
    assert "perhaps a wait" in words_in(drawn(capsys, f"{JOBS}:unknown"))
    assert len(of_class(drawn(capsys, f"{JOBS}:unknown"), "told")) == 3


def test_a_name_is_escaped(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(jobs, "plain", jobs.plain.named("<b> & c"))
    assert of_class(drawn(capsys, f"{JOBS}:plain"), "head")[0].text == (
        "<b> & c: at most 5 tries, 4 waits and 15 s of waiting"
    )


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "ixbackoff", *words]


def test_a_closed_pipe_and_no_terminal() -> None:
    with Child(
        command("plan", f"{JOBS}:plain"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_the_sources_of_all_limits_are_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    for name, seconds in SERVICES.items():
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert f"| {seconds:g} |" in row
        assert "http" in row


SECONDS = [0.25, 0.5, 2.0]
outcomes = st.sampled_from([1, 2, NotReady, OSError])
scripts = st.lists(st.tuples(st.sampled_from(SECONDS), outcomes), min_size=1, max_size=6)
late_scripts = st.lists(st.tuples(st.sampled_from([0.25, 9.0]), outcomes), min_size=1, max_size=6)
schedules = st.sampled_from([Exponential(), Constant(2), Fibonacci(), Exponential(0.5).jittered(2)])


def limit_of(effect: Any, seconds: float) -> Any:
    return do(effect).limit(seconds)


limited = st.recursive(
    st.builds(limit_of, ladders.effects, st.sampled_from(SECONDS)),
    lambda inner: st.one_of(
        st.builds(lambda one, other: do(one).or_else(other), inner, inner),
        st.builds(lambda one, other: all_of(one, other), inner, inner),
        st.builds(limit_of, inner, st.sampled_from(SECONDS)),
    ),
    max_leaves=4,
)


@st.composite
def limited_programs(draw: st.DrawFn) -> Any:
    """A program whose tries have limits, so that a plan knows how long it takes."""
    rung = draw(st.integers(0, 4))
    program: Any = at(RUNGS[rung])
    for _ in range(draw(st.integers(0, 6))):
        kinds = ["do", "or_else", *(["backoff", "wait", "skip"] if rung else [])]
        kind = draw(st.sampled_from(kinds))
        if kind in ("do", "or_else"):
            program = getattr(program, kind)(draw(limited))
        else:
            program, rung = getattr(program, kind)(), rung - 1
    last = draw(st.sampled_from(["retry", "resume", "end"]))
    return program.end() if last == "end" else getattr(program, last)(draw(limited))


def length(program: Any, script: Any, schedule: Any) -> float:
    """The seconds of virtual time that a run takes, answered by a script again and again."""
    number = 0

    def answer(_: Ask) -> Any:
        nonlocal number
        seconds, outcome = script[number % len(script)]
        number += 1
        return takes(seconds, outcome("failed") if isinstance(outcome, type) else outcome)

    world = Virtual(Ask.handled_by(answer))
    with suppress(NotReady, OSError):
        program.run(world.interpreter, schedule=schedule)
    return world.now


def fits(known: Any, seconds: float) -> bool:
    return fit(known, ServiceLimit("", seconds)).fits


@pytest.mark.slow
@settings(max_examples=200)
@given(limited_programs(), late_scripts, schedules)
def test_what_fits_is_done_in_time(program: Any, script: Any, schedule: Any) -> None:
    known = plan(program, schedule)
    assert known.longest is not None
    assert length(program, script, schedule) <= known.longest * (1 + 1e-12)
    assert fits(known, known.longest)
    assert fits(known, nextafter(known.longest, inf))
    assert not fits(known, nextafter(known.longest, -inf))


@pytest.mark.slow
@settings(max_examples=200)
@given(ladders.programs(), scripts, schedules)
def test_what_fits_with_tries_of_so_many_seconds_is_done_in_time(
    program: Any, script: Any, schedule: Any
) -> None:
    known = plan(program, schedule, each=3 * max(SECONDS))  # an effect has three commands at most
    if known.longest is not None:
        assert length(program, script, schedule) <= known.longest * (1 + 1e-12)
        assert fits(known, known.longest)
        assert not fits(known, nextafter(known.longest, -inf))


@given(st.integers(0, 4), st.sampled_from(SECONDS), st.sampled_from([Exponential(), Constant(3)]))
def test_the_worst_case_does_happen(rung: int, seconds: float, schedule: Any) -> None:
    program = at(RUNGS[rung]).retry(do(Ask("a")).limit(seconds))
    longest = plan(program, schedule).longest
    assert length(program, [(9.0, 1)], schedule) == longest
    unlimited = at(RUNGS[rung]).retry(Ask("a"))
    assert length(unlimited, [(seconds, NotReady)], schedule) == longest
    assert plan(unlimited, schedule, each=seconds).longest == longest


@given(st.integers(0, 4), st.sampled_from([1.0, 16.0, 40.0]))
def test_the_share_that_is_left_for_each_try_is_enough(rung: int, limit: float) -> None:
    program = at(RUNGS[rung]).retry(Ask("a"))
    known = plan(program)
    left = limit - known.seconds
    assert fits(known, limit) == (left > 0)
    if left > 0:
        assert fits(plan(program, each=left / (rung + 1)), limit + 1e-9)
        assert not fits(plan(program, each=left / (rung + 1) + 0.01), limit)
