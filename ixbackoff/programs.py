"""Programs: the typed face of steps on a ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Never, final

from typing_extensions import TypeVar

from .attempts import Effect
from .chains import Ladder, Step, counted, ladder, longer
from .commands import AsyncInterpreter, Interpreter
from .failures import WORTH_ANOTHER_TRY, On, predicate
from .loops import run, run_async
from .nat import Nat, Rung, Succ, Z, reflect
from .schedules import Schedule, powers_of_two
from .steps import (
    Backoff,
    Bind,
    Do,
    GiveUp,
    Map,
    OrBind,
    OrElse,
    Retry,
    Skip,
    Then,
    Wait,
    joined,
)
from .vocabulary import Delay, Standard

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
F = TypeVar("F")
# Index variables are invariant, bound to the class Nat and without defaults: with any of the three
# otherwise, some type checker lets a forged index pass.
I = TypeVar("I", bound=Nat)  # noqa: E741
O = TypeVar("O", bound=Nat)  # noqa: E741
J = TypeVar("J", bound=Nat)
N = TypeVar("N", bound=Nat)
A_co = TypeVar("A_co", covariant=True, default=None)
E_co = TypeVar("E_co", covariant=True, default=Standard)


@final
class Program(Ladder, Generic[I, O, A_co, E_co]):
    """Steps on a ladder, from the rung `I` down to the rung `O`; a value, that nothing has run yet.

    A running program is either well (it holds a value, an `A_co`) or failed (it holds the last
    exception). Each step says what it does when the program is well and when it has failed. The
    commands it can issue are those of the row `E_co`.

    >>> from ixbackoff import N2, Download, at
    >>> at(N2).retry(Download("http://localhost/a", "a"))
    <Program from N2 to N0, 1 step>

    It begins with `at`, and runs when it has come down to `N0`.
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("A program begins with at(...): at(N3).retry(...).")

    def do(self, effect: Effect[F, B]) -> Program[I, O, B, E_co | F]:
        """Well: perform `effect`. Failed: passed over.

        >>> from ixbackoff import N1, Log, at
        >>> at(N1).do(Log("one")).do(Log("two"))
        <Program from N1 to N1, 2 steps>
        """
        return extended(self, Do(effect))

    def then(self, function: Callable[[A_co], Effect[F, B]]) -> Program[I, O, B, E_co | F]:
        """Well: perform the effect that `function` makes of the value. Failed: passed over.

        >>> from ixbackoff import N0, at, call
        >>> from ixbackoff.live import live
        >>> at(N0).do(call(len, "four")).then(lambda length: call(pow, length, 2)).run(live())
        16
        """
        return extended(self, Then(function))

    def map(self, function: Callable[[A_co], B]) -> Program[I, O, B, E_co]:
        """Well: the value becomes `function` of it. Failed: passed over.

        >>> from ixbackoff import N0, at, call
        >>> from ixbackoff.live import live
        >>> at(N0).do(call(len, "four")).map(lambda length: length + 1).run(live())
        5
        """
        return extended(self, Map(function))

    def or_else(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, O, A_co | B, E_co | F]:
        """Failed with `on`: perform `effect` instead, on this rung. Otherwise passed over.

        >>> from ixbackoff import N0, at, call
        >>> from ixbackoff.live import live
        >>> at(N0).do(call(int, "four")).or_else(call(int, "4"), on=ValueError).run(live())
        4
        """
        return extended(self, OrElse(effect, predicate(on)))

    def bind(self, function: Callable[[A_co], Program[O, J, B, F]]) -> Program[I, J, B, E_co | F]:
        """Well: go on with the program that `function` makes of the value. Failed: passed over.

        The program starts where this one ends.

        >>> from ixbackoff import N1, N2, Call, Program, Z, at, call
        >>> from ixbackoff.live import live
        >>> def below(length: int) -> Program[N1, Z, int, Call[int]]:
        ...     return at(N1).retry(call(pow, length, 2))
        >>> at(N2).do(call(len, "four")).skip().bind(below).run(live())
        16
        """
        return extended(self, Bind(function))

    def or_bind(
        self,
        function: Callable[[Exception], Program[O, J, B, F]],
        on: On = WORTH_ANOTHER_TRY,
    ) -> Program[I, J, A_co | B, E_co | F]:
        """Failed with `on`: go on with the program that `function` makes of the failure.

        >>> from ixbackoff import N0, Log, at, call
        >>> from ixbackoff.live import live
        >>> told = at(N0).do(call(int, "four")).or_bind(
        ...     lambda failure: at(N0).do(call(str, failure)), on=ValueError
        ... )
        >>> told.run(live())
        "invalid literal for int() with base 10: 'four'"
        """
        return extended(self, OrBind(function, predicate(on)))

    def __rshift__(self, following: Program[O, J, B, F]) -> Program[I, J, B, E_co | F]:
        """Well: go on with `following`. Failed: passed over.

        >>> from ixbackoff import N1, N2, Log, at
        >>> at(N2).do(Log("first")).wait() >> at(N1).retry(Log("then"))
        <Program from N2 to N0, 3 steps>
        """
        return extended(self, Bind(*joined(following, ">>", ".do(...)")))

    def __or__(self, following: Program[O, J, B, F]) -> Program[I, J, A_co | B, E_co | F]:
        """Failed with what is worth another try: go on with `following`. Otherwise passed over.

        >>> from ixbackoff import N1, N2, Log, at
        >>> at(N2).do(Log("first")).backoff() | at(N1).retry(Log("instead"))
        <Program from N2 to N0, 3 steps>
        """
        function, known = joined(following, "|", ".or_else(...)")
        return extended(self, OrBind(function, predicate(WORTH_ANOTHER_TRY), known))

    def backoff(
        self: Program[I, Succ[N], A, E], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, N, A, E | Delay]:
        """Failed with `on`: wait, and stay failed. One rung down in any case.

        >>> from ixbackoff import N1, Log, at, plan
        >>> print(plan(at(N1).do(Log("try")).backoff().or_else(Log("try once more"))))
        rung  tries    then waits  if
        N1        1           1 s  failed
        N0        1             -
        at most 2 tries, 1 wait, 1 s
        """
        return extended(self, Backoff(predicate(on)))

    def wait(self: Program[I, Succ[N], A, E]) -> Program[I, N, A, E | Delay]:
        """Well: wait, and go on. One rung down in any case.

        >>> from ixbackoff import N1, Log, at, plan
        >>> print(plan(at(N1).do(Log("begin")).wait().do(Log("look"))))
        rung  tries    then waits  if
        N1        1           1 s  well
        N0        1             -
        at most 2 tries, 1 wait, 1 s
        """
        return extended(self, Wait())

    def skip(self: Program[I, Succ[N], A, E]) -> Program[I, N, A, E]:
        """One rung down, without waiting: the waits below are longer.

        >>> from ixbackoff import N2, Log, at, plan
        >>> [rung.waits for rung in plan(at(N2).skip().retry(Log("try"))).rungs]
        [None, 2.0, None]
        """
        return extended(self, Skip())

    def retry(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, Z, B, E_co | F | Delay]:
        """Well: perform `effect`; while it fails with `on` and rungs are left, wait and try again.

        Each try performs it from its start. Failed: passed over.

        >>> from ixbackoff import N2, ServerError, Download, at
        >>> from ixbackoff.testing import Virtual, answers
        >>> page = Download("http://localhost/a", "a")
        >>> world = Virtual(Download.handled_by(answers(ServerError(503), ServerError(503), None)))
        >>> at(N2).retry(page).run(world.interpreter)
        >>> world.waits
        [1.0, 2.0]
        """
        return extended(self, Retry(effect, predicate(on), resumes=False))

    def resume(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, Z, B, E_co | F | Delay]:
        """As `retry`, but a further try goes on at the command that failed.

        What was answered before is given to the attempt again without asking anyone, so between its
        commands it may only compute; one that issues another command than it did fails with
        `Diverged`.

        >>> from ixbackoff import N2, ServerError, Download, Upload, at, do
        >>> from ixbackoff.testing import Virtual, answers, waited
        >>> get, put = Download("http://localhost/a", "a"), Upload("a", "memory:///a")
        >>> world = Virtual(
        ...     Download.handled_by(answers(None))
        ...     | Upload.handled_by(answers(ServerError(503), None))
        ... )
        >>> at(N2).resume(do(get).then(lambda _: put)).run(world.interpreter)
        >>> world.expect(get, put, waited(1), put)
        """
        return extended(self, Retry(effect, predicate(on), resumes=True))

    def give_up(self) -> Program[I, Z, A_co, E_co]:
        """Down to the last rung, without waiting: what the program holds is its outcome.

        >>> from ixbackoff import N3, Log, at
        >>> at(N3).do(Log("once is enough")).give_up()
        <Program from N3 to N0, 2 steps>
        """
        return extended(self, GiveUp())

    def run(
        self: Program[I, Z, A, E],
        interpreter: Interpreter[E],
        *,
        schedule: Schedule = powers_of_two,
    ) -> A:
        """Its value: `interpreter` answers its commands, `schedule` has the seconds of its waits.

        >>> from ixbackoff import N3, Exponential, at, call
        >>> from ixbackoff.live import live
        >>> at(N3).retry(call(pow, 2, 5)).run(live(), schedule=Exponential(base=0.1))
        32

        Raises:
            Misuse: the program is open, it has not come down to `N0`; or a command has no
                handler; or another program with waits is running around this one.
            Exception: the last failure itself, with a note of how often was tried and how long was
                waited.
        """
        answer: A = run(self, interpreter, schedule)
        return answer

    async def run_async(
        self: Program[I, Z, A, E],
        interpreter: Interpreter[E] | AsyncInterpreter[E],
        *,
        schedule: Schedule = powers_of_two,
    ) -> A:
        """As `run`, for handlers that may be awaited, under asyncio, trio or any other loop.

        >>> import asyncio
        >>> from ixbackoff import N3, at, call
        >>> from ixbackoff.live import live_async
        >>> asyncio.run(at(N3).retry(call(pow, 2, 5)).run_async(live_async()))
        32
        """
        answer: A = await run_async(self, interpreter, schedule)
        return answer

    def __repr__(self) -> str:
        end = "a rung that its bind will tell" if self.end is None else f"N{self.end}"
        return f"<Program from N{self.start} to {end}, {counted(len(self.steps()))}>"


def at(rung: Rung[I]) -> Program[I, I, None, Never]:
    """The beginning of a program: on `rung`, so many waits are left.

    >>> from ixbackoff import N3, at
    >>> at(N3)
    <Program from N3 to N3, 0 steps>

    Raises:
        TypeError: `rung` is not one of `N0` to `N20`.
    """
    start = reflect(rung)
    return ladder(UNTYPED, start, start)


UNTYPED: type[Program[Any, Any, Any, Any]] = Program


def extended(program: Ladder, step: Step) -> Program[Any, Any, Any, Any]:
    """The one place where a program gets its index: that of the signature it is returned by.

    What a step does to the index stands in its signature alone, so nothing here can prove it to a
    type checker: `typecheck_cases/` and the soundness test do, and `Step.below` checks it at run
    time.
    """
    return longer(UNTYPED, program, step)
