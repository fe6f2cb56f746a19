"""Attempts: commands in order, tried at one rung."""

from __future__ import annotations

from _thread import get_ident  # threading's own; threading itself costs 5 ms to import
from collections.abc import Callable, Generator
from functools import wraps
from types import CoroutineType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Never,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

from .._limits.breakers import CircuitBreaker, checked_breaker
from .._limits.deadlines import checked_seconds
from .._limits.gate_base import Gate, checked_gates
from .._meaning.chains import Chain, Step, chain, counted
from .._meaning.folds import parts
from .._meaning.program_names import function_name
from .._meaning.steps import (
    DoStep,
    Guarded,
    Limited,
    MapStep,
    OrElseStep,
    StartStep,
    ThenStep,
    checked_function,
)
from .._meaning.trampoline import IN_PLACE, Perform
from .._words.commands import Command, Misuse, Repeatable, is_coroutine_function
from .._words.failure_classes import NotReady, On, checked_predicate, predicate
from .._words.judging import is_transient
from .._words.standard_commands import Delay, Now, Reserve, Together, checked_copy

if TYPE_CHECKING:
    from datetime import timedelta

    from .._limits.hedges import Hedge

__tracebackhide__ = True

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
F = TypeVar("F")
A_co = TypeVar("A_co", covariant=True)
E_co = TypeVar("E_co", covariant=True)

Do: TypeAlias = Generator[E, Any, A]
"""The return type of a function in do-notation that issues commands of `E` and answers `A`."""


class CommandOrAttempt(Protocol[E_co, A_co]):
    """An effect that can be tried at a rung: a command or an attempt, but never a program."""

    def __iter__(self) -> Generator[E_co, Any, A_co]: ...


def overloaded(method: Callable[..., A]) -> Callable[..., A]:
    """Mark a method whose types are those of the overloads above it.

    An overload that takes a `Never` can never be called. Where a program cannot use the method,
    type checkers print the name of that argument, which says why.
    """
    return method


@final
class Attempt(Chain, Generic[E_co, A_co]):
    """Commands of the row `E_co`, in order, that answer `A_co` or fail; tried at one rung.

    An attempt is immutable and can be run any number of times. `attempt` makes one in do-notation;
    `do` begins a chain.
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("Make an attempt with @attempt or with do(...).")

    def __iter__(self) -> Generator[E_co, Any, A_co]:
        """Issue its commands in do-notation: `answer = yield from attempt`."""
        around: Any = IN_PLACE[0]
        if around is not None and around.room and around.thread == get_ident():
            step: Any = self._last
            if step.__class__ is StartStep and step.fresh and self._before is None:
                around.room -= 1
                task: Do[E_co, A_co] = step.function(*step.arguments, **step.keywords)
                return task
        return asked_for_result(self)

    def _alone(self) -> None:
        """Mark this for type checkers as one effect, not a generator of effects."""

    def then(self, function: Callable[[A_co], CommandOrAttempt[F, B]]) -> Attempt[E_co | F, B]:
        """Perform the effect that `function` makes of the answer, unless the attempt failed.

        >>> from ixbackoff import N0, at, call, do
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(call(len, "four")).then(lambda n: call(pow, n, 2))).run(live())
        16
        """
        return extended(self, ThenStep(function))

    def map(self, function: Callable[[A_co], B]) -> Attempt[E_co, B]:
        """Replace the answer by `function(answer)`, unless the attempt failed.

        >>> from ixbackoff import N0, at, call, do
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(call(len, "four")).map(lambda n: n + 1)).run(live())
        5
        """
        return extended(self, MapStep(function))

    def or_else(
        self, effect: CommandOrAttempt[F, B], on: On = is_transient
    ) -> Attempt[E_co | F, A_co | B]:
        """Perform `effect` instead, if the attempt failed with `on`.

        >>> from ixbackoff import N0, at, call, do
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(call(int, "four")).or_else(call(int, "4"), on=ValueError)).run(live())
        4
        """
        return extended(self, OrElseStep(effect, predicate(on)), recovers=True)

    def expect(self, predicate: Callable[[A_co], bool]) -> Attempt[E_co, A_co]:
        """Fail with `NotReady` if `predicate(answer)` is false.

        To retry such an attempt is to poll: wait, and ask again.

        >>> from ixbackoff import N3, Call, at, call, do
        >>> from ixbackoff.testing import Virtual, answers
        >>> world = Virtual(Call.handled_by(answers("copying", "copying", "done")))
        >>> status = do(call(str, "status")).expect(lambda answer: answer == "done")
        >>> at(N3).retry(status).run(world.interpreter), world.waits
        ('done', [1.0, 2.0])
        """
        return extended(self, MapStep(expected(checked_predicate(checked_function(predicate)))))

    def limit(self, seconds: float | timedelta) -> Attempt[E_co | Now, A_co]:
        """Limit each try to `seconds`, then fail with `DeadlineExceeded`.

        The clock is that of the interpreter. A plain handler is not interrupted: its answer to the
        last command counts, even if late. With 0 or less, the attempt fails before it begins.

        >>> from ixbackoff import N1, Call, at, call, do
        >>> from ixbackoff.testing import Virtual, answers, takes
        >>> world = Virtual(Call.handled_by(answers(takes(60, 1), takes(2, 2))))
        >>> at(N1).retry(do(call(int)).limit(5)).run(world.interpreter)
        2
        >>> world.now
        8.0

        Raises:
            ValueError: `seconds` is neither a finite number nor a `timedelta`.
        """
        checked = checked_seconds("limit", seconds)
        if checked is None:
            raise ValueError("limit=None: give a finite number of seconds, or a timedelta.")
        return extended(None, DoStep(Limited(self, checked)))

    def guarded(self, breaker: CircuitBreaker) -> Attempt[E_co | Now, A_co]:
        """Let a circuit breaker admit or refuse each try.

        A program that asks more than one service can have a breaker for each.

        >>> from ixbackoff import N1, CircuitBreaker, Call, NotReady, at, call, do
        >>> from ixbackoff.testing import Virtual, answers
        >>> breaker = CircuitBreaker(failures=1, within=10, open_for=30)
        >>> world = Virtual(Call.handled_by(answers(NotReady(), "page")))
        >>> page = do(call(str, "page")).guarded(breaker)
        >>> at(N1).retry(page.or_else(call(str, "kept"))).run(world.interpreter)
        'page'
        >>> breaker.state
        'open'

        Raises:
            Misuse: `breaker` is not a `CircuitBreaker`.
        """
        return extended(None, DoStep(Guarded(self, checked_breaker("guarded", breaker))))

    @overload
    def through(self, gate: Gate) -> Attempt[E_co | Now | Delay, A_co]: ...
    @overload
    def through(self, gate: Reserve) -> Attempt[E_co | Now | Delay | Reserve, A_co]: ...
    def through(self, gate: Gate | Reserve) -> Attempt[Any, A_co]:
        """Let each try go through a gate, such as a `Limiter`, and stand in line there.

        Processes can share a `Reserve`: its handler stores the turns, for example in Redis.

        What is written last is outermost. So `.limit(5).through(gate)` limits the try without its
        time in line, and `.through(gate).limit(5)` limits both together.

        >>> from ixbackoff import N0, Call, Limiter, at, call, do
        >>> from ixbackoff.testing import Virtual, always
        >>> limiter, world = Limiter(10, line=5), Virtual(Call.handled_by(always("page")))
        >>> page = do(call(str, "page")).through(limiter)
        >>> at(N0).do(page).do(page).do(page).run(world.interpreter), world.now
        ('page', 0.2)

        Raises:
            Misuse: `gate` is neither a `Gate` nor a `Reserve`.
        """
        guard = gate if isinstance(gate, Reserve) else checked_gates("through", (gate,))[0]
        return extended(None, DoStep(Guarded(self, guard)))

    @overload
    def hedged(self: Attempt[Repeatable[Any], Any], hedge: Hedge) -> Attempt[E_co | Now, A_co]: ...

    @overload
    def hedged(
        self, hedge: Hedge, *, a_command_in_it_is_not_repeatable: Never
    ) -> Attempt[E_co | Now, A_co]: ...

    @overloaded
    def hedged(self, hedge: Hedge) -> Attempt[Any, Any]:
        """Issue a second copy of a try that is slow, and take the first answer.

        Each command has to be `Repeatable`. The loser is cancelled and awaited in `run_async`; in
        `run` each copy has a thread, and the loser is aborted. A durable run makes no second copy.

        >>> from ixbackoff import N0, Hedge, at, do, read
        >>> from ixbackoff.live import live
        >>> at(N0).do(do(read(len, "four")).hedged(Hedge()).limit(5)).run(live())
        4

        Raises:
            Misuse: `hedge` is not a `Hedge`, or a command may not be issued twice. If a function
                makes that command during the run, the run raises the Misuse before issuing it.
        """
        from .._limits.hedges import Hedge as Kind

        if not isinstance(hedge, Kind):
            raise Misuse(f"hedged({hedge!r}): give a Hedge(...), one for each service.")
        for part in parts(self):
            if isinstance(part, Command | Limited | Guarded):
                checked_copy(part)
        return extended(None, DoStep(Together((self, self), True, hedge)))

    def __repr__(self) -> str:
        return f"<Attempt of {counted(len(self.steps()))}>"


def attempt(function: Callable[P, Do[E, A]]) -> Callable[P, Attempt[E, A]]:
    """Make attempts of a generator function, which issues its commands with `yield from`.

    Between its commands the function may only compute: it reads and changes the world by commands.

    >>> from ixbackoff import Do, Download, Log, attempt
    >>> @attempt
    ... def fetch(url: str) -> Do[Download | Log, str]:
    ...     yield from Log("fetching")
    ...     yield from Download(url, "page.html")
    ...     return "page.html"
    >>> fetch("http://localhost/")
    <Attempt of 1 step>

    Raises:
        TypeError: `function` is not callable, or it is a coroutine function.
    """
    if not callable(function):
        raise TypeError(f"attempt({function!r}): give a generator function.")
    if is_coroutine_function(function):
        raise TypeError(
            f"attempt({function_name(function)}): it is a coroutine function; write `def` and "
            "`yield from`, and await in the handlers."
        )

    start = StartStep(function, (), {})
    plain: Attempt[E, A] = extended(None, start)

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> Attempt[E, A]:
        if not args and not kwargs:
            return plain
        return extended(None, StartStep(function, args, kwargs, start))

    return made


def do(effect: CommandOrAttempt[E, A]) -> Attempt[E, A]:
    """Make an attempt of one effect: the beginning of a chain.

    >>> from ixbackoff import Log, do
    >>> do(Log("one")).then(lambda _: Log("two"))
    <Attempt of 2 steps>

    Raises:
        TypeError: `effect` is not a command or an attempt.
    """
    return extended(None, DoStep(effect))


def expected(predicate: Callable[[A], bool]) -> Callable[[A], A]:
    def checked(answer: A) -> A:
        verdict: object = predicate(answer)
        if not verdict:
            unwanted = NotReady(f"not what was expected: {answer!r}")
            unwanted.answered = True
            raise unwanted
        if isinstance(verdict, CoroutineType):
            verdict.close()
            raise Misuse(
                f"{predicate!r} returned a coroutine, which is always true: give a function that "
                "returns a bool."
            )
        return answer

    return checked


def asked_for_result(attempt: Attempt[E, A]) -> Generator[E, Any, A]:
    """Ask the trampoline, which has its own stack, to perform an attempt, so nothing recurses."""
    request: Any = Perform(attempt)
    answer: A = yield request
    return answer


UNTYPED: type[Attempt[Any, Any]] = Attempt


def extended(before: Chain | None, step: Step, recovers: bool = False) -> Attempt[Any, Any]:
    """Add a step. The type of the attempt is that of the caller's signature, unchecked here."""
    return chain(UNTYPED, before, step, recovers)
