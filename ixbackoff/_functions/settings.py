"""The arguments of `backoff`, and functions whose answers `until` checks."""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._limits.deadlines import checked_seconds
from .._limits.stopping import checked_stop
from .._meaning.chains import checked_name
from .._meaning.program_names import function_name
from .._meaning.run_defaults import ONCE, Defaults
from .._words.checks import above_zero
from .._words.commands import Misuse, is_coroutine_function
from .._words.equality_by_fields import fields_of
from .._words.failure_classes import NotReady, On, checked_predicate, choices
from .._words.judging import is_transient
from .._writing.attempts import expected
from ..schedules.kinds import powers_of_two

if TYPE_CHECKING:
    from datetime import timedelta

Nested: TypeAlias = Literal["refused", "once"]
"""The treatment of a decorated function that another one calls."""

LONGEST = 900.0  # seconds: the longest wait that may be asked for, by default

Wanted: TypeAlias = Callable[[Any], bool]
"""A predicate of the answer, whose type depends on the function."""


class Settings(Defaults):
    """The arguments of `backoff` except the rung; `limits` are the fields of `Defaults`."""

    __slots__ = ("on", "until", "name", "each")

    def __init__(
        self,
        on: On,
        until: Wanted | None,
        name: str | None,
        each: float | timedelta | None,
        *limits: Any,
    ) -> None:
        super().__init__(*limits)
        self.on = on
        self.until = until
        self.name = name
        self.each = each

    def updated(self, changes: Settings) -> Settings:
        new = {name: value for name, value in fields_of(changes).items() if value is not KEPT}
        values: Any = fields_of(self) | new
        own = [values.pop(name) for name in Settings.__slots__]
        return Settings(*own, *values.values())

    def __str__(self) -> str:
        """Return the arguments that differ from the defaults."""
        names = ("on", "until", *Defaults.__slots__, "name", "each")
        given = [(name, getattr(self, name), getattr(USUAL, name)) for name in names]
        return ", ".join(f"{name}={value!r}" for name, value, usual in given if value != usual)

    @property
    def defaults(self) -> Defaults:
        return Defaults(*[getattr(self, name) for name in Defaults.__slots__])

    @property
    def chosen(self) -> On:
        """The failures to retry: those of `on`, and with `until` also `NotReady`."""
        if self.until is None or self.on is is_transient:
            return self.on
        kinds, predicates = choices(self.on)
        return [NotReady, *kinds, *predicates]

    def check(self) -> None:
        """Check the settings that no run checks."""
        if self.until is not None:
            if not callable(self.until):
                raise Misuse(
                    f"until={self.until!r}: give a function from the answer to a bool, which is "
                    "true for the wanted answer."
                )
            checked_predicate(self.until)
        if self.stop is not None:
            checked_stop(self.stop)
        if self.each is not None:
            above_zero("each", checked_seconds("each", self.each) or 0)
        if self.name is not None:
            checked_name(self.name)
        if self.nested not in ("refused", ONCE):
            raise Misuse(f'nested={self.nested!r}: give "once" or "refused".')


LIMITS = (powers_of_two, None, None, None, None, LONGEST, "refused", None)
USUAL = Settings(is_transient, None, None, None, *LIMITS)

KEPT: Any = object()  # an argument that a call of `.replace` leaves out


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


def no_coroutine_function(function: Any, coroutine: Any) -> Misuse:
    """Close the coroutine that a plain function returned, and return the error for it."""
    coroutine.close()
    return Misuse(
        f"backoff on {function_name(function)}: it is not written with `async def`, but it "
        "returned a coroutine, which would not be retried: put backoff on the `async def` itself."
    )
