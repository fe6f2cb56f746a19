"""The one definition of a retry: after which failures it waits, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import NoneType
from typing import Any, TypeAlias

from .._words.checks import inf
from .._words.commands import Misuse, stopped
from .._words.failures import On, Predicate, Transient, choices, predicate
from .._words.nat import DEEPEST, ENDLESS
from .._words.verdicts import FORGOTTEN, SILENT, asked_for, is_transient
from ..schedules.algebra import steady
from ..schedules.timings import Chance, Timing, WaitFunction, usable

__tracebackhide__ = True

Kinds: TypeAlias = type[object] | tuple[type[Exception], ...]
"""As `isinstance` takes them; it is faster with a class than with a tuple of one."""

After: TypeAlias = Callable[[Any, int, float], float | None]
"""Asked after each failure of a run: the seconds to wait before the next try, or `None`: no try.

It is told the failure, how many waits there have been, and how long the last of them was.
"""


ONE_TRY: list[object] = []
"""Not empty while every ladder in the process tries once: what a test has switched on."""


def descents(
    rungs: int,
    kinds: Kinds,
    chosen: Predicate,
    begin: Callable[[], WaitFunction],
    common: bool = False,
    table: list[float] | None = None,
    first: int = 0,
    shortens: bool = False,
) -> Callable[[], After]:
    """A retry: while a rung is left and the failure is chosen, wait and go down.

    No wait is shorter than the one before it, nor than the service asked for. A ladder without end
    has the waits of the deepest one, and then the last of them again and again. What fails first
    while `ONE_TRY` is switched on is not tried again; a wait without a failure is waited.

    >>> from ixbackoff import Exponential, NotReady, Throttled
    >>> after = descents(3, (NotReady, Throttled), bool, Exponential().begin)()
    >>> after(NotReady(), 0, 0.0), after(Throttled(5), 1, 1.0), after(NotReady(), 2, 5.0)
    (1.0, 5.0, 5.0)
    >>> after(NotReady(), 3, 5.0) is None
    True

    Args:
        rungs: how many waits are left, or `ENDLESS`.
        kinds: the failures that are worth another try, by their classes,
        chosen: and by a predicate, which is asked for the others.
        begin: begins the waits of a run, at the first of them.
        common: whether all runs may have these in common, so that they are begun once.
        table: the waits, if they are always the same.
        first: how many waits there have been.
        shortens: whether a wait may be shorter than the one before: in simulations.
    """
    last = first + rungs
    if rungs == ENDLESS:
        last, begin, table = -1, without_end(begin), None

    def run() -> After:
        waits: WaitFunction | None = None
        plain: type | None = None
        known = 0

        def after(failure: Any, k: int, shortest: float) -> float | None:
            nonlocal waits, plain, known
            kind = failure.__class__
            if (k == last or (ONE_TRY and k == first)) and kind is not NoneType:
                return None
            usual = kind is plain and known == FORGOTTEN[0]
            if not usual and isinstance(failure, StopIteration):
                failure = stopped(failure)
            if not (usual or isinstance(failure, kinds) or chosen(failure)):
                return None
            if table is not None:
                seconds = table[k]
            else:
                if waits is None:
                    waits = begin()
                seconds = waits(k)
            if seconds < shortest and not shortens:
                seconds = shortest
            if usual:
                return seconds
            forgotten = FORGOTTEN[0]
            if isinstance(failure, Transient):
                if failure.retry_after is not None:
                    seconds = max(seconds, asked_for(failure))
            elif kind not in SILENT:
                seconds = max(seconds, asked_for(failure))
            elif chosen is is_transient or isinstance(failure, kinds):
                plain = kind  # all failures of this kind are chosen, and ask for no time
                known = forgotten  # last, since other threads may look
            return seconds

        return after

    if not common:
        return run
    after = run()
    return lambda: after


def without_end(begin: Callable[[], WaitFunction]) -> Callable[[], WaitFunction]:
    """Waits that go on: those of the deepest ladder, and then the last of them again and again."""

    def begun() -> WaitFunction:
        waits = begin()
        return lambda k: waits(k if k < DEEPEST else DEEPEST - 1)

    return begun


def begins(
    timing: Timing, top: int, chance: Chance | None = None, checked: bool = True
) -> tuple[Callable[[], WaitFunction], bool, list[float] | None]:
    """A function that begins the waits of a run, at most `top` of them.

    Return with it whether all runs can have them in common, and a table of those that are always
    the same.

    Those that are always the same, or so but for a random factor, are asked for once and for all.

    Raises:
        ValueError: it is `checked`, and one of these is not a usable number.
    """
    table: list[float] = []
    spread: float | None = None
    with nullcontext() if checked else suppress(Exception):
        common = steady(timing)
        if common is not None:
            waits, factor = common
            table = [usable(waits(k), k, timing) for k in range(min(top, DEEPEST))]
            spread = factor
    if spread is None or not all(seconds * spread < inf for seconds in table):
        return lambda: drawn(timing, chance), False, None
    if spread == 1.0:
        return lambda: table.__getitem__, True, table
    return lambda: spread_out(table, spread, chance), True, None


def spread_out(table: list[float], spread: float, chance: Chance | None) -> WaitFunction:
    """The waits of any run: those of the table, each times a random factor from 1 to `spread`."""
    if chance is not None:
        uniform = chance.uniform
        return lambda k: table[k] * uniform(1.0, spread)
    import random  # now, since what is decorated may never be called; `from` would be slow

    more = spread - 1.0
    return lambda k: table[k] * (1.0 + more * random.random())  # noqa: S311  as uniform(1, spread)


def drawn(timing: Timing, chance: Chance | None = None) -> WaitFunction:
    """The waits of one run, asked for one by one."""
    waits = timing.begin(chance)
    return lambda k: usable(waits(k), k, timing)


def kinds_and_predicate(on: On) -> tuple[Kinds, Predicate]:
    """The failures that are chosen by their class alone, and the predicate for all others."""
    if on is is_transient:
        return Transient, is_transient
    kinds, predicates = choices(on)
    if predicates or any(issubclass(Misuse, kind) or issubclass(kind, Misuse) for kind in kinds):
        chosen = predicate(on)
        return (), lambda failure: not isinstance(failure, Misuse) and chosen(failure)
    return kinds[0] if len(kinds) == 1 else kinds, lambda _: False
