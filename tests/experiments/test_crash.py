"""The crash: its verdicts, in closed form, as simulated and as measured; and its command."""

from __future__ import annotations

import re
from itertools import pairwise
from math import exp
from pathlib import Path
from statistics import median

import pytest

from benchmarks.experiments.__main__ import main as experiments
from benchmarks.experiments.crash import Crash, Get, PostShipped, asking, crash, crashed, ways
from ixbackoff import Constant
from ixbackoff.fleet import Outage, Outcome, SlowingServer, simulate
from ixbackoff.schedules.base import Timing

pytestmark = pytest.mark.slow


def simulated(seconds: float, outages: list[Outage], timing: Timing, backlog: int = 128) -> Outcome:
    return simulate(
        asking(),
        SlowingServer(backlog=backlog, lingering=30).serves(Get),
        clients=1000,
        seconds=seconds,
        schedule=timing,
        think=10.0,
        outages=outages,
        seed=1,
    )


def test_the_steady_state_is_that_of_the_closed_form() -> None:
    outcome = simulated(120, [], Constant(0.1))
    assert outcome.rate(lambda second: second.answered, 20, 120) == pytest.approx(
        1000 / 10.1, rel=0.02
    )
    assert 8 <= outcome.rate(lambda second: second.load, 20, 120) <= 11


def test_the_rate_of_the_storm_is_that_of_the_closed_form() -> None:
    outcome = simulated(100, [Outage(5, 95)], Constant(0.1))
    assert outcome.rate(lambda second: second.late, 65, 100) == pytest.approx(1000 / 2.1, rel=0.02)


@pytest.fixture(scope="module")
def crashes() -> dict[tuple[int, str], Crash]:
    return {(one.backlog, one.way): one for one in crash()}


RECOVERS = {
    (128, "exponential"): True,
    (128, "as shipped"): True,
    (4096, "fixed"): False,
    (4096, "exponential"): False,
    (4096, "as shipped"): True,
}
"""After 20 s; with the short queue and fixed waits that is just where it tips over."""

MEASURED = {
    (128, "fixed"): 1378,
    (128, "exponential"): 24,
    (4096, "fixed"): 4916,
    (4096, "exponential"): 4095,
}
"""One second after SIGCONT, by `python -m benchmarks.storm run`; see docs/crash.md."""


@pytest.mark.parametrize("key", RECOVERS, ids=str)
def test_the_verdicts(key: tuple[int, str], crashes: dict[tuple[int, str], Crash]) -> None:
    assert crashes[key].recovers == RECOVERS[key]


ORIGINALS = {
    ("fixed", 5): None,
    ("fixed", 10): 1089,
    ("fixed", 20): 1378,
    ("exponential", 5): None,
    ("exponential", 10): 818,
    ("exponential", 20): None,
}
"""With 128 places: how many at once, one second after SIGCONT, where the original is lost."""


@pytest.mark.parametrize("key", ORIGINALS, ids=str)
def test_the_short_queue_is_lost_after_the_outages_that_the_original_is_lost_after(
    key: tuple[str, int],
) -> None:
    name, outage = key
    [way] = [way for way in ways() if way.name == name]
    server = SlowingServer(backlog=128, lingering=30)
    some = [crashed(way, server, 1000, 15, outage, 8, seed) for seed in range(3)]
    at_once = ORIGINALS[key]
    assert [one.recovers for one in some] == [at_once is None] * 3
    if at_once is not None:
        assert median(one.after for one in some) == pytest.approx(at_once, rel=0.1)


def test_a_client_that_closes_its_sockets_tips_over_later() -> None:
    fixed, *_ = ways()
    server = SlowingServer(backlog=128)
    verdicts = [
        [crashed(fixed, server, 1000, 15, outage, 8, seed).recovers for seed in range(2)]
        for outage in (10, 60)
    ]
    assert verdicts == [[True] * 2, [False] * 2]


def test_nanoseconds_in_64_bits_hold_the_server_where_they_overflow() -> None:
    """The original stays at 7792 at once, and answers 47 to 98 requests a second by accident."""
    fixed, *_ = ways()
    one = crashed(fixed, SlowingServer(int64=True, lingering=30), 1000, 15, 20, 40, 1)
    assert {second.load for second in one.outcome.seconds[-20:]} == {7792}
    assert 20 < one.last < 100
    assert not one.recovers


@pytest.mark.parametrize("key", MEASURED, ids=str)
def test_so_many_at_once_one_second_later_as_were_measured(key: tuple[int, str]) -> None:
    backlog, name = key
    [way] = [way for way in ways() if way.name == name]
    server = SlowingServer(backlog=backlog, lingering=30)
    after = [crashed(way, server, 1000, 15, 20, 2, seed).after for seed in range(5)]
    assert median(after) == pytest.approx(MEASURED[key], rel=0.15)


def test_what_takes_too_long_while_it_is_stopped_is_that_of_the_clients(
    crashes: dict[tuple[int, str], Crash],
) -> None:
    """Of those that have tried by then, each takes too long every 2.1 s."""
    tried = [1 - exp(-seconds / 10.0) for seconds in range(13, 18)]  # 2 s ago, in those 5 s
    expected = 1000 * (sum(tried) + 0.5 * (tried[-1] - tried[0]) / 4) / 5 / 2.1
    for backlog in 128, 4096:
        assert crashes[backlog, "fixed"].rate == pytest.approx(expected, rel=0.05)


def test_the_same_seed_gives_the_same_crash() -> None:
    some = [crash(5, backlog=[3], clients=40, watch=5, seed=seed) for seed in (1, 1, 2)]
    assert some[0] == some[1] != some[2]


def test_the_shipped_waits_begin_with_the_time_to_think_and_can_shorten() -> None:
    timing = PostShipped()
    runs = [timing.preview(8, seed=seed) for seed in range(2000)]
    assert sum(run[0] for run in runs) / len(runs) == pytest.approx(10.0, rel=0.1)
    assert any(later < wait for run in runs for wait, later in pairwise(run))
    assert all(wait >= 0 for run in runs for wait in run)
    assert max(wait for run in runs for wait in run[1:]) < 302
    exact = PostShipped(deviation=0.0).preview(3, seed=5)
    assert [later / wait for wait, later in pairwise(exact)] == [pytest.approx(2.71828)] * 2


@pytest.mark.parametrize("name", ["think", "factor", "max_delay", "deviation"])
def test_shipped_numbers_out_of_bounds_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        PostShipped(**{name: -1.0})


def test_the_page_has_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["crash"]) == 0
    page = (Path(__file__).parent.parent.parent / "docs" / "crash.md").read_text()
    [block] = re.findall(r"^```text printed by the first\n(.*?)^```$", page, re.M | re.S)
    assert capsys.readouterr().out == block


def test_the_command_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["crash", "--clients=20", "--steady=5", "--outage=3", "--watch=5", "--backlog=7"]
    assert experiments(words) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "queue"
    assert [row.split()[:2] for row in rows] == [["7", "fixed"], ["7", "exponential"], ["7", "as"]]


@pytest.mark.parametrize(
    "words", [["--outage=0"], ["--clients=no"], ["--backlog=-1"], ["--nothing"], ["word"]]
)
def test_a_wrong_command_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        experiments(["crash", *words])
    assert ending.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_that_cannot_be_used_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    small = ["--clients=5", "--steady=2", "--outage=2", "--watch=2", "--backlog=7"]
    assert experiments(["crash", *small, "--picture", str(tmp_path / "file")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert experiments(["crash", *small, "--picture", str(tmp_path / "new")]) == 0
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["crash.png", "crash.svg"]


def test_the_page_has_what_an_overflow_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["crash", "--int64"]) == 0
    page = (Path(__file__).parent.parent.parent / "docs" / "crash.md").read_text()
    [block] = re.findall(r"^```text printed by it\n(.*?)^```$", page, re.M | re.S)
    assert capsys.readouterr().out == block
