"""The arguments of `backoff`, and functions whose answers `until` checks."""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.stopping import checked_stop
from .._meaning.chains import checked_name
from .._meaning.defaults import ONCE, Defaults
from .._words.commands import Misuse, is_coroutine_function
from .._words.failures import NotReady, On, checked_predicate, choices
from .._words.values import Value, fields_of
from .._words.verdicts import is_transient
from .._writing.attempts import expected
from ..schedules.algebra import Schedule
from ..schedules.kinds import powers_of_two

if TYPE_CHECKING:
    from datetime import timedelta
    from threading import Event

Nested: TypeAlias = Literal["refused", "once"]
"""The treatment of a decorated function that another one calls."""

LONGEST = 900.0
"""The longest wait that a service may ask of a decorated function by default, in seconds."""

Wanted: TypeAlias = Callable[[Any], bool]
"""A predicate of the answer, whose type depends on the function."""


class Settings(Value):
    """All arguments of `backoff` except the rung."""

    __slots__ = (
        "on",
        "until",
        "schedule",
        "within",
        "budget",
        "breaker",
        "stop",
        "nested",
        "name",
        "longest",
    )

    def __init__(
        self,
        on: On = is_transient,
        until: Wanted | None = None,
        schedule: Schedule = powers_of_two,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
        nested: Nested = "refused",
        name: str | None = None,
        longest: float | timedelta | None = LONGEST,
    ) -> None:
        self.on = on
        self.until = until
        self.schedule = schedule
        self.within = within
        self.budget = budget
        self.breaker = breaker
        self.stop = stop
        self.nested = nested
        self.name = name
        self.longest = longest

    def replace(self, changed: Settings) -> Settings:
        """Return a copy with the values of `changed`, except where those are `KEPT`."""
        pairs = zip(fields_of(self).values(), fields_of(changed).values(), strict=True)
        values: list[Any] = [old if new is KEPT else new for old, new in pairs]
        return Settings(*values)

    def __str__(self) -> str:
        """Return the arguments that differ from the defaults."""
        given = fields_of(self).items()
        return ", ".join(
            f"{name}={value!r}" for name, value in given if value != getattr(USUAL, name)
        )

    @property
    def defaults(self) -> Defaults:
        """The defaults of a program that is made with these settings."""
        limits = (self.within, self.budget, self.breaker, self.stop, self.longest, self.nested)
        return Defaults(self.schedule, *limits)

    @property
    def chosen(self) -> On:
        """The failures to retry: those of `on`, and with `until` also `NotReady`."""
        if self.until is None or self.on is is_transient:
            return self.on
        kinds, predicates = choices(self.on)
        return [NotReady, *kinds, *predicates]

    def check(self) -> None:
        """Check the settings that no run checks.

        Raises:
            Misuse: `until` is not a predicate, `stop` is not an event, `nested` is neither
                "refused" nor "once", or `name` is not a name.
        """
        if self.until is not None:
            if not callable(self.until):
                raise Misuse(
                    f"until={self.until!r}: give a function from the answer to a bool, which is "
                    "true for the wanted answer."
                )
            checked_predicate(self.until)
        if self.stop is not None:
            checked_stop(self.stop)
        if self.name is not None:
            checked_name(self.name)
        if self.nested not in ("refused", ONCE):
            raise Misuse(f'nested={self.nested!r}: give "once" or "refused".')


USUAL = Settings()


KEPT: Any = object()
"""The value of an argument that a call of `.replace` leaves out."""


def wanting(function: Any, until: Wanted | None) -> Any:
    """Return a function that raises `NotReady` while `until` is false for the answer."""
    if until is None:
        return function
    wanted = expected(until)
    if is_coroutine_function(function):

        async def answer_async(*args: Any, **kwargs: Any) -> Any:
            return wanted(await function(*args, **kwargs))

        return answer_async

    def answer(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if result.__class__ is CoroutineType else wanted(result)

    return answer
