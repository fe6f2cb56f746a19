"""The default arguments of a run, which a program carries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.gates import Gate
from .._words.checks import between, inf
from .._words.values import Value, fields_of
from ..schedules.algebra import Schedule
from ..schedules.kinds import powers_of_two

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
        longest: the longest wait that a service may ask for, in seconds.
        nested: `ONCE` for a single try of decorated functions that the program calls; any other
            value rejects them.
        through: the gates that each try goes through, outermost first.
    """

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
        self.nested = nested
        self.longest = longest
        self.through = through

    def replace(self, *given: Any) -> Defaults:
        """Return a copy with the given values, in the order of the fields; `None` keeps one.

        >>> from ixbackoff import Exponential
        >>> Defaults(within=2).replace(Exponential(base=0.1)).within
        2
        """
        if given.count(None) == len(given):
            return self
        both = zip_longest(fields_of(self).values(), given)
        values: list[Any] = [old if new is None else new for old, new in both]
        return Defaults(*values)


def checked_longest(longest: float | timedelta | None) -> float:
    """Return the longest wait that a service may ask for, in seconds; infinity without a limit.

    Raises:
        ValueError: `longest` is not a number of seconds, 0 or more, or a timedelta.
    """
    return inf if longest is None else between("longest", longest, 0, inf, "seconds")


ONCE = "once"
"""The value of `nested` that reduces nested functions to one try instead of rejecting them."""

USUAL = Defaults()
