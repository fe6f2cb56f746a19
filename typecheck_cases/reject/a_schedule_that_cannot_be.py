"""Schedules are made of numbers and of schedules, and do not change."""

from ixbackoff import Computed, Constant, Exponential, Fibonacci, Listed, Schedule
from ixbackoff.schedules import published


def steps(k: int) -> float:
    return k / 2


class Empty(Schedule):
    pass


Empty()  # E: [abstract]
Schedule()  # E: [abstract]
Constant()  # E: [call-arg]
Constant("1")  # E: [arg-type]
Fibonacci([1])  # E: [arg-type]
Listed(5)  # E: [arg-type]
Listed(["1"])  # E: [list-item]
Computed(5)  # E: [arg-type]
published.thain(timeout="1 s", maximum=60)  # E: [arg-type]
published.aws_polling()  # E: [call-arg]
Exponential() & 60  # E: [operator]
Exponential() | steps  # E: [operator]
Exponential() + 1.0  # E: [operator]
Exponential() * Exponential()  # E: [operator]
Exponential() - Constant(1)  # E: [operator]
Exponential() * "2"  # E: [operator]
Exponential().jittered("2")  # E: [arg-type]
Exponential().seeded("x")  # E: [arg-type]
Exponential().base = 0.001  # E: [misc]
Exponential().cup = 5.0  # E: [attr-defined]
