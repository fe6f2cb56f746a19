"""The default arguments of a run, which a program carries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.gate_base import Gate
from .._words.checks import between, inf
from .._words.equality_by_fields import Value
from ..schedules.algebra import Schedule
from ..schedules.kinds import powers_of_two

if TYPE_CHECKING:
    from datetime import timedelta
    from threading import Event


class Defaults(Value):
    """The default arguments of a run; programs of a `backoff` carry those of the `backoff`."""

    __slots__ = ("schedule", "within", "budget", "breaker", "stop", "longest", "nested", "through")

    def __init__(
        self,
        schedule: Schedule = powers_of_two,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
        longest: float | timedelta | None = None,
        nested: str | None = None,
        through: Gate | Sequence[Gate] | None = None,
    ) -> None:
        self.schedule = schedule
        self.within = within
        self.budget = budget
        self.breaker = breaker
        self.stop = stop
        self.nested = nested  # `ONCE`: functions that the program calls get a single try
        self.longest = longest  # the longest wait that a service or a gate may ask for, in seconds
        self.through = through

    def replace(self, *given: Any) -> Defaults:
        """Return a copy with `given` values, in field order; `None` keeps the old value."""
        if given.count(None) == len(given):
            return self
        both = zip_longest(Defaults.__slots__, given)
        return Defaults(*[getattr(self, name) if new is None else new for name, new in both])


def checked_longest(longest: float | timedelta | None) -> float:
    """Return the longest wait that a service or a gate may ask for, in seconds; `None` is inf."""
    return inf if longest is None else between("longest", longest, 0, inf, "seconds")


ONCE = "once"
"""The value of `nested` that reduces nested functions to one try instead of rejecting them."""

USUAL = Defaults()
