"""The definition of a retry, for all callers: which failures it waits after, and how long."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

from .._words.checks import inf
from .._words.commands import Misuse, stop_error
from .._words.failure_classes import (
    CircuitOpen,
    NotBefore,
    On,
    Predicate,
    Transient,
    choices,
    predicate,
)
from .._words.judging import FORGOTTEN, SILENT, asked_for, is_transient
from .._words.notes import TOO_LONG, add_note
from .._words.rungs import DEEPEST, ENDLESS
from ..schedules.algebra import spread_out, steady
from ..schedules.base import After, Chance, Timing, WaitFunction, usable

if TYPE_CHECKING:
    from random import Random

__tracebackhide__ = True

Kinds: TypeAlias = type[object] | tuple[type[Exception], ...]
"""A second argument of `isinstance`, which is faster with a class than with a tuple of one."""

ONE_TRY: list[object] = []
"""The switches that reduce every ladder of the process to a single try."""


def descents(
    rungs: int,
    kinds: Kinds,
    chosen: Predicate,
    begin: Callable[[], WaitFunction],
    common: bool = False,
    table: list[float] | None = None,
    first: int = 0,
    shortens: bool = False,
    longest: float = inf,
) -> Callable[[], After]:
    """Return a function to call when a retry begins; its result is called to compute each wait.

    While a rung is left and the failure is chosen, there is a wait. It is never shorter than the
    wait before, or than the service asked for. An endless ladder has the waits of the deepest
    finite one, and then repeats the last of them. While `ONE_TRY` is not empty, the first failure
    ends the retry; a wait after a success still takes place.

    Args:
        rungs: the number of waits left, or `ENDLESS`.
        kinds: the classes of failures to retry.
        chosen: the predicate that decides for each other failure whether to retry it.
        begin: draws the schedule for a run, at its first wait.
        common: whether all runs can share one draw.
        table: the waits, if they are the same in all runs.
        first: the number of rungs above this retry, which is the index of its first wait.
        shortens: whether a wait may be shorter than the one before, as in simulations.
        longest: the longest wait that a service or a gate may ask for; a longer one ends the
            retry, and the failure gets a note.
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
            usual = False
            if kind is plain and known == FORGOTTEN[0]:
                if table is not None and (seconds := table[k]) >= shortest:
                    return seconds
                usual = True
            if not usual and isinstance(failure, StopIteration):
                failure = stop_error(failure)
            yes: Any = usual or isinstance(failure, kinds) or chosen(failure)
            if not yes:
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
            forgotten, asked = FORGOTTEN[0], 0.0
            if kind not in SILENT:
                asked = asked_for(failure)
            elif chosen is is_transient or isinstance(failure, kinds):
                plain = kind  # all failures of this class are chosen, and carry no Retry-After
                known = forgotten  # assigned last: other threads read both
            if yes.__class__ is NotBefore and yes > seconds:
                seconds = float(yes)
            if asked <= seconds:
                return seconds
            if asked > longest and kind is not CircuitOpen:
                add_note(failure, f"{TOO_LONG} {asked:.15g} s, longest is {longest:g} s")
                return None
            return asked

        return after

    if not common:
        return run
    after = run()
    return lambda: after


def without_end(begin: Callable[[], WaitFunction]) -> Callable[[], WaitFunction]:
    def begun() -> WaitFunction:
        waits = begin()
        return lambda k: waits(k if k < DEEPEST else DEEPEST - 1)

    return begun


def check_endless(timing: Timing) -> None:
    """Check that the waits of an endless ladder do not stay at 0, if that is known before a run.

    Simulations need no check: their tries take time, or they notice that no time passes.
    """
    last = 1.0
    with suppress(Exception):  # the run raises the exception when it needs the wait
        common = steady(timing)
        last = 1.0 if common is None else common[0](DEEPEST - 1)
    if last == 0:
        raise Misuse(
            f"At FOREVER, schedule={timing!r} would retry without end and without a pause: "
            "its waits stay at 0: give one whose waits grow or start above 0, such as Constant(1)."
        )


def begins(
    timing: Timing, top: int, chance: Random | None = None, checked: bool = True
) -> tuple[Callable[[], WaitFunction], bool, list[float] | None]:
    """Prepare the waits of runs, at most `top` each.

    Waits that are the same in all runs, or differ by a random factor only, are computed here.

    Returns:
        1. the function that draws the waits of a run;
        2. whether all runs can share one draw;
        3. the table of the waits, if they are the same in all runs.
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


def drawn(timing: Timing, chance: Chance | None = None) -> WaitFunction:
    waits = timing.begin(chance)
    return lambda k: usable(waits(k), k, timing)


def kinds_and_predicate(on: On) -> tuple[Kinds, Predicate]:
    """Return the classes that `on` chooses, and a predicate for all other failures."""
    if on is is_transient:
        return Transient, is_transient
    kinds, predicates = choices(on)
    if predicates or any(issubclass(Misuse, kind) or issubclass(kind, Misuse) for kind in kinds):
        chosen = predicate(on)
        return (), lambda failure: not isinstance(failure, Misuse) and chosen(failure)
    return kinds[0] if len(kinds) == 1 else kinds, lambda _: False
