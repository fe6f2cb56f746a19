"""The default arguments of a run, which a program carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._words.values import Value
from ..schedules.kinds import Schedule, powers_of_two

if TYPE_CHECKING:
    from datetime import timedelta
    from threading import Event


class Defaults(Value):
    """The default arguments of a run; programs of a `backoff` carry those of the `backoff`.

    Attributes:
        schedule: the seconds of the waits.
        within: the seconds for the whole run.
        budget: the budget that pays for further tries.
        breaker: the circuit breaker that each try goes through.
        stop: the event that ends a wait, and so the program.
        nested: `ONCE` for a single try of decorated functions that the program calls; any other
            value rejects them.
    """

    __slots__ = ("schedule", "within", "budget", "breaker", "stop", "nested")

    def __init__(
        self,
        schedule: Schedule = powers_of_two,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
        nested: str | None = None,
    ) -> None:
        self.schedule = schedule
        self.within = within
        self.budget = budget
        self.breaker = breaker
        self.stop = stop
        self.nested = nested

    def replace(
        self,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
    ) -> Defaults:
        """Return a copy with the given values; `None` keeps the old one.

        >>> from ixbackoff import Exponential
        >>> Defaults(within=2).replace(Exponential(base=0.1)).within
        2
        """
        unchanged = schedule is None and within is None and budget is None
        if unchanged and breaker is None and stop is None:
            return self
        return Defaults(
            self.schedule if schedule is None else schedule,
            self.within if within is None else within,
            self.budget if budget is None else budget,
            self.breaker if breaker is None else breaker,
            self.stop if stop is None else stop,
            self.nested,
        )


ONCE = "once"
"""The value of `nested` that reduces nested functions to one try instead of rejecting them."""

USUAL = Defaults()
