"""How a program is run unless its run says otherwise."""

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
    """The arguments of a run that a program brings along; those of `backoff` are in its programs.

    Attributes:
        schedule: the seconds of its waits.
        within: the seconds that it has in all.
        budget: the budget that its further tries are taken from.
        breaker: the circuit breaker that each try goes through.
        stop: the event that ends its waits, and so the program.
        nested: what becomes of decorated functions that are called inside it.
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
        """Return these, with what was given in place of them; `None` was not given.

        >>> from ixbackoff import Exponential
        >>> Defaults(within=2).replace(Exponential(base=0.1)).within
        2
        """
        few = schedule is None and within is None and budget is None
        if few and breaker is None and stop is None:
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
"""Decorated functions inside a program are tried once, and are not refused."""

USUAL = Defaults()
