"""A service is fitted to the tries of its clients: its queue is undone, and the model is right."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import isclose, log
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff.fleet.fits import choosing
from ixbackoff.fleet.fits.choosing import Model, candidate, fitted
from ixbackoff.fleet.fits.doubts import doubts
from ixbackoff.fleet.fits.queue_inversion import KINDS, Undone, crowded, in_order, shared_evenly
from ixbackoff.fleet.fits.recorded_tries import Try

from ..support.fleets.truths import Truth, tries_of

drawn = st.lists(st.tuples(st.floats(0.001, 0.3), st.floats(0.01, 1.0)), min_size=5, max_size=60)
TRUTHS = (
    Truth(),
    Truth("ps"),
    Truth("ps", 8, 16, 0.15, 0.3),
    Truth("fifo", 2, 8, 0.05, 1.0),
    Truth("fifo", 8, 24, 0.15, 0.5, fails=0.03),
    Truth("ps", 2, 10, 0.04),
)
RISING = tuple((12.0, rate) for rate in (15, 30, 45, 60, 20, 20))


def fit(tries: list[Try]) -> Model:
    return fitted(tries, ["503"], ["TimeoutError"])


def served_in_order(arrivals: list[float], works: list[float], workers: int) -> list[Try]:
    free, tries = [0.0] * workers, list[Try]()
    for time, work in zip(arrivals, works, strict=True):
        end = max(heappop(free), time) + work
        heappush(free, end)
        tries.append(Try("run", time, end))
    return tries


def served_evenly(arrivals: list[float], works: list[float], cores: int) -> list[Try]:
    left, ends, now = dict[int, float](), dict[int, float](), 0.0
    for index, time in enumerate([*arrivals, float("inf")]):
        while left:
            rate = min(1.0, cores / len(left))
            first = min(left, key=left.__getitem__)
            step = left[first]
            if now + step / rate > time:
                left = {one: rest - (time - now) * rate for one, rest in left.items()}
                break
            now += step / rate
            left = {one: rest - step for one, rest in left.items() if one != first}
            ends[first] = now
        now = time
        if index < len(works):
            left[index] = works[index]
    return [Try("run", time, ends[index]) for index, time in enumerate(arrivals)]


@pytest.mark.parametrize(
    ("serve", "undo"), [(served_in_order, in_order), (served_evenly, shared_evenly)]
)
@given(pairs=drawn, workers=st.integers(1, 8))
def test_undoing_is_exact(
    serve: Callable[..., list[Try]], undo: Any, pairs: list[tuple[float, float]], workers: int
) -> None:
    time, arrivals = 0.0, list[float]()
    for gap, _ in pairs:
        arrivals.append(time := time + gap)
    works = [work for _, work in pairs]
    found, _ = undo(serve(arrivals, works, workers), workers, {})
    assert all(isclose(one, work, abs_tol=1e-9) for one, work in zip(found, works, strict=True))


@pytest.mark.parametrize(
    ("serve", "undo"), [(served_in_order, in_order), (served_evenly, shared_evenly)]
)
@given(workers=st.integers(1, 8), others=st.integers(1, 8))
def test_another_number_of_workers_undoes_it_wrongly(
    serve: Callable[..., list[Try]], undo: Any, workers: int, others: int
) -> None:
    tries = serve([number / 100 for number in range(12)], [1.0] * 12, workers)
    found, _ = undo(tries, others, {})
    assert (max(abs(work - 1.0) for work in found) < 1e-9) == (others == workers)


def test_a_try_that_its_client_left_is_completed_by_the_service() -> None:
    tries = [Try("a", 0.0, 0.1), Try("b", 0.5, 2.0)]
    assert in_order(tries, 1, {0: 1.0})[0][1] == pytest.approx(1.0)
    assert in_order(tries, 1, {})[0][1] == pytest.approx(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_a_truth_is_recovered_with_its_slow_phase(truth: Truth, seed: int) -> None:
    begin = 8.0 + 9.0 * seed  # at each of the loads, and over their steps
    tries = tries_of(truth._replace(slow=(begin, begin + 9.0, 1.8)), seed)
    model = fit([one for one in tries if one.begun < 90])
    [found] = model.near
    assert (found.kind, found.workers, model.limit) == (truth.kind, truth.workers, truth.limit)
    assert isclose(fmean(found.works), truth.mean, rel_tol=0.05)
    assert abs(model.fails - truth.fails) < 0.01
    runs = {one.run: one.begun for one in reversed(tries)}
    assert doubts(model, 0, sorted(time for time in runs.values() if time < 90)) == []
    slow = max(found.phases, key=lambda phase: phase[1] - phase[0])
    assert (slow[0], slow[1]) == pytest.approx((begin, begin + 9.0), abs=3.0)
    assert slow[2] == pytest.approx(1.8, rel=0.2)


def test_a_queue_is_recovered() -> None:
    model = fit(tries_of(Truth(), load=RISING))
    assert [(one.kind, one.workers) for one in model.near] == [("fifo", 4)]
    assert (model.limit, model.retry_after, model.patience) == (16, None, None)
    assert fmean(model.near[0].works) == pytest.approx(0.08, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fifo", "ps"])
def test_many_workers_are_found(kind: str) -> None:
    near = fit(tries_of(Truth(kind, 30, 80, 0.6, 0.4))).near
    assert {one.kind for one in near} == {kind}
    assert 30 in {one.workers for one in near}


def test_a_long_trace_is_climbed(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def counted(tries: Any, workers: int, left: Any) -> Undone:
        tried.append(workers)
        return in_order(tries, workers, left)

    monkeypatch.setitem(KINDS, "fifo", counted)
    tries = tries_of(Truth("fifo", 2, 16, 0.04), load=RISING)
    fit(tries)
    assert max(tried) >= 16
    shared = tries_of(Truth("ps", 8, 16, 0.15, 0.3), load=RISING)
    tried.clear()
    monkeypatch.setattr(choosing, "MANY", 1000)
    assert fit(tries).near[0].workers == 2
    assert max(tried) < 10
    assert [(one.kind, one.workers) for one in fit(shared).near] == [("ps", 8)]


def test_without_the_speed_of_works_shared_cores_are_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mutant(*given: Any) -> Undone:
        works, _ = shared_evenly(*given)
        return works, [1.0] * len(works)

    tries = tries_of(Truth("ps"), load=RISING)
    assert [(one.kind, one.workers) for one in fit(tries).near] == [("ps", 4)]
    monkeypatch.setitem(KINDS, "ps", mutant)
    assert fit(tries).near[0].workers < 4


def test_without_a_price_for_idle_works_one_worker_would_win() -> None:
    taken = [one for one in crowded(tries_of(Truth(), load=RISING), ["503"]) if not one.failure]
    prices, others = list[float](), list[float]()
    for workers in range(1, 9):
        found = candidate(taken, "fifo", workers, {}, 0.08)
        assert found is not None
        idle = len(taken) - len(found.works)
        prices.append(found.loss)
        others.append(found.loss + idle * log(choosing.NOTHING))
    assert min(prices) == prices[4 - 1]
    assert min(others) == others[1 - 1]


def test_refused_tries_in_the_crowd_would_blur_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    slowly = [
        one._replace(ended=one.ended + 0.3 * (one.failure is not None and index % 3 == 0))
        for index, one in enumerate(tries_of(Truth(), load=RISING))
    ]
    model = fit(slowly)
    assert model.limit == 16
    assert model.blur < 0.1
    monkeypatch.setattr(choosing, "crowded", lambda tries, _: crowded(tries, []))
    mutant = fit(slowly)
    assert mutant.limit != 16
    assert mutant.blur > 0.2


@pytest.mark.parametrize("seconds", [0.01, 0.05])
def test_a_far_service_is_seen_as_sharply(seconds: float) -> None:
    tries = [
        one._replace(begun=one.begun + 1 - seconds / 2, ended=one.ended + 1 + seconds / 2)
        for one in tries_of(Truth(), load=RISING)
    ]
    model = fit(tries)
    assert model.blur < 0.1
    assert (model.limit, model.near[0].workers) == (16, 4)
    assert model.overhead == pytest.approx(seconds + 0.001)
