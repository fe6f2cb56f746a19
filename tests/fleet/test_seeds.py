"""One function with many seeds: the same in this process and in others."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from ixbackoff import CircuitBreaker, Misuse, RetryBudget
from ixbackoff.fleet import BoundedQueue, Outcome, each_seed, simulate, simulate_many

from ..support.fleets.seeded import (
    HOW,
    PAGE,
    QUEUE,
    SEEDS,
    Get,
    digest,
    digested,
    fails_at_2,
    fails_oddly,
    fails_or_sends_much,
    fails_or_touches,
    gives_a_lambda,
    gives_oddly,
    is_killed_at_1,
    is_killed_at_1_while_sending,
    many,
)

processes = pytest.mark.slow


@pytest.fixture
def spawned() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return [digested(seed) for seed in SEEDS]


def test_a_seed_gives_what_simulate_gives(expected: list[str]) -> None:
    singly = [simulate(PAGE, QUEUE.serves(Get), **HOW, seed=seed) for seed in SEEDS]
    assert many(jobs=1) == [digest(outcome) for outcome in singly]
    assert len({*expected}) == len(SEEDS)
    assert [*each_seed(digested, SEEDS, jobs=1).results] == expected


@processes
def test_the_same_seed_gives_the_same_events_in_worker_processes(expected: list[str]) -> None:
    assert [*each_seed(digested, SEEDS, jobs=2).results] == expected
    assert many(jobs=2) == many(jobs=1)
    assert active_children() == []


@processes
def test_the_same_seed_gives_the_same_events_in_an_executor_of_the_user(
    expected: list[str], spawned: Executor
) -> None:
    assert [*each_seed(digested, SEEDS, executor=spawned).results] == expected
    assert many(executor=spawned) == many(jobs=1)  # it was not shut down


def test_results_are_told_as_they_come() -> None:
    told: list[tuple[int, int]] = []
    with ThreadPoolExecutor(2) as threads:
        each_seed(lambda seed: seed**2, 5, executor=threads, watch=lambda *one: told.append(one))
    assert sorted(told) == [(0, 0), (1, 1), (2, 4), (3, 9), (4, 16)]


def test_in_this_process_and_in_threads_nothing_has_to_be_sent() -> None:
    power = 2
    with ThreadPoolExecutor(2) as threads:
        for where in {"jobs": 1}, {"executor": threads}:
            sample: Any = each_seed(lambda seed: lambda: seed**power, 3, **where)
            assert [result() for result in sample.results] == [0, 1, 4]


@processes
@pytest.mark.parametrize("function", [lambda seed: seed, gives_a_lambda])
def test_what_cannot_be_sent_is_told(function: Any) -> None:
    with pytest.raises(Misuse, match=r"cannot be sent to a worker and back \(.*jobs=1, which"):
        each_seed(function, 2, jobs=2)
    assert active_children() == []


@processes
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_names_its_seed(jobs: int) -> None:
    with pytest.raises(ZeroDivisionError, match="it cannot be divided") as raised:
        each_seed(fails_at_2, 4, jobs=jobs)
    assert raised.value.__notes__[0] == "ixbackoff: with seed=2"
    assert jobs == 1 or "in fails_at_2" in raised.value.__notes__[1]


@processes
def test_a_failure_that_pickle_cannot_read_is_told_all_the_same() -> None:
    with pytest.raises(RuntimeError, match=r"Odd\('. and 2'\)") as raised:
        each_seed(fails_oddly, 2, jobs=2)
    assert "with seed=" in raised.value.__notes__[0]


@processes
def test_workers_that_end_faster_than_they_are_told_to_trip_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminate = BaseProcess.terminate

    def end(worker: BaseProcess) -> None:
        terminate(worker)
        sleep(0.1)

    monkeypatch.setattr(BaseProcess, "terminate", end)
    with pytest.raises(ZeroDivisionError):  # and no thread of the pool has failed
        each_seed(fails_at_2, 40, jobs=2)
    assert active_children() == []


@processes
def test_workers_end_also_while_they_send_what_is_large() -> None:
    with pytest.raises(ZeroDivisionError):
        each_seed(fails_or_sends_much, 400, jobs=4)
    assert active_children() == []


@processes
def test_workers_end_also_where_this_process_would_not(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with pytest.raises(ZeroDivisionError):
            each_seed(partial(fails_or_touches, tmp_path / "done"), 2, jobs=2)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not (tmp_path / "done").exists()


@processes
def test_a_result_that_pickle_cannot_read_is_told() -> None:
    with pytest.raises(BrokenExecutor, match="that pickle can write but not read"):
        each_seed(gives_oddly, 2, jobs=2)
    assert active_children() == []


@processes
def test_a_worker_that_is_killed_is_told() -> None:
    with pytest.raises(BrokenExecutor, match=r"A worker ended before it was done with seed=\d"):
        each_seed(is_killed_at_1, 4, jobs=2)
    assert active_children() == []


@processes
def test_a_worker_that_is_killed_while_it_sends_is_told_soon() -> None:
    begun = monotonic()
    with pytest.raises(BrokenExecutor, match=r"A worker ended before it was done with seed=\d"):
        each_seed(is_killed_at_1_while_sending, 40, jobs=2)
    assert monotonic() - begun < 3
    assert active_children() == []


@pytest.mark.parametrize("seeds", [0, -1, [], [1, 1], [1.5], "12", None, 2.5])
def test_seeds_that_are_none_are_refused(seeds: Any) -> None:
    with pytest.raises(ValueError, match=r"seeds=.*: give a number of seeds, 1 or more"):
        each_seed(abs, seeds)


@pytest.mark.parametrize("jobs", [0, 1.5, "2"])
def test_so_many_jobs_are_refused(jobs: Any) -> None:
    with pytest.raises(ValueError, match=r"jobs=.*: give a whole number, 1 or more"):
        each_seed(abs, 2, jobs=jobs)


def test_jobs_are_not_those_of_an_executor() -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="jobs=2: the executor"):
        each_seed(abs, 2, jobs=2, executor=threads)


def shared(**how: Any) -> Outcome:
    sample = simulate_many(PAGE, QUEUE.serves(Get), clients=5, seconds=5, seeds=2, jobs=1, **how)
    return sample.results[0]


def test_what_the_seeds_would_share_is_refused() -> None:
    budget, breaker = RetryBudget(5), CircuitBreaker(failures=2, within=1, open_for=1)
    with pytest.raises(Misuse, match=r"budget= gives <RetryBudget.*, which all seeds would share"):
        shared(budget=lambda _: budget)
    with pytest.raises(
        Misuse, match=r"breaker= gives <CircuitBreaker.*, which all seeds would share"
    ):
        shared(breaker=lambda _: breaker)
    assert shared(budget=lambda _: RetryBudget(5)).clients == 5


def test_what_is_wrong_with_a_simulation_is_told_as_by_simulate() -> None:
    with pytest.raises(ValueError, match="give a number, 1 or more") as raised:
        simulate_many(PAGE, BoundedQueue(1, 1).serves(Get), clients=0, seconds=5, jobs=1)
    assert raised.value.__notes__ == ["ixbackoff: with seed=0"]
