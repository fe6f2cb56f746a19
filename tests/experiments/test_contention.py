"""The contention of "Exponential Backoff And Jitter": its published table, and its row."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.experiments.__main__ import main as experiments
from benchmarks.experiments.contention import (
    EXPERIMENT,
    TIMINGS,
    Contention,
    contention,
    update,
)
from benchmarks.experiments.experiment import aligned
from benchmarks.experiments.services.row import Moved, Read, Row, Write
from ixbackoff import FOREVER, N20, Constant, at, do
from ixbackoff.fleet import simulate

PAGE = Path(__file__).parent.parent.parent / "docs" / "contention.md"
PUBLISHED = {  # N = 100: calls, and milliseconds until all are done
    "none": (2421, 2029),
    "exponential": (1856, 63_289),
    "decorrelated": (997, 4723),
    "equal": (812, 6712),
    "full": (794, 4865),
}
CALLS, TIME = 0.03, 0.10  # how far from it 20 seeds may be
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hundred() -> dict[str, Contention]:
    runs = [contention([100], seed=seed) for seed in range(1000, 1020)]
    return {
        one.name: one._replace(
            calls=fmean(run[number].calls for run in runs),
            seconds=fmean(run[number].seconds for run in runs),
        )
        for number, one in enumerate(runs[0])
    }


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_what_was_published(hundred: dict[str, Contention], name: str) -> None:
    calls, milliseconds = PUBLISHED[name]
    assert hundred[name].calls == pytest.approx(calls, rel=CALLS)
    assert hundred[name].seconds * 1000 == pytest.approx(milliseconds, rel=TIME)


def test_the_order_is_what_was_published(hundred: dict[str, Contention]) -> None:
    assert set(PUBLISHED) == set(hundred)
    by_calls = sorted(PUBLISHED, key=lambda name: PUBLISHED[name][0])
    assert sorted(hundred, key=lambda name: hundred[name].calls) == by_calls
    by_time = sorted(PUBLISHED, key=lambda name: PUBLISHED[name][1])
    assert sorted(hundred, key=lambda name: hundred[name].seconds) == by_time


def test_the_first_wait_is_that_of_one_doubling() -> None:
    assert TIMINGS["exponential"].preview(3) == [0.010, 0.020, 0.040]
    for name, least, most in (
        ("equal", 0.005, 0.010),
        ("full", 0.0, 0.010),
        ("decorrelated", 0.005, 0.015),
    ):
        waits = [TIMINGS[name].preview(1, seed=seed)[0] for seed in range(500)]
        assert least <= min(waits) < least + 0.001
        assert most - 0.001 < max(waits) <= most


def test_one_client_reads_and_writes_once() -> None:
    for one in contention([1], row=Row(latency=0.01, deviation=0.0)):
        assert one.calls == 1
        assert one.seconds == pytest.approx(0.04)


def test_who_comes_too_late_reads_again() -> None:
    row = Row(latency=1.0, deviation=0.0)
    outcome = simulate(
        at(N20).retry(update()),
        row.serves(Read) | row.serves(Write),
        clients=2,
        seconds=99,
        schedule=Constant(0.5),
        trace=True,
    )
    [moved] = [one for one in outcome.trace if one.failure is not None]
    assert isinstance(moved.failure, Moved)
    assert (moved.client, moved.at) == (1, 2.0)
    written = [one for one in outcome.trace if isinstance(one.command, Write) and not one.failure]
    assert [(one.client, one.at, one.command) for one in written] == [
        (0, 2.0, Write(0)),
        (1, 6.5, Write(1)),
    ]
    assert outcome.ended == 8.5


def test_each_client_updates_once() -> None:
    row = Row()
    outcome = simulate(
        at(FOREVER).retry(update()),
        row.serves(Read) | row.serves(Write),
        clients=30,
        seconds=3600,
        schedule=TIMINGS["full"],
        trace=True,
    )
    versions = [
        one.command.version
        for one in sorted(outcome.trace, key=lambda one: one.at)
        if isinstance(one.command, Write) and one.failure is None
    ]
    assert versions == [*range(30)]  # nothing is written twice, nothing is lost


def test_a_write_of_an_older_version_is_refused_and_does_no_harm() -> None:
    row = Row()
    outcome = simulate(
        at(N20).retry(do(Write(7))), row.serves(Write) | row.serves(Read), clients=1, seconds=60
    )
    assert outcome.total(lambda second: second.well) == 0
    assert outcome.total(lambda second: second.failed) == 6  # after 0, 1, 3, 7, 15, 31 s


def test_the_same_seed_gives_the_same_table() -> None:
    assert contention([5], seed=3) == contention([5], seed=3) != contention([5], seed=4)


def test_the_means_are_those_of_the_single_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["contention", "--clients", "5", "--seeds", "2", "--seed", "3"]) == 0
    pairs = zip(contention([5], seed=3), contention([5], seed=4), strict=True)
    lines = capsys.readouterr().out.splitlines()[2:]
    for line, (one, other) in zip(lines, pairs, strict=True):
        assert line.split()[1] == f"{(one.calls + other.calls) / 2:.0f}"


def test_the_page_says_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    [printed] = re.findall(
        r"^```text printed by the first\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    lines = [line[:26].rstrip() for line in printed.splitlines()]  # of 20 clients, the quickest
    assert experiments(["contention", "--clients", "20"]) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_the_page_has_the_published_numbers() -> None:
    rows = re.findall(
        r"^\| (\w+) \| \d+ \| (\d+) \|[^|]*\| [\d ]+ \| ([\d ]+) \|", PAGE.read_text(), re.M
    )
    assert {
        name: (int(calls), int(time.replace(" ", ""))) for name, calls, time in rows
    } == PUBLISHED


def test_it_is_a_command_that_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["contention", "--clients", "2", "--seeds", "1", "--picture", f"{tmp_path}/new"]
    assert experiments(words) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:-2] == aligned(EXPERIMENT.rows(contention([2]))).splitlines()
    files = [Path(line) for line in out[-2:]]
    assert [file.name for file in files] == ["contention.png", "contention.svg"]
    assert all(file.stat().st_size > 5000 for file in files)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--clients", "0"], "argument --clients: 0: give a whole number, 1 to 1000"),
        (["--clients", "many"], "argument --clients: many: give a whole number, 1 to 1000"),
        (["--seeds", "0"], "argument --seeds: 0: give a whole number, 1 to 100000"),
        (["--seeds", "1.5"], "argument --seeds: 1.5: give a whole number, 1 to 100000"),
        (["--seed", "-1"], "argument --seed: -1: give a whole number, 0 to 4294967296"),
        (["--jitter", "full"], "unrecognized arguments: --jitter full"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        experiments(["contention", *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{said}; --help tells more.\n"


def test_a_folder_that_cannot_be_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    words = ["contention", "--clients", "1", "--seeds", "1", "--picture", f"{tmp_path}/file"]
    assert experiments(words) == 2
    assert "file cannot be used: File exists." in capsys.readouterr().err
