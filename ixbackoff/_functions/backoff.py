"""`backoff`: programs around plain functions and blocks of code."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, TypeVar, final

from .._limits.budgets import Budget
from .._limits.nesting import check_begun
from .._limits.observers import PRESENT, watched
from .._meaning.chains import checked_name
from .._meaning.descents import After, begins, descents, kinds_and_predicate
from .._meaning.runs import Run
from .._meaning.semantics import unrolled
from .._running.loops import check_run
from .._words.calls import Call, CallAsync, call, call_async
from .._words.commands import Interpreter, Stream, is_coroutine_function
from .._words.failures import On
from .._words.nat import Nat, Rung, Z, name_of, position
from .._words.verdicts import may_pass
from .._words.vocabulary import Delay
from .._writing.attempts import CommandOrAttempt
from .._writing.programs import Program, at
from ..schedules.kinds import Schedule, powers_of_two
from .answering import PLAIN, interpreter, interpreter_async
from .blocks import Block, Tries, TriesAsync, Try
from .callers import caller
from .functions import checked_function

P = ParamSpec("P")
A = TypeVar("A")
E = TypeVar("E")
R = TypeVar("R")
I = TypeVar("I", bound=Nat)  # noqa: E741


@final
class Backoff(Generic[I]):
    """A decision on which failures to retry, how often, and after what waits; made by `backoff`.

    It is immutable, so any number of functions, threads and tasks can share one. For each call of a
    function it does the same as the program `at(rung).retry(call(function, ...))`.
    """

    __slots__ = (
        "_descent",
        "_generic",
        "_on",
        "_rung",
        "_top",
        "budget",
        "name",
        "schedule",
        "within",
    )
    _rung: Rung[I]
    _top: int
    _on: On
    _generic: bool
    _descent: Callable[[], After]
    schedule: Schedule
    within: float | None
    budget: Budget | None
    name: str | None

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make it with backoff(...).")

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function, a coroutine function or a method: calls that fail are tried again.

        >>> from ixbackoff import N3, backoff
        >>> @backoff(N3)
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double(4)
        8

        Raises:
            TypeError: `function` is a generator function, or not a function.
        """
        if isinstance(function, type):
            raise TypeError(f"backoff on the class {function.__name__}: put it on its methods.")
        retried: Callable[P, R] = wraps(function)(caller(self, function))
        return retried

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `function`, and again while it fails; await the result of a coroutine function.

        >>> from ixbackoff import N3, backoff
        >>> backoff(N3).call(pow, 2, 5)
        32

        Raises:
            TypeError: `function` is a generator function, or not a function.
        """
        answer: R = caller(self, function)(*args, **kwargs)
        return answer

    def program(
        self, function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs
    ) -> Program[I, Z, A, Call[A] | Delay]:
        """Make the program that does the same as such a call.

        >>> from ixbackoff import N2, backoff, plan
        >>> print(plan(backoff(N2).program(pow, 2, 5)))
        rung  tries    then waits  if
        N2        1           1 s  failed
        N1        1           2 s  failed
        N0        1             -
        at most 3 tries, 2 waits, 3 s
        """
        checked_function(function)
        if is_coroutine_function(function):
            raise TypeError(
                f"program({function!r}): it is a coroutine function, use program_async."
            )
        return self._program(call(function, *args, **kwargs))

    def program_async(
        self, function: Callable[P, Coroutine[Any, Any, A]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Program[I, Z, A, CallAsync[A] | Delay]:
        """As `program`, for a coroutine function.

        >>> from asyncio import sleep
        >>> from ixbackoff import N2, backoff
        >>> backoff(N2).program_async(sleep, 1)
        <Program from N2 to N0, 1 step>
        """
        checked_function(function)
        return self._program(call_async(function, *args, **kwargs))

    def __iter__(self) -> Iterator[Try]:
        """Try a block of code: `for one_try in backoff(N3): with one_try: ...`.

        A failure inside the `with` is tried again; a `break` after the `with` drops it. Code beside
        the `with` is not tried again, and may retry by itself. A deadline does not interrupt the
        block: `time_limit()` tells it the seconds that are left.

        >>> from ixbackoff import N3, backoff
        >>> for one_try in backoff(N3):
        ...     with one_try:
        ...         print("try", one_try.number)
        try 1
        """
        return Tries(*self._block(sys._getframe(1)), interpreter()._handlers)

    def __aiter__(self) -> AsyncIterator[Try]:
        """Try a block in a coroutine: `async for one_try in backoff(N3): with one_try: ...`."""
        return TriesAsync(*self._block(sys._getframe(1)), interpreter_async()._handlers)

    def __repr__(self) -> str:
        given = {"on": self._on, **self._how(), "name": self.name}
        said = [f"{name}={value!r}" for name, value in given.items() if value is not DEFAULTS[name]]
        return f"backoff({', '.join([name_of(self._top), *said])})"

    if not TYPE_CHECKING:  # or a checker would let any attribute be set

        def __setattr__(self, name, value):
            if hasattr(self, name):
                raise AttributeError(f"{self!r} does not change: make another one.")
            super().__setattr__(name, value)

    def _how(self) -> dict[str, Any]:
        return {"schedule": self.schedule, "within": self.within, "budget": self.budget}

    def _block(self, frame: FrameType) -> tuple[Program[I, Z, None, Block | Delay], Stream, Run]:
        """Make what tries a block; it has the name of the function that it stands in."""
        name = self.name or frame.f_code.co_qualname.rpartition("<locals>.")[2]
        program = at(self._rung).named(name).retry(Block(), self._on)
        check_begun(program)
        run = Run(program, self.schedule)
        stream = unrolled(program, self.schedule, within=self.within, budget=self.budget, run=run)
        return program, watched(stream, run) if PRESENT else stream, run

    def _program(self, effect: CommandOrAttempt[E, A]) -> Program[I, Z, A, E | Delay]:
        begun = at(self._rung) if self.name is None else at(self._rung).named(self.name)
        return begun.retry(effect, self._on)


def backoff(
    rung: Rung[I],
    *,
    on: On = may_pass,
    schedule: Schedule = powers_of_two,
    within: float | None = None,
    budget: Budget | None = None,
    name: str | None = None,
) -> Backoff[I]:
    """Try plain functions and blocks of code again while they fail, at most `rung` times.

    >>> from ixbackoff import N3, NotReady, backoff
    >>> from ixbackoff.schedules import Constant
    >>> tries = iter([NotReady(), NotReady(), "page"])
    >>> @backoff(N3, schedule=Constant(0.001))
    ... def page() -> str:
    ...     outcome = next(tries)
    ...     if isinstance(outcome, Exception):
    ...         raise outcome
    ...     return outcome
    >>> page()
    'page'

    Args:
        rung: the most waits that there can be, `N3` for four tries, `FOREVER` for no end.
        on: the failures that are worth another try: an exception class, a tuple of them, or a
            predicate.
        schedule: the seconds of the waits.
        within: the seconds that a call may take in all, tries and waits.
        budget: the retry budget that pays for further tries; it can be shared.
        name: the name that the log and observers are told; by default that of the function.

    Raises:
        TypeError: `rung` is not a rung, `on` does not choose exceptions, `schedule` is not a
            schedule, `budget` is not a budget, or `name` is not a name.
        ValueError: `within` is not above 0, or not finite; or the schedule draws no random numbers
            and gives an unusable number of seconds.
    """
    made: Backoff[I] = object.__new__(UNTYPED)
    made._rung = rung
    made._top = _position(rung)
    made._on = on
    made.schedule = schedule
    made.within = within
    made.budget = budget
    made.name = None if name is None else checked_name(name)
    made._generic = within is not None or budget is not None
    check_run(at(rung).give_up(), PLAIN, Interpreter, schedule, within, budget)
    begin = begins(schedule, made._top)
    made._descent = descents(made._top, *kinds_and_predicate(on), begin)
    return made


def _position(rung: Rung[I]) -> int:
    given: object = rung
    if isinstance(given, FunctionType | staticmethod | classmethod):
        raise TypeError(f"@backoff on {given.__name__}: write @backoff(N3), with parentheses.")
    return position(rung)


UNTYPED: type[Backoff[Any]] = Backoff
DEFAULTS = {
    "on": may_pass,
    "schedule": powers_of_two,
    "within": None,
    "budget": None,
    "name": None,
}
