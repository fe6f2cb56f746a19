"""How long runs take, and loads and capacities that change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, isnan
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N0, N2, Command, Misuse, at
from ixbackoff.fleet import (
    BoundedQueue,
    Channel,
    Outage,
    Outcome,
    ProcessorSharing,
    Service,
    SlowingServer,
    simulate,
    simulate_many,
)
from ixbackoff.fleet.fleet_subcommands import main as fleet


class Ask(Command[None]):
    __slots__ = ()


ONCE = at(N0).do(Ask()).end()
QUEUE = BoundedQueue(length=9, work=0.5).serves(Ask)


def test_the_waits_of_a_run_are_in_its_latency() -> None:
    outcome = simulate(
        at(N2).retry(Ask()), QUEUE, arrivals=[5.0, 20.0], seconds=40, outages=[Outage(4.0, 3.5)]
    )
    assert [*outcome.latencies] == [7.5 - 5.0 + 0.5, 0.5]
    full = BoundedQueue(length=0, work=0.5).serves(Ask)
    outcome = simulate(at(N2).retry(Ask()), full, arrivals=[5.0, 5.25], seconds=40)
    assert [*outcome.latencies] == [0.5, 1.5]


def test_each_run_of_a_client_is_timed_from_its_own_beginning() -> None:
    outcome = simulate(ONCE, QUEUE, clients=1, think=3, seconds=200)
    assert len(outcome.latencies) == outcome.total(lambda second: second.well) > 30
    assert [*outcome.latencies] == pytest.approx([0.5] * len(outcome.latencies))


def test_quantiles_of_an_interval_and_with_failed_runs() -> None:
    one = BoundedQueue(length=0, work=0.5).serves(Ask)
    outcome = simulate(ONCE, one, arrivals=[1.0, 1.1, 1.2, 11.0], seconds=20)
    assert [*outcome.latencies] == [0.5, 0.5]
    assert outcome.quantile(1.0) == outcome.quantile(0.0, 10, 20) == 0.5
    assert outcome.quantile(0.5, failed=True) == inf
    assert outcome.quantile(0.5, 10, failed=True) == 0.5
    assert isnan(outcome.quantile(0.5, 2, 10))
    with pytest.raises(ValueError, match="give a share, 0 to 1"):
        outcome.quantile(99)


def sent(outcome: Outcome) -> list[int]:
    return [second.asked for second in outcome.seconds]


def test_a_recorded_trace() -> None:
    outcome = simulate(ONCE, QUEUE, arrivals=[0.0, 0.5, 0.5, 2.25, 9.0], seconds=5)
    assert sent(outcome) == [3, 0, 1, 0, 0]
    assert outcome.clients == 4


def test_a_spike_and_a_pause() -> None:
    outcome = simulate(
        ONCE, QUEUE, arrivals=lambda second: 1000.0 if 2 <= second < 3 else 0.0, seconds=6
    )
    assert 900 < sent(outcome)[2] == sum(sent(outcome)) < 1100


@pytest.mark.parametrize(
    ("arrivals", "words"),
    [
        ([2.0, 1.0], "ascending order"),
        ([-1.0], "ascending order"),
        ([float("nan")], "ascending order"),
        ([inf], "ascending order"),
        (["1.0"], "ascending order"),
        ("30", "ascending order"),
        (lambda _: -1.0, "return a finite rate, 0 or more"),
        (lambda _: "many", "return a finite rate, 0 or more"),
        (lambda _: inf, "return a finite rate, 0 or more"),
    ],
)
def test_arrivals_that_cannot_be(arrivals: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate(ONCE, QUEUE, arrivals=arrivals, seconds=5)


def test_arrivals_of_no_kind() -> None:
    wrong: Any = object()
    with pytest.raises(Misuse, match="give a number, a function of the time, or times"):
        simulate(ONCE, QUEUE, arrivals=wrong, seconds=5)


def test_each_seed_has_all_times_of_an_iterator() -> None:
    sample = simulate_many(ONCE, QUEUE, arrivals=iter([1.0, 2.0]), seconds=5, seeds=3, jobs=1)
    assert [outcome.clients for outcome in sample.results] == [2, 2, 2]


@pytest.mark.parametrize("given", [-1.0, inf, float("nan"), None, "0.1"])
@pytest.mark.parametrize("kind", [partial(BoundedQueue, 9), ProcessorSharing], ids=["queue", "ps"])
def test_work_that_is_no_seconds(kind: Callable[[Any], Service], given: Any) -> None:
    with pytest.raises(ValueError, match="s of work: give seconds, 0 or more"):
        kind(given)
    with pytest.raises(ValueError, match="s of work: give seconds, 0 or more"):
        simulate(ONCE, kind(lambda _: given).serves(Ask), arrivals=[1.0], seconds=5)


@pytest.mark.parametrize("service", [BoundedQueue(9, 1.0), ProcessorSharing(1.0)], ids=repr)
@pytest.mark.parametrize(("lost", "ended"), [(1.0, 5.0), (0.5, 2.5), (0.75, 3.5), (0.9, 4.7)])
def test_work_in_progress_goes_on_at_the_speed_that_is_left(
    service: Any, lost: float, ended: float
) -> None:
    """Of a second of work, half is done before the outage of three seconds."""
    outages = [Outage(1.5, 3.0, lost=lost)]
    outcome = simulate(ONCE, service.serves(Ask), arrivals=[1.0], seconds=9, outages=outages)
    assert 1.0 + outcome.latencies[0] == pytest.approx(ended)


@pytest.mark.parametrize("service", [Channel(0.1), SlowingServer()], ids=repr)
def test_a_service_that_can_only_stop(service: Any) -> None:
    with pytest.raises(Misuse, match="cannot lose a part of its capacity: leave out lost="):
        simulate(ONCE, service.serves(Ask), clients=1, seconds=9, outages=[Outage(1, 2, lost=0.5)])


@pytest.mark.parametrize("lost", [0.0, -1.0, 1.5, float("nan")])
def test_a_share_that_cannot_be_lost(lost: float) -> None:
    with pytest.raises(ValueError, match="give the lost share, above 0, 1 at most"):
        simulate(ONCE, QUEUE, clients=1, seconds=9, outages=[Outage(1, 2, lost)])


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("traffic.py").write_text(
        "from ixbackoff import N3, Download, at\n"
        "page = at(N3).retry(Download('http://localhost/page', 'page.html'))\n"
        "times = [second / 10 for second in range(300)]\n"
        "number = 3\n"
        "def ramp(second): return second\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def printed(*words: str) -> str:
        fleet(["simulate", "traffic:page", "--seconds", "30", *words])
        return capsys.readouterr().out

    assert " of 300 clients" in printed("--arrivals", "traffic:times", "--outage", "15:5:0.5")
    assert "gave up    0.0% of 4" in printed("--arrivals", "traffic:ramp", "--outage", "15:5:0.5")
    wrong: list[tuple[tuple[str, ...], Callable[[str], bool]]] = [
        (("--arrivals", "traffic:number"), lambda text: "neither a function nor a list" in text),
        (("--arrivals", "0"), lambda text: "--arrivals" in text),
        (("--outage", "15:5:half"), lambda text: "START:LENGTH:LOST" in text),
    ]
    for words, says in wrong:
        with pytest.raises(SystemExit):
            fleet(["simulate", "traffic:page", *words])
        assert says(capsys.readouterr().err)
