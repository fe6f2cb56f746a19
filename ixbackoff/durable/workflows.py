"""Workflows: functions that make programs, under names that the database stores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget, checked_budget
from .._limits.deadlines import checked_seconds
from .._meaning.chains import Ladder
from .._meaning.folds import parts
from .._meaning.program_names import name_of_part
from .._meaning.run_defaults import Defaults
from .._meaning.steps import Guarded
from .._words.checks import finite
from .._words.commands import Misuse, is_coroutine_function
from .._words.rungs import Nat, Z, name_of
from .._writing.programs import Program
from ..schedules.algebra import Schedule, check_schedule
from .command_digests import name_of_function

if TYPE_CHECKING:
    from datetime import timedelta

P = ParamSpec("P")
A = TypeVar("A")
E = TypeVar("E")
A_co = TypeVar("A_co", covariant=True)
E_co = TypeVar("E_co", covariant=True)
I = TypeVar("I", bound=Nat)  # noqa: E741

DIGITS = 16


class Workflow(Generic[P, A_co, E_co, I]):
    """A function that returns a program, with a name that the database stores; `durable` makes it.

    Attributes:
        name: the name, by which an engine finds the function for a run.
        rate: a limit `(runs, seconds)` of the runs that all workers together begin, or `None`.
    """

    def __init__(
        self,
        function: Callable[P, Program[I, Z, A_co, E_co]],
        name: str,
        how: tuple[Any, ...],
        rate: tuple[int, float] | None,
    ) -> None:
        self.rate = rate
        self._function = function
        self._how = how
        self.name = name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Program[I, Z, A_co, E_co]:
        """Make the program; `workflow(...).run(live())` runs it without an engine."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Workflow {self.name}>"

    def build(self, *args: Any, **kwargs: Any) -> tuple[Ladder, Defaults]:
        """Make the program and its settings; raise Misuse if they cannot run durably."""
        program: object = self._function(*args, **kwargs)
        if not isinstance(program, Ladder):
            raise Misuse(
                f"The workflow {self.name} returned {program!r}: return a program, such as "
                "at(N3).retry(...)."
            )
        how = program._defaults.replace(*self._how)
        guards = [part.guard for part in parts(program) if isinstance(part, Guarded)]
        if how.breaker is not None or any(isinstance(one, CircuitBreaker) for one in guards):
            raise Misuse(
                f"The workflow {self.name} has a circuit breaker, whose state is not in the "
                "journal: instead, guard the client that its handlers use."
            )
        if how.stop is not None:
            raise Misuse(
                f"The workflow {self.name} has a stop=, which other processes cannot see: cancel "
                "the run instead."
            )
        return program, how


def durable(
    *,
    name: str | None = None,
    schedule: Schedule | None = None,
    within: float | timedelta | None = None,
    budget: RetryBudget | None = None,
    rate: tuple[int, float] | None = None,
) -> Callable[[Callable[P, Program[I, Z, A, E]]], Workflow[P, A, E, I]]:
    """Make a workflow of a function that returns a program, for an `Engine` to run durably.

    >>> from ixbackoff import N3, Z, Call, Delay, Program, at, call
    >>> from ixbackoff.durable import durable
    >>> @durable(name="greet")
    ... def greet(name: str) -> Program[N3, Z, str, Call[str] | Delay]:
    ...     return at(N3).retry(call(str.title, name))
    >>> greet
    <Workflow greet>
    >>> from ixbackoff.live import live
    >>> greet("world").run(live())
    'World'

    Args:
        name: the name that the database stores; by default the names of module and function.
        schedule: the seconds of the waits; by default the schedule of the program.
        within: the time limit of a run, in seconds; time without a process counts, too.
        budget: a budget that pays for the retries; each process has its own.
        rate: a number of runs and of seconds. With `(10, 60)` all workers together begin at most 10
            runs in a minute; a run counts again after a parked wait. By default no limit.

    Raises:
        Misuse: the name is missing or empty, `rate` is not a number of runs and seconds, or
            `schedule`, `budget` or the function is wrong.
        ValueError: `within` is not a finite number or a timedelta, or a number in `rate` is below 1
            or not finite.
    """
    check_rate(rate)
    if schedule is not None:
        check_schedule(schedule)
    checked_seconds("within", within)
    checked_budget(budget)
    given: object = name
    if given is not None and (not isinstance(given, str) or not given):
        raise Misuse(f"durable(name={name!r}): give a string that is not empty.")

    def made(function: Callable[P, Program[I, Z, A, E]]) -> Workflow[P, A, E, I]:
        made_of: object = function
        if not callable(made_of) or is_coroutine_function(made_of):
            raise Misuse(f"@durable() of {function!r}: give a function that returns a program.")
        if name is None and "<" in getattr(function, "__qualname__", "<"):
            raise Misuse(
                f"{function!r} has no name that another process finds: give durable(name=...)."
            )
        return Workflow(
            function, name or name_of_function(function), (schedule, within, budget), rate
        )

    return made


def check_rate(rate: object) -> None:
    if rate is None:
        return
    said = f"rate={rate!r}: give a number of runs, and seconds, such as (10, 60)."
    match rate:
        case (int() as runs, int() | float() as seconds):
            if not (finite(runs) >= 1 and finite(seconds) >= 1):
                raise ValueError(said)
        case _:
            raise Misuse(said)


def fingerprint(program: Ladder, how: Defaults) -> str:
    """Return a digest of a program: of its first rung, its schedule and the kinds of its steps.

    Steps that functions make while the program runs are not included.
    """
    words = [name_of(program.start), repr(how.schedule)]
    for part in parts(program):
        steps = part.steps() if isinstance(part, Ladder) else ()
        words += [step.__class__.__name__ for step in steps] or [name_of_part(part)]
    return hashlib.sha256("|".join(words).encode()).hexdigest()[:DIGITS]
