"""`simulate_many`: one simulation with many seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._meaning.chains import Ladder
from .._words.commands import Misuse
from .._words.nat import Nat, Z
from .._words.vocabulary import Delay, Log, Now, Pick, Throw
from .._writing.programs import Program
from ..schedules.kinds import Timing
from .outcomes import Outcome
from .samples import Sample
from .seeds import SEEDS, each_seed
from .services import Served
from .simulation import Outage, simulate

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from datetime import timedelta

A = TypeVar("A")
E = TypeVar("E")
I = TypeVar("I", bound=Nat)  # noqa: E741


def simulate_many(
    program: Program[I, Z, A, E | Delay | Log | Now | Pick | Throw]
    | Callable[[int], Program[I, Z, A, E | Delay | Log | Now | Pick | Throw]],
    services: Served[E],
    *,
    seeds: int | Iterable[int] = SEEDS,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int, Outcome], None] | None = None,
    clients: int | None = None,
    arrivals: float | None = None,
    seconds: float,
    schedule: Timing | None = None,
    within: float | timedelta | None = None,
    budget: Callable[[int], RetryBudget] | None = None,
    breaker: Callable[[int], CircuitBreaker] | None = None,
    think: float | None = None,
    outages: Iterable[Outage] = (),
    trace: bool = False,
) -> Sample[Outcome]:
    """Simulate the same with many seeds, in many processes: one seed is an anecdote.

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

    With a seed the events are those of `simulate` with this seed, wherever it runs. The program
    and the services are sent to the worker processes by pickle; `each_seed` says what cannot be
    sent, and is for simulations that cannot, and for results that are smaller than an `Outcome`.

    Args:
        program: as in `simulate`, and so are `services` and all that are not described here.
        services: counts that a service keeps outside of its `Outcome` stay in the worker.
        seeds: how many, from 0 on, or the seeds themselves.
        jobs: worker processes, by default as many as there are processors; with 1 all is done in
            this process, and nothing has to be sent.
        executor: in place of them, any `concurrent.futures.Executor`; it is not shut down.
        watch: called with each seed and its outcome, as they come, which is in any order.
        budget: makes a new budget each time, for one client; one for all would be shared by the
            seeds.
        breaker: makes a new circuit breaker, in the same way.

    Raises:
        ValueError: as `simulate` and `each_seed`.
        Misuse: as `simulate` and `each_seed`; or the program or a client has a budget or a breaker
            that the seeds would share.
        concurrent.futures.BrokenExecutor: a worker has ended too early.
    """
    given: object = program
    if isinstance(given, Ladder):
        refuse_shared("The program", given._defaults.budget, given._defaults.breaker)
    for name, make in ("budget", budget), ("breaker", breaker):
        if callable(make):
            first, second = make(0), make(0)
            refuse_shared(f"{name}=", first if first is second else None)
    simulated = partial(
        simulate,
        program,
        services,
        clients=clients,
        arrivals=arrivals,
        seconds=seconds,
        schedule=schedule,
        within=within,
        budget=budget,
        breaker=breaker,
        think=think,
        outages=tuple(outages),
        trace=trace,
    )
    one = partial(with_seed, simulated)
    return each_seed(one, seeds, jobs=jobs, executor=executor, watch=watch)


def with_seed(simulated: Callable[..., Outcome], seed: int) -> Outcome:
    """Simulate with this seed."""
    return simulated(seed=seed)


def refuse_shared(giver: str, *states: RetryBudget | CircuitBreaker | None) -> None:
    """Refuse a budget or a breaker that a simulation would take over from the one before it.

    Raises:
        Misuse: there is one.
    """
    for state in states:
        if state is not None:
            raise Misuse(
                f"{giver} gives {state!r}, which all seeds would share, so no two runs would be "
                "the same: make a new one for each client, or for each seed in a function for "
                "each_seed."
            )
