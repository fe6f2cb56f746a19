"""`simulate` and `simulate_many`: one program, many clients, modelled services, virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from .._functions.backoff import Backoff
from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.deadlines import checked_seconds
from .._meaning.chains import PROGRAM, Ladder
from .._meaning.folds import parts
from .._meaning.semantics import guards_of
from .._meaning.steps import Guard, Guarded
from .._words.checks import above_zero
from .._words.commands import Misuse
from .._words.rungs import Nat, Z
from .._words.standard_commands import Delay, Log, Now, Pick, Reserve, Throw
from .._writing.programs import Program
from ..schedules.base import Timing
from .arrivals import Arrivals
from .lost_capacity import Outage, checked_outages
from .seed_results import Sample
from .seed_sweep import SEEDS, each_seed
from .services.service import Served
from .simulation_outcome import Outcome, Second
from .simulator import Simulator

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from datetime import timedelta

A = TypeVar("A")
E = TypeVar("E")
I = TypeVar("I", bound=Nat)  # noqa: E741

Unserved: TypeAlias = Delay | Log | Now | Pick | Reserve | Throw
"""The commands that need no service."""


def simulate(
    program: Program[I, Z, A, E | Unserved] | Callable[[int], Program[I, Z, A, E | Unserved]],
    services: Served[E],
    *,
    clients: int | None = None,
    arrivals: Arrivals | None = None,
    seconds: float,
    schedule: Timing | None = None,
    within: float | timedelta | None = None,
    budget: Callable[[int], RetryBudget] | None = None,
    breaker: Callable[[int], CircuitBreaker] | None = None,
    think: float | None = None,
    outages: Iterable[Outage] = (),
    seed: int = 0,
    trace: bool = False,
    watch: Callable[[int, Second], None] | None = None,
) -> Outcome:
    """Let many clients run `program` against `services` in virtual time, and return the outcome.

    >>> from ixbackoff import N3, Command, at
    >>> from ixbackoff.fleet import BoundedQueue, simulate
    >>> class Ask(Command[None]):
    ...     __slots__ = ()
    >>> queue = BoundedQueue(length=10, work=0.1).serves(Ask)
    >>> outcome = simulate(at(N3).retry(Ask()), queue, clients=5, seconds=10)
    >>> outcome.total(lambda second: second.well)
    5

    For clients that retry until they are answered, give a program at `FOREVER`. In a simulation the
    garbage collector runs seldom, because there is hardly any garbage.

    Args:
        program: the program, or a function from the number of a client to its program.
        services: the services of its commands; `Delay`, `Log`, `Now`, `Pick`, `Reserve` and `Throw`
            need none.
        clients: the number of clients, from the beginning to the end.
        arrivals: instead of `clients`, how clients arrive, each for one run. A number is the mean
            rate per second, at random times. A function, as for a spike, returns the rate at a
            time in seconds, and is called once for each 64th of a second. A list has the times.
        seconds: the length in virtual time; events at the very end do not happen.
        schedule: the seconds of the waits, by default those of the program; a `Timing` that can
            shorten waits is allowed here.
        within: the seconds that each run of the program has in all, or a timedelta; by default
            those of the program.
        budget: a function from the number of a client to its budget, which clients may share; by
            default that of the program.
        breaker: a function from the number of a client to its circuit breaker, in the same way.
        think: the mean seconds, exponentially distributed, before the first run of a client and
            between two runs; `None`: each client runs the program once, at the beginning.
        outages: the intervals in which all services are stopped or slower; they must not overlap.
        seed: the seed of the random numbers: the same seed gives the same events.
        trace: whether to record every command with its answer or failure.
        watch: called at the end of each second with its number and its counts.

    Raises:
        ValueError: `clients`, `arrivals`, `seconds` or `think` is not above 0; not exactly one of
            `clients` and `arrivals` is given; arrival times are not in order; `think` is given with
            `arrivals`; `seed` is not a whole number; outages overlap, or are not within `seconds`.
        Misuse: no service serves a command of the program; the program cannot run; there is an
            outage, and a service cannot stop or slow down; or time does not advance, as with a
            client at `FOREVER` that waits 0 s and a service that fails immediately.
    """
    refuse_function(program)
    many = checked_clients(clients, arrivals, think)
    above_zero("seconds", seconds)
    number: object = seed
    if not isinstance(number, int):
        raise ValueError(f"seed={seed!r}: give a whole number.")  # noqa: TRY004
    if think is not None:
        above_zero("think", think)
    left = checked_seconds("within", within)
    timing: object = schedule
    if not isinstance(timing, Timing | None):
        raise Misuse(f"schedule={timing!r} is not a Timing: give one, such as Exponential(...).")
    check_makes("budget", RetryBudget, budget)
    check_makes("breaker", CircuitBreaker, breaker)
    if not isinstance(services, Served):
        raise Misuse(
            f"services={services!r}: say what they serve, with service.serves(Kind) or "
            "instantly(interpreter)."
        )
    stops = checked_outages(outages, seconds)

    def simulated() -> Outcome:
        simulator = Simulator(services, timing, left, think, arrivals, seed, trace)
        return simulator.outcome(program, budget, breaker, many, seconds, stops, watch)

    return copy_context().run(simulated)  # the clients must not see the caller's time limits


def refuse_function(program: object) -> None:
    """Refuse a decorated function or a `Backoff`: a fleet would call either to get a program."""
    if hasattr(program, PROGRAM) or isinstance(program, Backoff):
        raise Misuse(f"{program!r}: a fleet runs programs: give backoff(N3).program(function).")


def simulate_many(
    program: Program[I, Z, A, E | Unserved] | Callable[[int], Program[I, Z, A, E | Unserved]],
    services: Served[E],
    *,
    seeds: int | Iterable[int] = SEEDS,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int, Outcome], None] | None = None,
    clients: int | None = None,
    arrivals: Arrivals | None = None,
    seconds: float,
    schedule: Timing | None = None,
    within: float | timedelta | None = None,
    budget: Callable[[int], RetryBudget] | None = None,
    breaker: Callable[[int], CircuitBreaker] | None = None,
    think: float | None = None,
    outages: Iterable[Outage] = (),
    trace: bool = False,
) -> Sample[Outcome]:
    """Run the same simulation with many seeds, in many processes: one seed is an anecdote.

    >>> from ixbackoff import Download, N2, at
    >>> from ixbackoff.fleet import BoundedQueue, simulate_many
    >>> page = at(N2).retry(Download("http://localhost:8070/page", "page.html"))
    >>> queue = BoundedQueue(length=9, work=0.2).serves(Download)
    >>> how = {"clients": 50, "think": 5, "seconds": 10}
    >>> sample = simulate_many(page, queue, seeds=8, jobs=1, **how)
    >>> sample.share(lambda outcome: outcome.gave_up == 0)
    0.125
    >>> sample.quantile(lambda outcome: outcome.gave_up)
    5.5

    Each seed gives the events of `simulate(seed=...)`, in whatever process it runs. The program and
    the services are sent to worker processes by pickle. Use `each_seed` for a simulation that
    cannot be pickled, or for results that are smaller than an `Outcome`.

    Args:
        program: as in `simulate`, like all arguments that are not described here.
        services: as in `simulate`; a worker has a copy, so counts of `Metered` stay in the worker.
        seeds: as in `each_seed`, like `jobs`, `executor` and `watch`, which gets the outcomes.
        budget: must return a new budget at each call; otherwise the seeds would share it.
        breaker: must return a new circuit breaker at each call.

    Raises:
        ValueError: as `simulate` and `each_seed`.
        Misuse: as `simulate` and `each_seed`; or the seeds would share a budget or a guard.
        concurrent.futures.BrokenExecutor: a worker has ended too early.
    """
    given: object = program
    refuse_function(given)
    if isinstance(given, Ladder):
        refuse_shared("The program", *states_of(given))
    elif callable(given):
        first, second = given(0), given(0)
        refuse_shared("program=", *[one for one in states_of(first) if one in states_of(second)])
    for name, make in ("budget", budget), ("breaker", breaker):
        if callable(make):
            first, second = make(0), make(0)
            refuse_shared(f"{name}=", first if first is second else None)
    simulated = partial(
        simulate,
        program,
        services,
        clients=clients,
        arrivals=[*arrivals] if isinstance(arrivals, Iterable) else arrivals,  # read by each seed
        seconds=seconds,
        schedule=schedule,
        within=within,
        budget=budget,
        breaker=breaker,
        think=think,
        outages=tuple(outages),
        trace=trace,
    )
    function = partial(with_seed, simulated)
    return each_seed(function, seeds, jobs=jobs, executor=executor, watch=watch)


def with_seed(simulated: Callable[..., Outcome], seed: int) -> Outcome:
    return simulated(seed=seed)


def states_of(program: object) -> list[RetryBudget | Guard]:
    """Return the budget and the guards of a program, but no `Reserve`: it has no state."""
    if not isinstance(program, Ladder):
        return []  # the simulation says what is wrong
    guards = [part.guard for part in parts(program) if isinstance(part, Guarded)]
    how = program._defaults
    found = how.budget, *(guards_of(how) or ()), *guards
    return [state for state in found if state is not None and not isinstance(state, Reserve)]


def refuse_shared(giver: str, *states: RetryBudget | Guard | None) -> None:
    """Raise Misuse for a budget or a guard that one simulation would pass on to the next."""
    for state in states:
        if state is not None:
            raise Misuse(
                f"{giver} gives {state!r}, which all seeds would share, so that the result of a "
                "seed would depend on the others: make a new one for each client; or pass "
                "each_seed(...) a function that makes one for its seed."
            )


def check_makes(name: str, kind: type, make: object) -> None:
    if make is not None and not callable(make):
        raise Misuse(
            f"{name}={make!r}: give a function from the number of a client to a {kind.__name__}."
        )


def checked_clients(clients: object, arrivals: object, think: float | None) -> int:
    """Return the number of clients at the beginning: 0 if clients arrive later."""
    if arrivals is None:
        if not isinstance(clients, int) or clients < 1:
            raise ValueError(f"clients={clients!r}: give a number, 1 or more; or arrivals=.")
        return clients
    if not callable(arrivals) and not isinstance(arrivals, int | float | Iterable):
        raise Misuse(f"arrivals={arrivals!r}: give a number, a function of the time, or times.")
    if clients is not None or think is not None:
        raise ValueError(
            f"arrivals={arrivals!r}: each arriving client runs the program once; leave out "
            "clients= and think=."
        )
    return 0
