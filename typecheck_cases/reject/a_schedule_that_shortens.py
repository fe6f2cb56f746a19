"""What can shorten waits is for simulations: no program runs with it, and no schedule contains it."""

from ixbackoff import (
    N3,
    Constant,
    Exponential,
    Interpreter,
    Schedule,
    Standard,
    at,
    backoff,
    plan,
    schedules,
    unroll,
)
from ixbackoff.schedules import published, shortening_jitter

full = shortening_jitter.FullJitter(base=0.1, cap=20)
every = shortening_jitter.Every(30)
raw = shortening_jitter.RawNormalJitter(published.post_green)


async def run(interpreter: Interpreter[Standard]) -> None:
    at(N3).end().run(interpreter, schedule=full)  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=shortening_jitter.EqualJitter())  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=shortening_jitter.DecorrelatedJitter())  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=every)  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=raw)  # E: [arg-type]
    await at(N3).end().run_async(interpreter, schedule=full)  # E: [arg-type]


def undecided(timing: Schedule | shortening_jitter.Shortening, other: schedules.Timing) -> None:
    plan(at(N3).end(), timing)  # E: [arg-type]
    plan(at(N3).end(), other)  # E: [arg-type]


plan(at(N3).end(), full)  # E: [arg-type]
unroll(at(N3).end(), full)  # E: [arg-type]
backoff(N3, schedule=full)  # E: [arg-type]
Exponential() | full  # E: [operator]
full | Exponential()  # E: [operator]
every & Constant(5)  # E: [operator]
Constant(5) & every  # E: [operator]
raw + Constant(5)  # E: [operator]
full + full  # E: [operator]
2 * full  # E: [operator]
full.jittered()  # E: [attr-defined]
published.WholeSeconds(full)  # E: [arg-type]
shortening_jitter.RawNormalJitter(Exponential())  # E: [arg-type]
