"""`backoff`: programs around plain functions and blocks of code."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from functools import wraps
from types import CoroutineType
from typing import Any, Generic, Never, ParamSpec, TypeAlias, TypeVar, final

from .blocks import Block, Try, tries, tries_async
from .budgets import Budget
from .calls import Call, CallAsync, call, call_async
from .commands import CO_COROUTINE, Interpreter, Misuse, awaitable, code_flags, unawaited
from .eventloops import sleeping
from .failures import WORTH_ANOTHER_TRY, On, Predicate, Transient, predicate
from .loops import checked_run
from .nat import Nat, Rung, Z, reflect
from .nesting import begun, end
from .plain import LONGEST_SLEEP, OTHERS, PLAIN, interpreter, interpreter_async, log, logged
from .programs import Program, at
from .runs import noted
from .schedules import Schedule, powers_of_two, usable
from .semantics import unroll
from .vocabulary import Delay, delay

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")
I = TypeVar("I", bound=Nat)  # noqa: E741

Kinds: TypeAlias = tuple[type[Exception], ...]
Waits: TypeAlias = Generator[float, Any, Never]

GENERATORS = 0x20 | 0x200  # inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


@final
class Backoff(Generic[I]):
    """How often to try again, when, and how long to wait before; made by `backoff`.

    It is immutable, and one is shared by any number of functions, threads and tasks. What it does
    with a function is a program: `at(rung).retry(call(function, ...))`.
    """

    __slots__ = (
        "_chosen",
        "_generic",
        "_kinds",
        "_on",
        "_rung",
        "_table",
        "_top",
        "budget",
        "schedule",
        "within",
    )
    _rung: Rung[I]
    _top: int
    _on: On
    _kinds: Kinds
    _chosen: Predicate | None
    _generic: bool
    _table: tuple[float, ...] | None
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
        return at(self._rung).retry(call(function, *args, **kwargs), self._on)

    def program_async(
        self, function: Callable[P, Coroutine[Any, Any, A]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Program[I, Z, A, CallAsync[A] | Delay]:
        """As `program`, for a coroutine function.

        >>> from asyncio import sleep
        >>> from ixbackoff import N2, backoff
        >>> backoff(N2).program_async(sleep, 1)
        <Program from N2 to N0, 1 step>
        """
        return at(self._rung).retry(call_async(function, *args, **kwargs), self._on)

    def __iter__(self) -> Iterator[Try]:
        """Try a block of code: `for one_try in backoff(N3): with one_try: ...`.

        >>> from ixbackoff import N3, backoff
        >>> for one_try in backoff(N3):
        ...     with one_try:
        ...         print("try", one_try.number)
        try 1
        """
        return tries(self._block(), interpreter()._handlers)

    def __aiter__(self) -> AsyncIterator[Try]:
        """As `for`, in a coroutine: `async for one_try in backoff(N3): with one_try: ...`."""
        return tries_async(self._block(), awaitable(interpreter_async()))

    def __repr__(self) -> str:
        return f"backoff(N{self._top}, schedule={self.schedule!r})"

    def _how(self) -> dict[str, Any]:
        return {"schedule": self.schedule, "within": self.within, "budget": self.budget}

    def _block(self) -> Any:
        program = at(self._rung).retry(Block(), self._on)
        return unroll(program, self.schedule, within=self.within, budget=self.budget)

    def _retried(self, function: Any) -> Any:
        if is_coroutine_function(function):
            return self._retried_async(function)
        waits, generic = self._waits, self._generic

        def retried(*args: Any, **kwargs: Any) -> Any:
            if generic or OTHERS.get() is not None:
                program = self.program(function, *args, **kwargs)
                return program.run(interpreter(), **self._how())
            failure: Exception | None = None
            mark = begun(self)
            try:
                wait = None
                while True:
                    try:
                        answer = function(*args, **kwargs)
                        if answer.__class__ is CoroutineType:
                            raise unawaited(answer, Call(function))
                        return answer
                    except Exception as error:
                        failure = error
                    if wait is None:
                        wait = waits().send
                        wait(None)
                    time.sleep(wait(failure))
            finally:
                failure = wait = None  # a frame in an exception's traceback must not hold it
                end(mark)

        return retried

    def _retried_async(self, function: Any) -> Any:
        waits, generic = self._waits, self._generic

        async def retried(*args: Any, **kwargs: Any) -> Any:
            if generic or OTHERS.get() is not None:
                program = self.program_async(function, *args, **kwargs)
                return await program.run_async(interpreter_async(), **self._how())
            failure: Exception | None = None
            mark = begun(self)
            try:
                wait = sleep = None
                while True:
                    try:
                        return await function(*args, **kwargs)
                    except Exception as error:
                        failure = error
                    if wait is None or sleep is None:
                        wait, sleep = waits().send, sleeping()
                        wait(None)
                    await sleep(wait(failure))
            finally:
                failure = wait = None  # as above
                end(mark)

        return retried

    def _waits(self) -> Waits:
        """The seconds to wait after each failure that it is sent, where another try is worth it.

        It is what `retry` means, written out for a function alone, since that is many times as
        fast; a law says that it is the same.
        """
        kinds, chosen = self._kinds, self._chosen
        seconds_of_waits = self._drawn() if self._table is None else self._table
        wanted = logged()
        shortest = waited = 0.0
        k = -1
        failure = yield 0.0
        try:
            if isinstance(failure, kinds) or (chosen and chosen(failure)):
                for k, seconds in enumerate(seconds_of_waits):
                    if seconds > shortest:
                        shortest = seconds
                    if isinstance(failure, Transient) and failure.retry_after is not None:
                        shortest = max(shortest, failure.retry_after)
                    if wanted:
                        log(delay(shortest, self._top - k, failure))
                    waited += shortest
                    failure = yield shortest if shortest < LONGEST_SLEEP else LONGEST_SLEEP
                    if not isinstance(failure, kinds) and not (chosen and chosen(failure)):
                        break
        except Exception as error:
            failure = error
        try:
            raise noted(failure, tries=k + 2, waits=k + 1, waited=waited)
        finally:
            failure = None  # as above


    def _drawn(self) -> Iterator[float]:
        waits = self.schedule.begin()
        return (usable(waits(k), k, self.schedule) for k in range(self._top))


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
    made._table = None
    if schedule.deterministic:
        waits = schedule.begin()
        made._table = tuple(usable(waits(k), k, schedule) for k in range(made._top))
    return made


UNTYPED: type[Backoff[Any]] = Backoff


def kinds_and_predicate(on: On) -> tuple[Kinds, Predicate | None]:
    """The kinds of failures that are chosen by their kind alone, and what else chooses one."""
    chosen = predicate(on)
    kinds: Kinds = ()
    if isinstance(on, type):
        kinds = (on,)
    elif isinstance(on, tuple):
        kinds = on
    if not kinds or issubclass(Misuse, kinds):
        return (), lambda failure: not isinstance(failure, Misuse) and chosen(failure)
    return kinds, None


def is_coroutine_function(function: Any) -> bool:
    """Whether what it gives is awaited.

    Raises:
        TypeError: it is no function that can be tried again.
    """
    name = getattr(function, "__name__", repr(function))
    if isinstance(function, staticmethod | classmethod):
        raise TypeError(f"backoff on {name}: write it below @staticmethod or @classmethod.")
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"backoff on {function!r}: it is for functions and methods.")
    flags = code_flags(function)
    if flags & GENERATORS:
        raise TypeError(
            f"backoff on {name}: it is a generator function, and what it had given before it failed "
            "would be given again: try again what it calls, or collect what it gives into a list."
        )
    return bool(flags & CO_COROUTINE)
