"""Timings, which map k to the seconds of the k-th wait, and their random numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._words.checks import finite, inf
from .._words.equality_by_fields import Value, fields_of

WaitFunction: TypeAlias = Callable[[int], float]
"""The waits of one run: a function from k to the seconds of the k-th wait. k grows with each call,
except on a ladder without end: there k stays at 19 once it has reached 19."""

After: TypeAlias = Callable[[Any, int, float], float | None]
"""Computes the seconds to wait after a failure, `None` for no further try. Its arguments: the
failure, the number of waits so far, and the seconds of the last wait."""


class Chance(Protocol):
    """A source of random numbers: a `random.Random`, or the module `random` itself.

    >>> import random
    >>> from ixbackoff import Exponential
    >>> waits = Exponential().jittered().begin(random.Random(1))
    >>> round(waits(0), 3), round(waits(1), 3)
    (1.134, 3.695)
    """

    def uniform(self, a: float, b: float, /) -> float: ...

    def normalvariate(self, mu: float, sigma: float, /) -> float: ...

    def expovariate(self, lambd: float, /) -> float: ...


class Timing(Value, ABC):
    """The seconds of waits. A `Schedule` never shortens them; a `Shortening` may, in simulations.

    A timing is an immutable value that programs, threads and tasks can share. The state of a run is
    in the function that `begin` returns.

    >>> from ixbackoff import Exponential
    >>> Exponential(0.5) == Exponential(base=0.5, factor=2.0)
    True

    Attributes:
        deterministic: true if the k-th wait is always the same: no random number is drawn.
        from_start: true if a wait is measured from the start of the try before it, not its end.
        shortens: true if a wait may be shorter than the one before it.
        sound: true if the waits need no check: all are numbers, 0 or more, and none is shorter
            than the one before it.
    """

    __slots__ = ()
    from_start = False
    shortens = True
    sound = False

    @property
    def deterministic(self) -> bool:
        return False

    @abstractmethod
    def begin(self, chance: Chance | None = None) -> WaitFunction:
        """Begin the waits of one run, with random numbers from `chance` (by default `random`).

        >>> from ixbackoff import Exponential
        >>> waits = Exponential().begin()
        >>> waits(0), waits(3)
        (1.0, 8.0)
        """

    def preview(self, wait_count: int, *, seed: int | None = None) -> list[float]:
        """Return the seconds of the first `wait_count` waits of a run with this `seed`.

        >>> from ixbackoff import Exponential
        >>> Exponential(base=0.5).preview(4)
        [0.5, 1.0, 2.0, 4.0]

        Raises:
            ValueError: `wait_count` is negative, a wait is negative, or a wait is not a number.
        """
        if wait_count < 0:
            raise ValueError(f"preview({wait_count!r}): give a number of waits, 0 or more.")
        run = self.begin(None if self.deterministic else chance_of(seed))
        return [usable_or_infinite(run(k), k, self) for k in range(wait_count)]

    if not TYPE_CHECKING:  # with these, type checkers would accept an assignment to any attribute

        def __setattr__(self, name, value):
            if name in fields_of(self):
                raise AttributeError(f"{self!r} is immutable: make another one.")
            super().__setattr__(name, value)

        def __delattr__(self, name):
            raise AttributeError(f"{self!r} is immutable: make another one.")


def begun(timing: Timing, chance: Chance | None) -> WaitFunction:
    """Begin the waits of a timing; check each, and lengthen it if the one before was longer."""
    waits = timing.begin(chance)
    if timing.sound:
        return waits
    return never_shorter(lambda k: usable_or_infinite(waits(k), k, timing))


def never_shorter(waits: WaitFunction) -> WaitFunction:
    """Return the same waits, but lengthen each to the longest one before it."""
    shortest = 0.0

    def longer(k: int) -> float:
        nonlocal shortest
        shortest = max(shortest, waits(k))
        return shortest

    return longer


def usable(seconds: float, k: int, timing: Timing) -> float:
    """Return `seconds` as a float; raise ValueError if they cannot be the length of a wait."""
    if seconds.__class__ is float and 0.0 <= seconds < inf:
        return seconds
    exact = finite(seconds)
    if exact >= 0:
        return exact
    raise ValueError(
        f"The schedule {timing!r} gave {seconds!r} for wait {k}: it has to give a finite "
        "number of seconds, 0 or more."
    )


def usable_or_infinite(seconds: float, k: int, timing: Timing) -> float:
    """Return `seconds` as `usable` does, or infinity, to which a cap may still be applied."""
    given: object = seconds
    infinite = isinstance(given, float) and float.__pos__(given) == inf
    return inf if infinite else usable(seconds, k, timing)


def chance_of(seed: int | None) -> Chance:
    from random import Random

    return Random(seed)  # noqa: S311


def any_chance() -> Chance:
    """Return Python's own source of random numbers: shared by threads, reseeded after a fork."""
    import random

    return random
