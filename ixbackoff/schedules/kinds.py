"""The kinds of schedules: exponential, constant, Fibonacci, listed and computed waits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Final, final

from .._words.checks import finite, inf
from .._words.rungs import DEEPEST
from .algebra import Schedule
from .base import Chance, WaitFunction, never_shorter, usable_or_infinite


class Series(Schedule):
    """A schedule whose k-th wait is a function of k that never decreases."""

    __slots__ = ()
    sound = True

    @property
    def deterministic(self) -> bool:
        return True

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return self.seconds

    def longest(self, k: int) -> float:
        return self.seconds(k)

    @abstractmethod
    def seconds(self, k: int) -> float:
        """Return the seconds of the k-th wait."""


@final
class Exponential(Series):
    """Waits of `base * factor**k` seconds, at most `cap`.

    >>> Exponential().preview(4)
    [1.0, 2.0, 4.0, 8.0]
    >>> Exponential(base=0.1, factor=3, cap=0.5)
    Exponential(base=0.1, factor=3.0, cap=0.5)

    Args:
        base: seconds of the first wait, more than 0.
        factor: the ratio of each wait to the one before, 1 or more.
        cap: seconds of the longest wait, at least `base`, or `None`.

    Raises:
        ValueError: a number is out of these bounds, or a wait would be infinite.
    """

    __slots__ = ("base", "factor", "cap")

    def __init__(self, base: float = 1.0, factor: float = 2.0, cap: float | None = None) -> None:
        if not finite(base) > 0:
            raise ValueError(f"base={base!r}: give seconds above 0 for the first wait.")
        if not finite(factor) >= 1:
            raise ValueError(
                f"factor={factor!r}: give 1 or more: a wait is never shorter than the one before."
            )
        if cap is not None and not finite(cap) >= finite(base):
            raise ValueError(f"cap={cap!r}: give at least the base, {base!r} s, or None.")
        self.base: Final = finite(base)
        self.factor: Final = finite(factor)
        self.cap: Final = None if cap is None else finite(cap)
        if self.seconds(DEEPEST) == inf:
            raise ValueError(
                f"factor={factor!r}: the waits would be infinite: give a cap, or a smaller factor."
            )

    def seconds(self, k: int) -> float:
        try:
            seconds = self.base * self.factor**k
        except OverflowError:
            seconds = inf
        return seconds if self.cap is None or seconds < self.cap else self.cap


@final
class Constant(Series):
    """Waits of the same length; `schedule & Constant(60)` caps the waits of `schedule`.

    >>> Constant(2).preview(3)
    [2.0, 2.0, 2.0]

    Raises:
        ValueError: `every` is negative or not finite.
    """

    __slots__ = ("every",)

    def __init__(self, every: float) -> None:
        if not finite(every) >= 0:
            raise ValueError(f"Constant({every!r}): give seconds, 0 or more.")
        self.every: Final = finite(every)

    def seconds(self, k: int) -> float:  # noqa: ARG002
        return self.every


@final
class Fibonacci(Series):
    """Waits of 1, 1, 2, 3, 5, 8, ... times `base` seconds: each is the sum of the two before.

    >>> Fibonacci(0.5).preview(6)
    [0.5, 0.5, 1.0, 1.5, 2.5, 4.0]

    Raises:
        ValueError: `base` is not above 0, or is so large that a wait would be infinite.
    """

    __slots__ = ("base",)

    def __init__(self, base: float = 1.0) -> None:
        if not 0 < finite(base) * 20_000 < inf:  # more than the longest wait, 6765 * base
            raise ValueError(f"Fibonacci({base!r}): give seconds above 0 and below 8e303.")
        self.base: Final = finite(base)

    def seconds(self, k: int) -> float:
        kth, following = 1.0, 1.0
        for _ in range(k):
            kth, following = following, kth + following
        return self.base * kth


@final
class Listed(Series):
    """The given waits, and then the last one again and again.

    >>> Listed([1, 5, 30]).preview(5)
    [1.0, 5.0, 30.0, 30.0, 30.0]

    Raises:
        TypeError: `waits` is not a list or another iterable.
        ValueError: `waits` is empty, or a wait is negative, not finite, or shorter than the one
            before.
    """

    __slots__ = ("waits",)

    def __init__(self, waits: Iterable[float]) -> None:
        if not isinstance(waits, Iterable):
            raise TypeError(f"Listed({waits!r}): give a list of seconds.")
        given = tuple(waits)
        seconds = tuple(finite(wait) for wait in given)
        if not given or not all(wait >= 0 for wait in seconds):
            raise ValueError(
                f"Listed({list(given)!r}): give at least one number of seconds, each 0 or more."
            )
        if list(seconds) != sorted(seconds):
            raise ValueError(
                f"Listed({list(given)!r}): a wait is never shorter than the one before: sort "
                f"them, and write Listed({sorted(given)!r})."
            )
        self.waits: Final = seconds

    def seconds(self, k: int) -> float:
        return self.waits[min(k, len(self.waits) - 1)]

    def __repr__(self) -> str:
        return f"Listed({list(self.waits)!r})"


@final
class Computed(Schedule):
    """Waits that a function computes from k; a shorter wait is made as long as the one before.

    >>> Computed(lambda k: (k + 1) ** 2).preview(4)
    [1.0, 4.0, 9.0, 16.0]

    The function has to return the same seconds for the same k. For random waits use
    `.jittered(...)`, or derive a `Schedule` of your own.

    Raises:
        TypeError: `function` cannot be called.
    """

    __slots__ = ("function",)
    sound = True

    def __init__(self, function: Callable[[int], float]) -> None:
        if not callable(function):
            raise TypeError(f"Computed({function!r}): give a function from k to seconds.")
        self.function: Final = function

    @property
    def deterministic(self) -> bool:
        return True

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return never_shorter(lambda k: usable_or_infinite(self.function(k), k, self))


powers_of_two: Final = Exponential()
"""The default schedule, `2**k` seconds, as in "Exponential backoff with indexed monads"."""
