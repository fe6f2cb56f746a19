"""Schedules are combined, and what comes of it is a schedule again."""

import random
from typing import assert_type

from ixbackoff import (
    N3,
    Computed,
    Constant,
    Exponential,
    Fibonacci,
    Interpreter,
    Listed,
    Schedule,
    Standard,
    at,
    plan,
    schedules,
)
from ixbackoff.schedules import published, shortening_jitter

capped = Exponential(base=0.1, factor=3) & Constant(60)
assert_type(capped, Schedule)
assert_type(capped | Fibonacci(), Schedule)
assert_type(capped + Listed([1, 2.5]), Schedule)
assert_type(2 * capped * 0.5, Schedule)
assert_type(capped.jittered().jittered(1.5).seeded(7), Schedule)
assert_type(published.thain(timeout=0.01, maximum=1) | published.post_blue, Schedule)
assert_type(published.aws_polling(30), Schedule)
assert_type(capped.preview(5, seed=1), list[float])
assert_type(capped.longest(3), float)
assert_type(capped.deterministic, bool)
assert_type(capped == Constant(2), bool)


def squares(k: int) -> int:
    return k * k


class Squares(Schedule):
    def begin(self, chance: schedules.Chance | None = None) -> schedules.WaitFunction:
        return squares


def chosen(by: bool) -> Schedule:
    return Squares() | Computed(squares) if by else published.fault_tolerant_shell


def compared(*timings: schedules.Timing) -> list[list[float]]:
    return [timing.preview(5, seed=1) for timing in timings]


compared(capped, Squares(), shortening_jitter.FullJitter(), shortening_jitter.Every(30))
capped.begin(random.Random(1))
capped.begin(random)
waits = capped.begin()
assert_type(waits(0), float)
plan(at(N3).end(), Squares())


def run(interpreter: Interpreter[Standard]) -> None:
    at(N3).end().run(interpreter, schedule=chosen(True))
    at(N3).end().run(interpreter, schedule=Squares().jittered() & Constant(5))
