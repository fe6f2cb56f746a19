"""`backoff` and `Backoff`: retries of plain functions and blocks of code."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from functools import WRAPPER_ASSIGNMENTS, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, final

from typing_extensions import TypeVar

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.gate_base import Gate
from .._meaning.chains import PROGRAM
from .._meaning.retrying import begins, descents, kinds_and_predicate
from .._meaning.run_defaults import checked_longest
from .._running.command_loops import check_run
from .._words.attribute_advice import no_attribute
from .._words.call_commands import Call, CallAsync, call, call_async
from .._words.commands import (
    COROUTINES,
    AsyncInterpreter,
    Interpreter,
    Misuse,
    is_coroutine_function,
)
from .._words.failure_classes import On
from .._words.judging import is_transient
from .._words.rungs import ENDLESS, N0, Nat, Rung, Z, name_of, position
from .._words.standard_commands import Delay
from .._writing.attempts import CommandOrAttempt, do
from .._writing.programs import Program, at, at_with
from ..schedules.algebra import Schedule
from ..schedules.base import After
from ..schedules.kinds import powers_of_two
from .call_loops import caller
from .called_function import checked_function, undecorated
from .default_interpreters import PLAIN, interpreter, interpreter_async
from .settings import KEPT, LONGEST, Nested, Settings, Wanted

if TYPE_CHECKING:
    from datetime import timedelta
    from threading import Event

    from .._meaning.planning import Plan
    from .blocks import Try

__tracebackhide__ = True

P = ParamSpec("P")
A = TypeVar("A")
E = TypeVar("E")
R = TypeVar("R")
T = TypeVar("T", bound=Iterator[object] | AsyncIterator[object])
I = TypeVar("I", bound=Nat)  # noqa: E741
N = TypeVar("N", bound=Nat)
# mypy infers a bare `type` for `N3 if patient else N1`, and then takes the default of `S`.
S = TypeVar("S", bound=Nat, default=Nat)


@final
class Backoff(Generic[I]):
    """A decision on which failures to retry, how often and after what waits; made by `backoff`.

    A `Backoff` is immutable: any number of functions, threads and tasks can share one. A call of a
    function does the same as the program `at(rung).retry(call(function, ...))`.
    """

    __slots__ = ("_descent", "_generic", "_rung", "_settings", "_top")
    _rung: Rung[I]
    _top: int
    _generic: bool
    _descent: Callable[[], After]
    _settings: Settings

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make it with backoff(...).")

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function, a coroutine function or a method, so that failed calls are retried.

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
        if hasattr(function.__class__, "apply_async"):
            raise Misuse(
                "backoff on a task of Celery or Prefect would hide its methods, such as .delay: "
                "put it below the decorator that makes the task."
            )
        retried: Callable[P, R] = wraps(function, ())(caller(self, function))
        for name in WRAPPER_ASSIGNMENTS:
            with suppress(AttributeError, TypeError):  # the name of a mock may be a mock
                setattr(retried, name, getattr(function, name))

        def one_call(*given: object) -> object:
            return self._program(called(function, *given))

        setattr(retried, PROGRAM, one_call)  # after `wraps`, which may copy this attribute
        return retried

    def stream(self, function: Callable[P, T]) -> Callable[P, T]:
        """Decorate a generator function, so that it is retried until its first item.

        A failure after the first item is raised, with a note that counts the items given. `within`
        is the time to the first item. Async generator functions are retried in the same way.

        >>> from collections.abc import Iterator
        >>> from ixbackoff import N3, backoff
        >>> @backoff(N3).stream
        ... def words(text: str) -> Iterator[str]:
        ...     yield from text.split()
        >>> list(words("to be or not"))
        ['to', 'be', 'or', 'not']

        Raises:
            Misuse: `function` is not a generator function, or the backoff has an `until`.
        """
        from .retried_generators import streamed

        made: Callable[P, T] = streamed(self, function)
        return made

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call `function` with retries; the caller awaits the result of a coroutine function.

        This backoff replaces the backoff of a decorated function.

        >>> from ixbackoff import N3, backoff
        >>> backoff(N3).call(pow, 2, 5)
        32

        Raises:
            TypeError: `function` is a generator function, or not a function.
        """
        answer: R = caller(self, undecorated(checked_function(function)))(*args, **kwargs)
        return answer

    def program(
        self, function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs
    ) -> Program[I, Z, A, Call[A] | Delay]:
        """Make the program of a call; this backoff replaces the backoff of a decorated function.

        >>> from ixbackoff import N2, backoff, plan
        >>> print(plan(backoff(N2).program(pow, 2, 5)))
        rung  tries    then waits  if
        N2        1           1 s  failed
        N1        1           2 s  failed
        N0        1             -
        at most 3 tries, 2 waits, 3 s

        Raises:
            TypeError: `function` is a coroutine or generator function, or not a function.
        """
        checked_function(function)
        if is_coroutine_function(function):
            raise TypeError(
                f"program({function!r}): it is a coroutine function, use program_async."
            )
        return self._program(call(undecorated(function), *args, **kwargs))

    def program_async(
        self, function: Callable[P, Coroutine[Any, Any, A]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Program[I, Z, A, CallAsync[A] | Delay]:
        """Make the program of a call of a coroutine function.

        >>> from asyncio import sleep
        >>> from ixbackoff import N2, backoff
        >>> backoff(N2).program_async(sleep, 1)
        <Program from N2 to N0, 1 step>
        """
        checked_function(function)
        return self._program(call_async(undecorated(function), *args, **kwargs))

    def plan(self, function: Callable[..., object]) -> Plan:
        """Plan the most that a call of `function` can do.

        >>> from ixbackoff import N2, Exponential, backoff
        >>> backoff(N2, schedule=Exponential(base=0.1)).plan(print).seconds
        0.30000000000000004
        """
        from .._meaning.planning import plan

        return plan(self._program(called(checked_function(function))))

    def run(self, effect: CommandOrAttempt[E, A], interpreter: Interpreter[E | Delay]) -> A:
        """Run a command or an attempt with retries.

        >>> from ixbackoff import N3, Call, NotReady, backoff, call
        >>> from ixbackoff.testing import Virtual, answers
        >>> world = Virtual(Call.handled_by(answers(NotReady(), "page")))
        >>> backoff(N3, within=60).run(call(print), world.interpreter)
        'page'
        """
        return self._program(effect).run(interpreter)

    async def run_async(
        self,
        effect: CommandOrAttempt[E, A],
        interpreter: Interpreter[E | Delay] | AsyncInterpreter[E | Delay],
    ) -> A:
        """Run a command or an attempt as `run` does, with handlers that may be awaited."""
        return await self._program(effect).run_async(interpreter)

    def replace(
        self,
        *,
        on: On = KEPT,
        until: Wanted | None = KEPT,
        schedule: Schedule = KEPT,
        within: float | timedelta | None = KEPT,
        budget: RetryBudget | None = KEPT,
        breaker: CircuitBreaker | None = KEPT,
        stop: Event | None = KEPT,
        nested: Nested = KEPT,
        name: str | None = KEPT,
        longest: float | timedelta | None = KEPT,
        each: float | timedelta | None = KEPT,
        through: Gate | Sequence[Gate] | None = KEPT,
    ) -> Backoff[I]:
        """Return a copy with other arguments, for instance for one call.

        >>> from ixbackoff import N3, Exponential, backoff
        >>> patiently = backoff(N3, within=60)
        >>> patiently.replace(within=2, schedule=Exponential(base=0.1)).call(pow, 2, 5)
        32

        The arguments are those of `backoff`, except the rung.
        """
        limits = (schedule, within, budget, breaker, stop, longest, nested, through)
        changes = Settings(on, until, name, each, *limits)
        return made(self._rung, self._settings.updated(changes))

    def __iter__(self) -> Iterator[Try]:
        """Retry a block of code: `for one_try in backoff(N3): with one_try: ...`.

        A failure inside the `with` is retried; a `break` after the `with` drops the failure. Code
        outside of the `with` is not retried, and may retry by itself. A deadline does not interrupt
        the block: `time_limit()` returns the remaining seconds.

        >>> from ixbackoff import N3, backoff
        >>> for one_try in backoff(N3):
        ...     with one_try:
        ...         print("try", one_try.number)
        try 1
        """
        frame = sys._getframe(1)
        if frame.f_code.co_flags & COROUTINES:
            raise Misuse(
                "`for` over a backoff in an `async def` would block the event loop while it "
                "waits: write `async for`."
            )
        from .blocks import Tries, block_in

        return Tries(*block_in(frame, self), interpreter()._handlers)

    def __aiter__(self) -> AsyncIterator[Try]:
        """Retry a block in a coroutine: `async for one_try in backoff(N3): with one_try: ...`."""
        from .blocks import TriesAsync, block_in

        return TriesAsync(*block_in(sys._getframe(1), self), interpreter_async()._handlers)

    def __repr__(self) -> str:
        return f"backoff({', '.join(filter(None, [self.rung_name, str(self._settings)]))})"

    @property
    def rung_name(self) -> str:
        """The name of its rung, such as `"N3"`."""
        return name_of(self._top)

    if not TYPE_CHECKING:  # these would hide mistakes from type checkers
        __getattr__ = no_attribute

        def __enter__(self):
            raise Misuse(
                "A backoff is not a context manager, but each of its tries is: write `for one_try "
                "in backoff(...):`, and `with one_try:` in it."
            )

        __exit__ = __aenter__ = __aexit__ = __enter__

        def __setattr__(self, name, value):
            if hasattr(self, name):
                raise AttributeError(f"{self!r} does not change: make another one.")
            super().__setattr__(name, value)

    def wait_after(self, failure: Exception, k: int) -> float | None:
        """Return the seconds to wait after failure `k` (from 0) of a task, or `None` to give up.

        Frameworks that do the waiting can call it. Because their earlier waits are not known here,
        a wait can be shorter than the wait before it.

        >>> from ixbackoff import N2, Throttled, backoff
        >>> [backoff(N2).wait_after(Throttled(3), k) for k in range(3)]
        [3.0, 3.0, None]
        >>> backoff(N2).wait_after(KeyError(), 0) is None
        True

        Raises:
            ValueError: `k` is negative.
        """
        if k < 0:
            raise ValueError(f"k={k!r}: give the number of waits so far, 0 or more.")
        ladder = self._top if self._top < ENDLESS else k + 1
        return self._descent()(failure, k, 0.0) if k < ladder else None

    def __reduce__(self) -> Any:
        return made, (self._rung, self._settings)

    def _begin(self) -> After:
        return self._descent()

    def _program(self, effect: CommandOrAttempt[E, A]) -> Program[I, Z, A, E | Delay]:
        return self._from(self._rung, effect)

    def _once(self, effect: CommandOrAttempt[E, A]) -> Program[Z, Z, A, E | Delay]:
        return self._from(N0, effect)

    def _from(self, rung: Rung[N], effect: CommandOrAttempt[E, A]) -> Program[N, Z, A, E | Delay]:
        until, each = self._settings.until, self._settings.each
        wanted: Any = effect if each is None else do(effect).limit(each)
        if until is not None:
            wanted = do(wanted).expect(until)
        start = at_with(rung, self._settings.defaults)
        named = start if self._settings.name is None else start.named(self._settings.name)
        return named.retry(wanted, self._settings.chosen)


def backoff(
    rung: type[S],
    *,
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
    each: float | timedelta | None = None,
    through: Gate | Sequence[Gate] | None = None,
) -> Backoff[S]:
    """Retry plain functions and blocks of code, at most `rung` times.

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
        rung: the greatest number of waits: `N3` for four tries, `FOREVER` for no limit;
            `FOREVER` needs a schedule whose waits do not stay at 0.
        on: the failures to retry: an exception class, a predicate, or a list or tuple of these. If
            a predicate returns seconds or a `timedelta`, the wait takes at least that long.
        until: a predicate of the answer; while it is false, the answer counts as `NotReady`.
        schedule: the seconds of the waits.
        within: the seconds for a whole call, with all tries and waits, or a `timedelta`. With 0 or
            less each call raises `DeadlineExceeded`, and the function is not called.
        budget: the retry budget that pays for further tries; it can be shared.
        breaker: the circuit breaker that each try goes through; it can be shared.
        stop: a `threading.Event` for the handler of SIGTERM. When it is set, a wait ends, and the
            call raises its last failure; a try is not interrupted. New calls raise `Stopped`.
        nested: the treatment of a decorated function that another one calls: the inner function is
            rejected, or gets a single try if `nested` is `"once"` in either of the two.
        name: the name in the log and in events; by default that of the function.
        longest: the longest wait that a service or a gate may ask for, in seconds or as a
            `timedelta`; `None` for any. If more is asked for, the call raises the failure at once.
        each: the seconds for each try, or a `timedelta`. A coroutine function that takes longer is
            cancelled and fails with `DeadlineExceeded`; a plain function can ask `time_limit()`.
        through: the gate that each try goes through, such as a `Limiter`, or several, outermost
            first; they can be shared.

    Raises:
        TypeError: `rung` is not a rung, or another argument has the wrong type.
        ValueError: a time is not a usable number of seconds or `timedelta`; or a schedule
            without randomness gives an unusable number of seconds.
    """
    exactly: Any = rung
    limits = (schedule, within, budget, breaker, stop, longest, nested, through)
    return made(exactly, Settings(on, until, name, each, *limits))


def made(rung: Rung[I], settings: Settings) -> Backoff[I]:
    new: Backoff[I] = object.__new__(UNTYPED)
    new._rung = rung
    new._top = _position(rung)
    new._settings = settings
    limits = settings.within, settings.budget, settings.stop, settings.each, settings.through
    new._generic = any(limit is not None for limit in limits)
    settings.check()
    check_run(at(rung).end(), PLAIN, Interpreter, settings.defaults)
    kinds, chosen = kinds_and_predicate(settings.chosen)
    waits = begins(settings.schedule, new._top)
    longest = checked_longest(settings.longest)
    new._descent = descents(new._top, kinds, chosen, *waits, longest=longest)
    return new


def called(function: Any, *given: object) -> Any:
    """Make the command that calls `function` with the arguments `given` (none in a plan)."""
    make: Any = call_async if is_coroutine_function(function) else call
    return make(function, *given)


def _position(rung: Rung[I]) -> int:
    given: object = rung
    if isinstance(given, FunctionType | staticmethod | classmethod):
        raise TypeError(f"@backoff on {given.__name__}: write @backoff(N3), with parentheses.")
    return position(rung)


UNTYPED: type[Backoff[Any]] = Backoff
