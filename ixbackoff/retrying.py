"""`backoff`: programs around plain functions and blocks of code."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from types import CoroutineType
from typing import Any, Generic, Never, ParamSpec, TypeVar, final

from .attempts import Effect
from .blocks import Block, Tries, TriesAsync, Try
from .budgets import Budget
from .calls import Call, CallAsync, call, call_async
from .commands import Interpreter, awaitable
from .eventloops import sleeping
from .failures import WORTH_ANOTHER_TRY, On, Predicate, Transient
from .loops import checked_run
from .nat import Nat, Rung, Z, reflect
from .nesting import begun, end
from .plain import (
    INFO,
    LONGEST_SLEEP,
    OTHERS,
    PLAIN,
    Kinds,
    begins,
    interpreter,
    interpreter_async,
    is_coroutine_function,
    kinds_and_predicate,
    listener,
    log,
    no_coroutine_function,
    unheard,
)
from .programs import Program, at
from .runs import noted
from .schedules import Schedule, powers_of_two
from .semantics import unroll
from .timings import Waits
from .vocabulary import Delay, delay

P = ParamSpec("P")
A = TypeVar("A")
E = TypeVar("E")
R = TypeVar("R")
I = TypeVar("I", bound=Nat)  # noqa: E741


@final
class Backoff(Generic[I]):
    """How often to try again, when, and how long to wait before; made by `backoff`.

    It is immutable, and one is shared by any number of functions, threads and tasks. What it does
    with a function is a program: `at(rung).retry(call(function, ...))`.
    """

    __slots__ = (
        "_begin",
        "_chosen",
        "_generic",
        "_kinds",
        "_on",
        "_rung",
        "_top",
        "budget",
        "schedule",
        "within",
    )
    _rung: Rung[I]
    _top: int
    _on: On
    _kinds: Kinds
    _chosen: Predicate
    _generic: bool
    _begin: Callable[[], Waits]
    schedule: Schedule
    within: float | None
    budget: Budget | None

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make it with backoff(...).")

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function, a coroutine function or a method: its calls are tried again.

        >>> from ixbackoff import N3, backoff
        >>> @backoff(N3)
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double(4)
        8

        Raises:
            TypeError: it is a generator function, or no function.
        """
        if isinstance(function, type):
            raise TypeError(f"backoff on the class {function.__name__}: put it on its methods.")
        retried: Callable[P, R] = wraps(function)(self._retried(function))
        return retried

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `function`, again while it fails; what a coroutine function gives is awaited.

        >>> from ixbackoff import N3, backoff
        >>> backoff(N3).call(pow, 2, 5)
        32

        Raises:
            TypeError: it is a generator function, or no function.
        """
        answer: R = self._retried(function)(*args, **kwargs)
        return answer

    def program(
        self, function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs
    ) -> Program[I, Z, A, Call[A] | Delay]:
        """The program that such a call is.

        >>> from ixbackoff import N2, backoff, plan
        >>> print(plan(backoff(N2).program(pow, 2, 5)))
        rung  tries    then waits  if
        N2        1           1 s  failed
        N1        1           2 s  failed
        N0        1             -
        at most 3 tries, 2 waits, 3 s
        """
        if is_coroutine_function(function):
            raise TypeError(f"program({function!r}): of a coroutine function, it is program_async.")
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
        is_coroutine_function(function)
        return self._program(call_async(function, *args, **kwargs))

    def __iter__(self) -> Iterator[Try]:
        """Try a block of code: `for one_try in backoff(N3): with one_try: ...`.

        >>> from ixbackoff import N3, backoff
        >>> for one_try in backoff(N3):
        ...     with one_try:
        ...         print("try", one_try.number)
        try 1
        """
        return Tries(self._block(), interpreter()._handlers, waits=self._top > 0)

    def __aiter__(self) -> AsyncIterator[Try]:
        """As `for`, in a coroutine: `async for one_try in backoff(N3): with one_try: ...`."""
        return TriesAsync(self._block(), awaitable(interpreter_async()), waits=self._top > 0)

    def __repr__(self) -> str:
        return f"backoff(N{self._top}, schedule={self.schedule!r})"

    def _how(self) -> dict[str, Any]:
        return {"schedule": self.schedule, "within": self.within, "budget": self.budget}

    def _block(self) -> Any:
        program = at(self._rung).retry(Block(), self._on)
        return unroll(program, self.schedule, within=self.within, budget=self.budget)

    def _retried(self, function: Any) -> Any:
        """What calls `function`, and is what the program of such a call is, many times as fast.

        A law says so; with a deadline, a budget or another interpreter it is that program.
        """
        if is_coroutine_function(function):
            return self._retried_async(function)
        begin, generic, top = self._begin, self._generic, self._top
        kinds, chosen = self._kinds, self._chosen

        def retried(*args: Any, **kwargs: Any) -> Any:
            if generic or OTHERS.get() is not None:
                program = self._program(call(function, *args, **kwargs))
                return program.run(interpreter(), **self._how())
            mark = begun(self) if top else None
            k, shortest, waited = 0, 0.0, 0.0
            waits, wanted = None, unheard
            try:
                while True:
                    try:
                        answer = function(*args, **kwargs) if kwargs else function(*args)  # faster
                        if answer.__class__ is not CoroutineType:
                            return answer
                        raise no_coroutine_function(function, answer)
                    except Exception as failure:
                        if k == top or not (isinstance(failure, kinds) or chosen(failure)):
                            raise
                        if waits is None:
                            waits, wanted = begin(), listener()
                        seconds = waits(k)
                        if seconds > shortest:
                            shortest = seconds
                        if isinstance(failure, Transient):
                            shortest = max(shortest, float(failure.retry_after or 0))
                        if wanted(INFO):
                            log(delay(shortest, top - k, failure))
                    time.sleep(shortest if shortest < LONGEST_SLEEP else LONGEST_SLEEP)
                    waited += shortest
                    k += 1
            except Exception as failure:
                noted(failure, tries=k + 1, waits=k, waited=waited)
                raise
            finally:
                end(mark)

        return retried

    def _retried_async(self, function: Any) -> Any:
        begin, generic, top = self._begin, self._generic, self._top
        kinds, chosen = self._kinds, self._chosen

        async def retried(*args: Any, **kwargs: Any) -> Any:
            if generic or OTHERS.get() is not None:
                program = self._program(call_async(function, *args, **kwargs))
                return await program.run_async(interpreter_async(), **self._how())
            mark = begun(self) if top else None
            k, shortest, waited = 0, 0.0, 0.0
            waits, wanted, sleep = None, unheard, None
            try:
                while True:
                    try:
                        return await (function(*args, **kwargs) if kwargs else function(*args))
                    except Exception as failure:  # as above: what both share would cost a call
                        if k == top or not (isinstance(failure, kinds) or chosen(failure)):
                            raise
                        if waits is None:
                            waits, wanted = begin(), listener()
                        seconds = waits(k)
                        if seconds > shortest:
                            shortest = seconds
                        if isinstance(failure, Transient):
                            shortest = max(shortest, float(failure.retry_after or 0))
                        if wanted(INFO):
                            log(delay(shortest, top - k, failure))
                    sleep = sleep or sleeping()
                    await sleep(shortest if shortest < LONGEST_SLEEP else LONGEST_SLEEP)
                    waited += shortest
                    k += 1
            except Exception as failure:
                noted(failure, tries=k + 1, waits=k, waited=waited)
                raise
            finally:
                end(mark)

        return retried

    def _program(self, effect: Effect[E, A]) -> Program[I, Z, A, E | Delay]:
        return at(self._rung).retry(effect, self._on)


def backoff(
    rung: Rung[I],
    *,
    on: On = WORTH_ANOTHER_TRY,
    schedule: Schedule = powers_of_two,
    within: float | None = None,
    budget: Budget | None = None,
) -> Backoff[I]:
    """Try plain functions and blocks of code again while they fail: at most so many times.

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
        rung: how many waits there are at most.
        on: which failures are worth another try: an exception class, a tuple of them, or a
            predicate.
        schedule: the seconds of the waits.
        within: the seconds that a call has in all, tries and waits.
        budget: what further tries are taken from; shared with others.

    Raises:
        TypeError: `rung` is no rung, `on` chooses no exceptions, `schedule` is no schedule, or
            `budget` is no budget.
        ValueError: `within` is not above 0, or not finite.
    """
    made: Backoff[I] = object.__new__(UNTYPED)
    made._rung = rung
    made._top = reflect(rung)
    made._on = on
    made._kinds, made._chosen = kinds_and_predicate(on)
    made.schedule = schedule
    made.within = within
    made.budget = budget
    made._generic = within is not None or budget is not None
    checked_run(at(rung).give_up(), PLAIN, Interpreter, schedule, within, budget)
    made._begin = begins(schedule, made._top)
    return made


UNTYPED: type[Backoff[Any]] = Backoff
