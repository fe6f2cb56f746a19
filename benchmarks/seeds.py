"""Many seeds of one simulation: in two worker processes, beside one process, in real time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import Process
from statistics import median
from time import monotonic

from ixbackoff.fleet import Outcome, each_seed
from ixbackoff.fleet.seed_sweep import SEEDS

from .fleet_models import MODELS, ours
from .measuring import Target

CLIENTS, SECONDS = 1_000, 600.0


def with_seed(seed: int) -> Outcome:
    model = next(iter(MODELS.values()))
    return ours(model, CLIENTS, SECONDS, seed=seed)


def some(seeds: range) -> None:
    for seed in seeds:
        with_seed(seed)


def by_hand() -> None:
    """Simulate half of the seeds in each of two processes."""
    halves = [range(SEEDS // 2), range(SEEDS // 2, SEEDS)]
    both = [Process(target=some, args=(half,)) for half in halves]
    for process in both:
        process.start()
    for process in both:
        process.join()


def real_seconds(function: Callable[[], object]) -> float:
    begun = monotonic()
    function()
    return monotonic() - begun


def targets() -> Iterator[Target]:
    """Compare two workers with one process: two processors have to be idle."""
    ways: list[Callable[[], object]] = [
        partial(each_seed, with_seed, SEEDS, jobs=1),
        partial(each_seed, with_seed, SEEDS, jobs=2),
        by_hand,
    ]
    times = [[real_seconds(way) for way in ways] for _ in range(5)]
    one, two, hand = (median(column) for column in zip(*times, strict=True))
    yield Target(
        f"fleet, {SEEDS} seeds on two workers beside one, real time",
        median(first / second for first, second, _ in times),
        1.7,
        True,
        f"{one:.2f} s and {two:.2f} s; {hand:.2f} s in two processes that are given half each",
    )
