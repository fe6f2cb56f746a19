"""Random expressions of the algebra, over every kind of schedule, and over custom ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from ixbackoff import Computed, Constant, Exponential, Fibonacci, Listed, Schedule
from ixbackoff.schedules import Chance, WaitFunction
from ixbackoff.schedules.algebra import Changed, Pair
from ixbackoff.schedules.published import (
    NormalJitter,
    WholeSeconds,
    aws_polling,
    fault_tolerant_shell,
    thain,
)


class Shrinking(Schedule):
    """A custom schedule that breaks the promise: each wait is a third of the one before."""

    def __init__(self, first: float) -> None:
        self.first = first

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return lambda k: self.first / 3**k


class Erratic(Schedule):
    """A custom schedule that breaks the promise: any wait may be shorter than the one before."""

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        assert chance is not None
        return lambda k: chance.uniform(0, 10)


def saw(k: int) -> float:
    return 7.0 - 3 * (k % 3)


LEAVES: list[Callable[[Random], Schedule]] = [
    lambda of: Exponential(of.uniform(0.001, 10), of.uniform(1, 4)),
    lambda of: Exponential(of.uniform(0.001, 1), of.uniform(1, 4), of.uniform(1, 100)),
    lambda of: Constant(of.choice([0.0, of.uniform(0, 60)])),
    lambda of: Fibonacci(of.uniform(0.01, 5)),
    lambda of: Listed(sorted(of.uniform(0, 60) for _ in range(of.randint(1, 6)))),
    lambda of: Computed(of.choice([saw, lambda k: 99.0 - k, lambda k: k * k, lambda k: 0])),
    lambda of: NormalJitter(of.uniform(0.01, 1), of.uniform(1, 3), of.uniform(0, 2), 20),
    lambda of: aws_polling(of.uniform(0.1, 30)),
    lambda of: thain(of.uniform(0.001, 1), of.uniform(0, 10), of.uniform(1, 3)),
    lambda of: fault_tolerant_shell,
    lambda of: Shrinking(of.uniform(0, 60)),
    lambda of: Erratic(),
]

BRANCHES: list[Callable[[Random, Callable[[], Schedule]], Schedule]] = [
    lambda of, inner: inner() | inner(),
    lambda of, inner: inner() & inner(),
    lambda of, inner: inner() + inner(),
    lambda of, inner: of.choice([0, 1, of.uniform(0, 5)]) * inner(),
    lambda of, inner: inner().jittered(of.choice([1, 2, of.uniform(1, 10)])),
    lambda of, inner: inner().seeded(of.randrange(1000)),
    lambda of, inner: WholeSeconds(inner()),
]


def random_schedule(of: Random, depth: int = 4) -> Schedule:
    """Draw a schedule whose expression has at most `depth` levels."""
    if depth == 0 or of.random() < 0.2:
        return of.choice(LEAVES)(of)
    return of.choice(BRANCHES)(of, lambda: random_schedule(of, depth - 1))


def random_deterministic(of: Random, depth: int = 3) -> Schedule:
    """Make a schedule without random numbers that keeps the promise by itself."""
    if depth == 0 or of.random() < 0.3:
        return of.choice(LEAVES[:6])(of)
    return of.choice(BRANCHES[:4])(of, lambda: random_deterministic(of, depth - 1))


def parts(schedule: Any) -> Iterator[Schedule]:
    """Iterate over a schedule and all schedules that it is made of."""
    yield schedule
    if isinstance(schedule, Pair):
        yield from parts(schedule.left)
        yield from parts(schedule.right)
    elif isinstance(schedule, Changed):
        yield from parts(schedule.schedule)
