"""Programs: typed steps on a ladder. `_meaning/semantics.py` says what each step does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Never, final, overload

from typing_extensions import TypeVar

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.gate_base import Gate
from .._meaning import steps
from .._meaning.chains import Ladder, Step, counted, ladder, longer, renamed
from .._meaning.run_defaults import Defaults
from .._running.command_loops import run, run_async
from .._words.commands import AsyncInterpreter, Interpreter, Misuse
from .._words.failure_classes import On, predicate
from .._words.judging import is_transient
from .._words.rungs import FOREVER, N0, Nat, Rung, Succ, name_of, position
from .._words.standard_commands import Delay, Standard
from ..schedules.algebra import Schedule
from .attempts import CommandOrAttempt, overloaded

if TYPE_CHECKING:
    from datetime import timedelta
    from threading import Event

__tracebackhide__ = True

A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E")
F = TypeVar("F")
# Index variables are invariant, bound to the class Nat, and have no defaults. If one of these
# three properties changes, some type checker accepts a forged index.
I = TypeVar("I", bound=Nat)  # noqa: E741
O = TypeVar("O", bound=Nat)  # noqa: E741
J = TypeVar("J", bound=Nat)
N = TypeVar("N", bound=Nat)
A_co = TypeVar("A_co", covariant=True, default=None)
E_co = TypeVar("E_co", covariant=True, default=Standard)


@final
class Program(Ladder, Generic[I, O, A_co, E_co]):
    """Steps on a ladder, from the rung `I` down to the rung `O`, as a value that can be run.

    A running program is either well (it holds a value, an `A_co`) or failed (it holds the last
    exception). The docstring of a step names its effect in either state, "Well:" and "Failed:";
    "with `on`" means with a failure that `on` chooses. The row `E_co` has the program's commands.

    >>> from ixbackoff import N2, Download, at
    >>> at(N2).retry(Download("http://localhost/a", "a"))
    <Program from N2 to N0, 1 step>
    """

    __slots__ = ()

    def __init__(self, _sealed: Never) -> None:
        raise TypeError("A program begins with at(...): at(N3).retry(...).")

    def do(self, effect: CommandOrAttempt[F, B]) -> Program[I, O, B, E_co | F]:
        """Well: perform `effect`. Failed: passed over.

        >>> from ixbackoff import N1, Log, at
        >>> at(N1).do(Log("one")).do(Log("two"))
        <Program from N1 to N1, 2 steps>
        """
        return extended(self, steps.DoStep(effect))

    def then(
        self, function: Callable[[A_co], CommandOrAttempt[F, B]]
    ) -> Program[I, O, B, E_co | F]:
        """Well: perform the effect that `function` makes of the value. Failed: passed over.

        >>> from ixbackoff import N0, at, call
        >>> from ixbackoff.live import live
        >>> at(N0).do(call(len, "four")).then(lambda length: call(pow, length, 2)).run(live())
        16
        """
        return extended(self, steps.ThenStep(function))

    def map(self, function: Callable[[A_co], B]) -> Program[I, O, B, E_co]:
        """Well: replace the value by `function(value)`. Failed: passed over.

        >>> from ixbackoff import N0, at, call
        >>> from ixbackoff.live import live
        >>> at(N0).do(call(len, "four")).map(lambda length: length + 1).run(live())
        5
        """
        return extended(self, steps.MapStep(function))

    def or_else(
        self, effect: CommandOrAttempt[F, B], on: On = is_transient
    ) -> Program[I, O, A_co | B, E_co | F]:
        """Failed with `on`: perform `effect` instead, on this rung. Otherwise passed over.

        >>> from ixbackoff import N0, at, call
        >>> from ixbackoff.live import live
        >>> at(N0).do(call(int, "four")).or_else(call(int, "4"), on=ValueError).run(live())
        4
        """
        return extended(self, steps.OrElseStep(effect, predicate(on)))

    def bind(self, function: Callable[[A_co], Program[O, J, B, F]]) -> Program[I, J, B, E_co | F]:
        """Well: continue with the program that `function` makes of the value. Failed: passed over.

        That program starts where this one ends. If the step is passed over, `function` is not
        called, and the run cannot know where that program would have ended, unless `function` is
        annotated or `.at` follows. Without these, the run stays on its rung until it enters another
        program, and until then a `.retry` may have more tries than the type says.

        >>> from ixbackoff import N1, N2, at, call
        >>> from ixbackoff.live import live
        >>> squared = lambda length: at(N1).retry(call(pow, length, 2))
        >>> at(N2).do(call(len, "four")).skip().bind(squared).run(live())
        16
        """
        return extended(self, steps.BindStep(function))

    def or_bind(
        self,
        function: Callable[[Exception], Program[O, J, B, F]],
        on: On = is_transient,
    ) -> Program[I, J, A_co | B, E_co | F]:
        """Failed with `on`: continue with the program that `function` makes of the failure.

        >>> from ixbackoff import N0, Log, at, call
        >>> from ixbackoff.live import live
        >>> text = lambda failure: at(N0).do(call(str, failure))
        >>> at(N0).do(call(int, "four")).or_bind(text, on=ValueError).run(live())
        "invalid literal for int() with base 10: 'four'"
        """
        return extended(self, steps.OrBindStep(function, predicate(on)))

    def __rshift__(self, following: Program[O, J, B, F]) -> Program[I, J, B, E_co | F]:
        """Well: continue with `following`. Failed: passed over.

        >>> from ixbackoff import N1, N2, Log, at
        >>> at(N2).do(Log("first")).wait() >> at(N1).retry(Log("then"))
        <Program from N2 to N0, 3 steps>
        """
        return extended(self, steps.BindStep(*steps.known_program(following, ">>", ".do(...)")))

    def __or__(self, following: Program[O, J, B, F]) -> Program[I, J, A_co | B, E_co | F]:
        """Failed with a transient failure: continue with `following`. Otherwise passed over.

        >>> from ixbackoff import N1, N2, Log, at
        >>> at(N2).do(Log("first")).backoff() | at(N1).retry(Log("instead"))
        <Program from N2 to N0, 3 steps>
        """
        function, known = steps.known_program(following, "|", ".or_else(...)")
        return extended(self, steps.OrBindStep(function, predicate(is_transient), known))

    @overload
    def backoff(
        self: Program[I, Succ[N], A, E], on: On = is_transient
    ) -> Program[I, N, A, E | Delay]: ...

    @overload
    def backoff(
        self: Program[I, N0, A, E],
        on: On = is_transient,
        *,
        no_wait_is_left_at_N0_start_on_a_higher_rung: Never,
    ) -> Program[I, N0, A, E]: ...

    @overload
    def backoff(
        self: Program[I, FOREVER, A, E],
        on: On = is_transient,
        *,
        only_retry_resume_retry_with_and_end_leave_FOREVER: Never,
    ) -> Program[I, FOREVER, A, E]: ...

    @overloaded
    def backoff(self, on: On = is_transient) -> Program[Any, Any, Any, Any]:
        """Failed with `on`: wait, and stay failed. One rung down in any case.

        >>> from ixbackoff import N1, Log, at, plan
        >>> once_more = at(N1).do(Log("try")).backoff().or_else(Log("try once more"))
        >>> [(rung.wait_seconds, rung.when) for rung in plan(once_more).rungs]
        [(1.0, 'failed'), (None, '')]
        """
        return extended(self, steps.BackoffStep(predicate(on)))

    @overload
    def wait(self: Program[I, Succ[N], A, E]) -> Program[I, N, A, E | Delay]: ...

    @overload
    def wait(
        self: Program[I, N0, A, E], *, no_wait_is_left_at_N0_start_on_a_higher_rung: Never
    ) -> Program[I, N0, A, E]: ...

    @overload
    def wait(
        self: Program[I, FOREVER, A, E],
        *,
        only_retry_resume_retry_with_and_end_leave_FOREVER: Never,
    ) -> Program[I, FOREVER, A, E]: ...

    @overloaded
    def wait(self) -> Program[Any, Any, Any, Any]:
        """Well: wait. One rung down in any case.

        >>> from ixbackoff import N1, Log, at, plan
        >>> [rung.when for rung in plan(at(N1).do(Log("begin")).wait().do(Log("look"))).rungs]
        ['well', '']
        """
        return extended(self, steps.WaitStep())

    @overload
    def skip(self: Program[I, Succ[N], A, E]) -> Program[I, N, A, E]: ...

    @overload
    def skip(
        self: Program[I, N0, A, E], *, no_wait_is_left_at_N0_start_on_a_higher_rung: Never
    ) -> Program[I, N0, A, E]: ...

    @overload
    def skip(
        self: Program[I, FOREVER, A, E],
        *,
        only_retry_resume_retry_with_and_end_leave_FOREVER: Never,
    ) -> Program[I, FOREVER, A, E]: ...

    @overloaded
    def skip(self) -> Program[Any, Any, Any, Any]:
        """Go one rung down without waiting: the schedule's wait on the upper rung is left out.

        >>> from ixbackoff import N2, Log, at, plan
        >>> [rung.wait_seconds for rung in plan(at(N2).skip().retry(Log("try"))).rungs]
        [None, 2.0, None]
        """
        return extended(self, steps.SkipStep())

    def retry(
        self, effect: CommandOrAttempt[F, B], on: On = is_transient
    ) -> Program[I, N0, B, E_co | F | Delay]:
        """Well: perform `effect`; while it fails with `on` and rungs are left, wait and try again.

        Each try performs `effect` from its start. Failed: passed over.

        >>> from ixbackoff import N2, ServerError, Download, at
        >>> from ixbackoff.testing import Virtual, answers
        >>> page = Download("http://localhost/a", "a")
        >>> world = Virtual(Download.handled_by(answers(ServerError(503), ServerError(503), None)))
        >>> at(N2).retry(page).run(world.interpreter)
        >>> world.waits
        [1.0, 2.0]
        """
        return extended(self, steps.RetryStep(effect, predicate(on)))

    def resume(
        self, effect: CommandOrAttempt[F, B], on: On = is_transient
    ) -> Program[I, N0, B, E_co | F | Delay]:
        """Retry as `retry` does, but let each further try continue at the command that failed.

        The attempt starts again, and its earlier commands get their recorded answers without a
        handler. So between its commands it may only compute; if it issues another command than
        before, it fails with `Diverged`.

        >>> from ixbackoff import N2, Call, NotReady, at, call, do
        >>> from ixbackoff.testing import Virtual, answers, waited
        >>> get, put = call(print, "get"), call(print, "put")
        >>> world = Virtual(Call.handled_by(answers(None, NotReady(), None)))
        >>> at(N2).resume(do(get).then(lambda _: put)).run(world.interpreter)
        >>> world.expect(get, put, waited(1), put)
        """
        return extended(self, steps.ResumeStep(effect, predicate(on)))

    def retry_with(
        self, function: Callable[[int], CommandOrAttempt[F, B]], on: On = is_transient
    ) -> Program[I, N0, B, E_co | F | Delay]:
        """Retry the effect that `function` makes of the number of waits left.

        At `FOREVER` the number is 20 in the first try, and one less in each later one, down to 1.

        >>> from ixbackoff import N2, Call, NotReady, at, call
        >>> from ixbackoff.testing import Virtual, answers
        >>> world = Virtual(Call.handled_by(answers(NotReady(), NotReady(), "page")))
        >>> at(N2).retry_with(lambda rung: call(print, rung)).run(world.interpreter)
        'page'
        >>> [command.arguments for command in world.commands if isinstance(command, Call)]
        [(2,), (1,), (0,)]
        """
        return extended(self, steps.RetryWithStep(function, predicate(on)))

    def at(self, rung: Rung[O]) -> Program[I, O, A_co, E_co]:
        """State the rung that the program has reached, as its type does, and do nothing else.

        After a `bind` whose lambda was not called, a run learns its rung from this step.

        >>> from ixbackoff import N0, N2, Call, NotReady, at, call
        >>> from ixbackoff.testing import Virtual, always
        >>> work = at(N2).do(call(int)).bind(lambda _: at(N2).end()).at(N0)
        >>> world = Virtual(Call.handled_by(always(NotReady())))
        >>> work.or_else(call(str)).run(world.interpreter)
        Traceback (most recent call last):
        ixbackoff.NotReady
        ixbackoff: tries: 2, waits: 0, 0 s in all

        Raises:
            Misuse: the program is on another rung.
        """
        return extended(self, steps.AtStep(position(rung)))

    def end(self) -> Program[I, N0, A_co, E_co]:
        """Go down to the last rung without waiting: the value or the failure is the outcome.

        >>> from ixbackoff import N3, Log, at
        >>> at(N3).do(Log("once is enough")).end()
        <Program from N3 to N0, 2 steps>
        """
        return extended(self, steps.EndStep())

    def named(self, name: str) -> Program[I, O, A_co, E_co]:
        """Give the program a name, for logs and observers.

        By default it has the name of its first function or command. Further steps keep the name.

        >>> from ixbackoff import N3, Download, at
        >>> at(N3).retry(Download("http://localhost/a", "a")).named("copy page")
        <Program 'copy page' from N3 to N0, 1 step>

        Raises:
            Misuse: `name` is not a string, or it is empty.
        """
        return renamed(UNTYPED, self, name)

    @overload
    def run(
        self: Program[I, N0, A, E],
        interpreter: Interpreter[E],
        *,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
        longest: float | timedelta | None = None,
        through: Gate | Sequence[Gate] | None = None,
    ) -> A: ...

    @overload
    def run(
        self: Program[I, Succ[N], A, E] | Program[I, FOREVER, A, E],
        interpreter: object,
        *,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
        longest: float | timedelta | None = None,
        through: Gate | Sequence[Gate] | None = None,
        it_is_open_finish_it_with_end_or_retry: Never,
    ) -> Program[I, Any, Any, Any]: ...

    @overloaded
    def run(
        self,
        interpreter: Interpreter[Any],
        *,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        stop: Event | None = None,
        longest: float | timedelta | None = None,
        through: Gate | Sequence[Gate] | None = None,
    ) -> Any:
        """Run the program and return its value.

        `interpreter` answers its commands, and `schedule` gives the seconds of its waits: by
        default powers of two. For a program made by `backoff(...).program`, the defaults are the
        arguments of that `backoff`.

        >>> from ixbackoff import N3, Exponential, at, call
        >>> from ixbackoff.live import live
        >>> at(N3).retry(call(pow, 2, 5)).run(live(), schedule=Exponential(base=0.1))
        32

        Args:
            within: the seconds of the whole run, or a `timedelta`. If a wait would leave no time
                for another try, the program gives up immediately, with the last failure. Handlers
                read the remaining seconds by `time_limit()`; at the deadline, `run_async`
                cancels the handler that it awaits. With 0 or less only `Now` is issued.
            budget: the budget that pays for further tries; if it is empty, the program gives up.
            breaker: the circuit breaker that every try of the program goes through; while it is
                open, a try fails immediately with `CircuitOpen`. `do(effect).guarded(breaker)` is
                for one service of several.
            stop: an event for the handler of SIGTERM. When it is set, a wait ends immediately, and
                the program with it. Only the `Delay` handler of `live()` cuts a wait short. A
                running command continues to its end.
            longest: the longest wait that a service or a gate may ask for, in seconds or as a
                `timedelta`. If a longer one is asked for, the program gives up immediately.
            through: the gate that every try of the program goes through, such as a `Limiter`, or
                several, outermost first. A try that a gate refuses fails with `Crowded`.

        Raises:
            Misuse: the program is open, that is, it does not end at `N0`; or a command has no
                handler; or the program may wait, and runs inside another one that may wait.
            ValueError: `within` or `longest` is not a usable number of seconds or `timedelta`.
            DeadlineExceeded: the time of the run was over.
            Stopped: `stop` was set before the first command, in a `.wait()`, or in line at a gate.
            Exception: the last failure itself, with a note of its tries and waits.
        """
        try:
            how = self._defaults.replace(
                schedule, within, budget, breaker, stop, longest, None, through
            )
            return run(self, interpreter, how)
        except Misuse as misuse:
            from .unhandled_commands import name_all

            name_all(misuse, self, interpreter)
            raise

    @overload
    async def run_async(
        self: Program[I, N0, A, E],
        interpreter: Interpreter[E] | AsyncInterpreter[E],
        *,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        longest: float | timedelta | None = None,
        through: Gate | Sequence[Gate] | None = None,
    ) -> A: ...

    @overload
    async def run_async(
        self: Program[I, Succ[N], A, E] | Program[I, FOREVER, A, E],
        interpreter: object,
        *,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        longest: float | timedelta | None = None,
        through: Gate | Sequence[Gate] | None = None,
        it_is_open_finish_it_with_end_or_retry: Never,
    ) -> Program[I, Any, Any, Any]: ...

    @overloaded
    async def run_async(
        self,
        interpreter: Interpreter[Any] | AsyncInterpreter[Any],
        *,
        schedule: Schedule | None = None,
        within: float | timedelta | None = None,
        budget: RetryBudget | None = None,
        breaker: CircuitBreaker | None = None,
        longest: float | timedelta | None = None,
        through: Gate | Sequence[Gate] | None = None,
    ) -> Any:
        """Run the program as `run` does, with handlers that may be awaited.

        It runs under asyncio or trio. At the deadline the awaited handler is cancelled.

        >>> import asyncio
        >>> from ixbackoff import N3, at, call
        >>> from ixbackoff.live import live_async
        >>> asyncio.run(at(N3).retry(call(pow, 2, 5)).run_async(live_async()))
        32
        """
        try:
            how = self._defaults.replace(
                schedule, within, budget, breaker, None, longest, None, through
            )
            return await run_async(self, interpreter, how)
        except Misuse as misuse:
            from .unhandled_commands import name_all

            name_all(misuse, self, interpreter)
            raise

    def __repr__(self) -> str:
        end = "a rung known only at run time" if self.ends_at is None else name_of(self.ends_at)
        name = "" if self._name is None else f" {self._name!r}"
        steps = counted(len(self.steps()))
        return f"<Program{name} from {name_of(self.start)} to {end}, {steps}>"


def at(rung: Rung[I]) -> Program[I, I, None, Never]:
    """Begin a program on a rung: `N3` for three waits, `FOREVER` for waits without end.

    >>> from ixbackoff import FOREVER, N3, at
    >>> at(N3)
    <Program from N3 to N3, 0 steps>
    >>> at(FOREVER)
    <Program from FOREVER to FOREVER, 0 steps>

    Raises:
        TypeError: `rung` is not one of `N0` to `N20`, nor `FOREVER`.
    """
    start = position(rung)
    return ladder(UNTYPED, start)


def at_with(rung: Rung[I], defaults: Defaults) -> Program[I, I, None, Never]:
    return ladder(UNTYPED, position(rung), defaults)


UNTYPED: type[Program[Any, Any, Any, Any]] = Program


def extended(program: Ladder, step: Step) -> Program[Any, Any, Any, Any]:
    """Add a step. The indices of the program are those of the caller's signature.

    A type checker cannot prove these indices. The files in `typecheck_cases/` and the soundness
    test check them, and so does `Step.below`, at run time.
    """
    return longer(UNTYPED, program, step)
