"""Queues whose answer is known: the mean of 20 seeds and its interval hold the closed form."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, factorial, log
from statistics import fmean
from typing import Any

import pytest

from ixbackoff import FOREVER, N0, Command, at
from ixbackoff.fleet import (
    BoundedQueue,
    ExponentialWork,
    LogNormalWork,
    Outage,
    Outcome,
    ProcessorSharing,
    Sample,
    Service,
    simulate_many,
)
from ixbackoff.schedules.base import Chance, WaitFunction
from ixbackoff.schedules.shortening_jitter import Shortening

pytestmark = pytest.mark.slow

ENDLESS = 10**9
RUNS = 4000  # with each seed


class Ask(Command[None]):
    __slots__ = ()


ONCE = at(N0).do(Ask()).end()


def sampled(service: Service, arrivals: Any, **how: Any) -> Sample[Outcome]:
    options: dict[str, Any] = {"program": ONCE, "seeds": 20, "jobs": 1, "arrivals": arrivals, **how}
    options.setdefault("seconds", RUNS / arrivals if isinstance(arrivals, int | float) else 0.0)
    return simulate_many(services=service.serves(Ask), **options)


def assert_holds(sample: Sample[Outcome], of: Callable[[Outcome], float], right: float) -> None:
    least, most = sample.interval(of)
    assert least <= right <= most
    assert most - least < 0.15 * right  # or the interval would say nothing


def in_service(outcome: Outcome) -> float:
    """The mean seconds of a run, without the first tenth, in which the service fills."""
    return fmean(outcome.latencies[len(outcome.latencies) // 10 :])


def rejected(outcome: Outcome) -> float:
    return outcome.gave_up / outcome.clients


def erlang_b(load: float, workers: int) -> float:
    terms = [load**many / factorial(many) for many in range(workers + 1)]
    return terms[-1] / sum(terms)


def test_one_worker_with_random_work() -> None:
    """M/M/1: the time in the service is exponential with the rate of work less that of arrivals."""
    sample = sampled(BoundedQueue(ENDLESS, ExponentialWork(0.1)), 5)
    assert_holds(sample, in_service, 1 / (10 - 5))
    assert_holds(sample, lambda outcome: outcome.quantile(0.5, 100), log(2) / (10 - 5))
    assert_holds(sample, lambda outcome: outcome.quantile(0.99, 100), log(100) / (10 - 5))


def test_some_workers_with_random_work() -> None:
    """M/M/c: Erlang's C is the share that waits, for 1 / (c * rate of work - rate of arrivals)."""
    load, workers = 2.4, 4
    busy = load / workers
    waits = erlang_b(load, workers) / (1 - busy * (1 - erlang_b(load, workers)))
    sample = sampled(BoundedQueue(ENDLESS, ExponentialWork(0.1), workers), load * 10)
    assert_holds(sample, in_service, 0.1 + waits / (workers * 10 - load * 10))


@pytest.mark.parametrize(
    ("work", "square"),
    [(0.1, 0.01), (ExponentialWork(0.1), 0.02), (LogNormalWork(0.1, 0.6), 0.01 * exp(0.36))],
    ids=["constant", "exponential", "log-normal"],
)
def test_one_worker_with_any_work(work: Any, square: float) -> None:
    """M/G/1: Pollaczek and Khinchine's mean wait; `square` is the mean square of the work."""
    arrivals = 6.0
    wait = arrivals * square / (2 * (1 - arrivals * 0.1))
    assert_holds(sampled(BoundedQueue(ENDLESS, work), arrivals), in_service, 0.1 + wait)


def test_no_queue() -> None:
    """M/G/c/c: Erlang's B is the share that is rejected, whatever the distribution of the work."""
    for work in ExponentialWork(0.1), 0.1:
        sample = sampled(BoundedQueue(0, work, workers=5), 40)
        assert_holds(sample, rejected, erlang_b(4.0, 5))


def test_a_short_queue() -> None:
    """M/M/1/K: the share that finds the queue full."""
    load, places = 0.8, 4
    sample = sampled(BoundedQueue(places - 1, ExponentialWork(0.1)), load * 10)
    assert_holds(sample, rejected, (1 - load) * load**places / (1 - load ** (places + 1)))


@pytest.mark.parametrize("work", [0.1, ExponentialWork(0.1), LogNormalWork(0.1, 0.6)], ids=repr)
def test_one_shared_core(work: Any) -> None:
    """M/G/1 with processor sharing: the mean depends on the mean of the work alone."""
    assert_holds(sampled(ProcessorSharing(work), 6), in_service, 1 / (10 - 6))


def test_shared_cores() -> None:
    """M/M/c with processor sharing has as many requests at a time as M/M/c, so the same mean."""
    load, cores = 2.4, 4
    waits = erlang_b(load, cores) / (1 - load / cores * (1 - erlang_b(load, cores)))
    sample = sampled(ProcessorSharing(ExponentialWork(0.1), cores), load * 10)
    assert_holds(sample, in_service, 0.1 + waits / (cores * 10 - load * 10))


class Memoryless(Shortening):
    """Exponentially distributed waits with a mean of half a second."""

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        assert chance is not None
        return lambda _: chance.expovariate(2.0)


def test_retrials() -> None:
    """M/M/1/1 with retrials (Falin and Templeton, "Retrial Queues", 1997, section 1.2).

    A client that finds the worker busy tries again after an exponential time.
    """
    arrivals, work, retries = 6.0, 10.0, 2.0
    busy = arrivals / work
    away = busy / (1 - busy) * (arrivals / retries + busy)  # clients that wait, in the mean
    sample = sampled(
        BoundedQueue(0, ExponentialWork(0.1)),
        arrivals,
        program=at(FOREVER).retry(Ask()),
        schedule=Memoryless(),
    )
    assert_holds(sample, in_service, away / arrivals + 1 / work)


def test_a_part_of_the_capacity_is_lost() -> None:
    """M/M/1 at half of its speed is M/M/1 with twice the work, for a queue and for sharing."""
    for service in (
        BoundedQueue(ENDLESS, ExponentialWork(0.1)),
        ProcessorSharing(ExponentialWork(0.1)),
    ):
        sample = sampled(service, 2, outages=[Outage(0.0, RUNS / 2, lost=0.5)])
        assert_holds(sample, in_service, 1 / (5 - 2))


def test_arrivals_that_change() -> None:
    """A Poisson process: its mean is the integral of the rate, and so is its variance."""

    def ramp(seconds: float) -> float:
        return seconds / 10

    sample = sampled(BoundedQueue(ENDLESS, 0.0), ramp, seconds=400)
    many = [outcome.clients for outcome in sample.results]
    assert fmean(many) == pytest.approx(400**2 / 20, rel=0.01)
    first = sample.mean(lambda outcome: sum(second.asked for second in outcome.seconds[:200]))
    assert first == pytest.approx(200**2 / 20, rel=0.03)
    variance = fmean((number - 8000) ** 2 for number in many)
    assert 8000 * 0.48 < variance < 8000 * 1.71  # 95 % of chi-square with 20 degrees
