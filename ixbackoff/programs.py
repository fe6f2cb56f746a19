"""Programs: the typed face of steps on a ladder."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import UnionType
from typing import Any, Generic, Never, final

from typing_extensions import TypeVar

from .attempts import Effect
from .chains import Ladder, Step, ladder, longer
from .commands import AsyncInterpreter, Interpreter, awaitable, inherited
from .failures import WORTH_ANOTHER_TRY, On, predicate
from .loops import answered, answered_async
from .nat import Nat, Succ, Z, reflect
from .schedules import Schedule, powers_of_two
from .semantics import unroll
from .steps import Backoff, Bind, Do, GiveUp, Map, OrBind, OrElse, Retry, Skip, Then, Wait
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
    <Program from N2 to N0, 1 steps>

    It begins with `at`, and runs when it has come down to `N0`.
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("A program begins with at(...): at(N3).retry(...).")

    def do(self, effect: Effect[F, B]) -> Program[I, O, B, E_co | F]:
        """Well: perform `effect`. Failed: passed over."""
        return extended(self, Do(effect))

    def then(self, function: Callable[[A_co], Effect[F, B]]) -> Program[I, O, B, E_co | F]:
        """Well: perform the effect that `function` makes of the value. Failed: passed over."""
        return extended(self, Then(function))

    def map(self, function: Callable[[A_co], B]) -> Program[I, O, B, E_co]:
        """Well: the value becomes `function` of it. Failed: passed over."""
        return extended(self, Map(function))

    def or_else(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, O, A_co | B, E_co | F]:
        """Failed with `on`: perform `effect` instead, on this rung. Otherwise passed over."""
        return extended(self, OrElse(effect, predicate(on)))

    def bind(self, function: Callable[[A_co], Program[O, J, B, F]]) -> Program[I, J, B, E_co | F]:
        """Well: go on with the program that `function` makes of the value. Failed: passed over."""
        return extended(self, Bind(function))

    def or_bind(
        self,
        function: Callable[[Exception], Program[O, J, B, F]],
        on: On = WORTH_ANOTHER_TRY,
    ) -> Program[I, J, A_co | B, E_co | F]:
        """Failed with `on`: go on with the program that `function` makes of the failure."""
        return extended(self, OrBind(function, predicate(on)))

    def __rshift__(self, following: Program[O, J, B, F]) -> Program[I, J, B, E_co | F]:
        """Well: go on with `following`. Failed: passed over."""
        known = checked_program(following, ">>", ".do(...)")
        return extended(self, Bind(always(known), known))

    def __or__(self, following: Program[O, J, B, F]) -> Program[I, J, A_co | B, E_co | F]:
        """Failed with what is worth another try: go on with `following`. Otherwise passed over."""
        known = checked_program(following, "|", ".or_else(...)")
        return extended(self, OrBind(always(known), predicate(WORTH_ANOTHER_TRY), known))

    def backoff(
        self: Program[I, Succ[N], A, E], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, N, A, E | Delay]:
        """Failed with `on`: wait, and stay failed. One rung down in any case."""
        return extended(self, Backoff(predicate(on)))

    def wait(self: Program[I, Succ[N], A, E]) -> Program[I, N, A, E | Delay]:
        """Well: wait, and go on. One rung down in any case."""
        return extended(self, Wait())

    def skip(self: Program[I, Succ[N], A, E]) -> Program[I, N, A, E]:
        """One rung down, without waiting."""
        return extended(self, Skip())

    def retry(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, Z, B, E_co | F | Delay]:
        """Well: perform `effect`; while it fails with `on` and rungs are left, wait and try again.

        Each try performs it from its start. Failed: passed over.
        """
        return extended(self, Retry(effect, predicate(on), resumes=False))

    def resume(
        self, effect: Effect[F, B], on: On = WORTH_ANOTHER_TRY
    ) -> Program[I, Z, B, E_co | F | Delay]:
        """As `retry`, but a further try goes on at the command that failed.

        What was answered before is given to the attempt again without asking anyone, so between its
        commands it may only compute; one that issues another command than it did fails with
        `Diverged`.
        """
        return extended(self, Retry(effect, predicate(on), resumes=True))

    def give_up(self) -> Program[I, Z, A_co, E_co]:
        """Down to the last rung, without waiting: what the program holds is its outcome."""
        return extended(self, GiveUp())

    def run(
        self: Program[I, Z, A, E],
        interpreter: Interpreter[E],
        *,
        schedule: Schedule = powers_of_two,
    ) -> A:
        """Run it: `interpreter` answers its commands, `schedule` says how long it waits.

        Returns:
            The program's value.

        Raises:
            TypeError: the program is open, it has not come down to `N0`; or a command has no
                handler; or another program with waits is running around this one.
            Exception: the last failure itself, with a note of how often was tried and how long was
                waited.
        """
        checked_run(self, interpreter, Interpreter)
        try:
            answer: A = answered(unroll(self, schedule, interpreter.handlers), interpreter.handlers)
        finally:
            if self.waits:
                RETRYING.set(False)
        return answer

    async def run_async(
        self: Program[I, Z, A, E],
        interpreter: Interpreter[E] | AsyncInterpreter[E],
        *,
        schedule: Schedule = powers_of_two,
    ) -> A:
        """As `run`, for handlers that may be awaited, under asyncio, trio or any other loop."""
        checked_run(self, interpreter, Interpreter | AsyncInterpreter)
        try:
            answer: A = await answered_async(unroll(self, schedule), awaitable(interpreter))
        finally:
            if self.waits:
                RETRYING.set(False)
        return answer

    def __repr__(self) -> str:
        end = "a rung that its bind will tell" if self.end is None else f"N{self.end}"
        return f"<Program from N{self.start} to {end}, {len(self.steps())} steps>"


def at(rung: type[I]) -> Program[I, I, None, Never]:
    """The beginning of a program: on `rung`, so many waits are left.

    >>> from ixbackoff import N3, at
    >>> at(N3)
    <Program from N3 to N3, 0 steps>

    Raises:
        TypeError: `rung` is not one of `N0` to `N20`.
    """
    start = reflect(rung)
    return ladder(UNTYPED, start, start)


RETRYING: ContextVar[bool] = ContextVar("ixbackoff_retrying", default=False)
"""Whether a program with waits is running here: the run-time side of "no retry in a retry"."""

UNTYPED: type[Program[Any, Any, Any, Any]] = Program


def extended(program: Ladder, step: Step) -> Program[Any, Any, Any, Any]:
    """The one place where a program gets its index: that of the signature it is returned by.

    What a step does to the index stands in its signature alone, so nothing here can prove it to a
    type checker: `typecheck_cases/` and the soundness test do, and `Step.below` checks it at run
    time.
    """
    return longer(UNTYPED, program, step)


def always(program: Ladder) -> Callable[[object], Ladder]:
    return lambda _: program


def checked_program(following: object, operator: str, instead: str) -> Ladder:
    """`following`, if it is a program."""
    if not isinstance(following, Ladder):
        raise TypeError(
            f"{operator} goes on with a program, not with {following!r}: use {instead} for that."
        )
    return following


def checked_run(
    program: Ladder,
    interpreter: Interpreter[Any] | AsyncInterpreter[Any],
    kinds: type | UnionType,
) -> None:
    """Refuse what would go wrong later, before anything has been done."""
    if program.end:
        raise TypeError(
            f"The program is open, it ends at N{program.end}: end it with .give_up(), or go down "
            "with .retry(...)."
        )
    if not isinstance(interpreter, kinds):
        hint = "make one with SomeCommand.handled_by(...)"
        if isinstance(interpreter, AsyncInterpreter):
            hint = "run an AsyncInterpreter with run_async"
        raise TypeError(f"{interpreter!r} is no Interpreter: {hint}.")
    if program.waits:
        inherited(interpreter.handlers, Delay)
        if RETRYING.get():
            raise TypeError(
                "A program with waits cannot run inside a handler of a program with waits, or "
                "their retries would multiply: let the outer one issue the inner one's commands."
            )
        RETRYING.set(True)
