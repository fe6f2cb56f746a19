"""`simulate`: one program, many clients, modelled services, virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import copy_context
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._limits.deadlines import checked_seconds
from .._meaning.chains import Ladder
from .._meaning.defaults import USUAL
from .._words.checks import above_zero
from .._words.commands import Misuse
from .._words.nat import Nat, Z
from .._words.vocabulary import Delay, Log, Now, Pick, Throw
from .._writing.programs import Program
from ..schedules.kinds import Timing
from .engine import Engine
from .outcomes import Outcome, Second
from .services import Served

if TYPE_CHECKING:
    from datetime import timedelta

A = TypeVar("A")
E = TypeVar("E")
I = TypeVar("I", bound=Nat)  # noqa: E741


class Outage(NamedTuple):
    """A time in which the services are stopped: its start and its length, in seconds."""

    start: float
    length: float

    @property
    def span(self) -> tuple[float, float]:
        """The seconds at which it begins and ends.

        >>> Outage(15.0, 20.0).span
        (15.0, 35.0)
        """
        return self.start, self.start + self.length


def simulate(
    program: Program[I, Z, A, E | Delay | Log | Now | Pick | Throw]
    | Callable[[int], Program[I, Z, A, E | Delay | Log | Now | Pick | Throw]],
    services: Served[E],
    *,
    clients: int | None = None,
    arrivals: float | None = None,
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
    """Let many clients run `program` against `services`, in virtual time.

    >>> from ixbackoff import N3, Command, at
    >>> from ixbackoff.fleet import BoundedQueue, simulate
    >>> class Ask(Command[None]):
    ...     __slots__ = ()
    >>> queue = BoundedQueue(length=10, work=0.1).serves(Ask)
    >>> outcome = simulate(at(N3).retry(Ask()), queue, clients=5, seconds=10)
    >>> outcome.total(lambda second: second.well)
    5

    Clients that ask until they are answered run a program at `FOREVER`.

    >>> from ixbackoff import FOREVER
    >>> down = BoundedQueue(length=0, work=3600).serves(Ask)
    >>> asked = simulate(at(FOREVER).retry(Ask()), down, clients=2, seconds=1024)
    >>> asked.total(lambda second: second.asked)
    12

    Clients can also come from outside, each for one run, however busy the services are.

    >>> open_arrivals = simulate(at(N3).retry(Ask()), queue, arrivals=5, seconds=100)
    >>> 400 < open_arrivals.clients < 600
    True

    The garbage collector finds next to nothing here, so it runs seldom during a simulation.

    Args:
        program: the program, or a function from the number of a client to its program.
        services: the services of its commands; `Delay`, `Log`, `Now`, `Pick` and `Throw` need none.
        clients: how many, from the beginning to the end.
        arrivals: in place of them, how many come per second in the mean, at random times.
        seconds: the length in virtual time; events at the very end do not happen any more.
        schedule: the seconds of the waits; a `Timing` that can shorten them is allowed here. By
            default it is the program's own, and so are the others.
        within: the seconds that each run of the program has in all, or a timedelta.
        budget: the budget of a client, by its number: one for each, or one for all.
        breaker: the circuit breaker of a client, in the same way.
        think: mean seconds between the end of a program and the next run of it, exponentially
            distributed, and before the first; `None`: each client runs it once, from the beginning.
        outages: the times in which all services are stopped; they do not overlap.
        seed: the same seed, the same events.
        trace: whether to keep every command with its answer or failure.
        watch: called at the end of each second, with its number and its counts.

    Raises:
        ValueError: `clients`, `arrivals` or `seconds` is not above 0, both of the first two are
            given or none, `think` is given with `arrivals`, the seed is not a whole number, or an
            outage is not within the seconds.
        Misuse: the program issues a command that nothing serves, or cannot run, a
            service cannot stop and there is an outage, or time does not go by: a client at
            `FOREVER` that waits 0 s asks a service that fails at once.
    """
    many = checked_clients(clients, arrivals, think)
    above_zero("seconds", seconds)
    number: object = seed
    if not isinstance(number, int):
        raise ValueError(f"seed={seed!r}: give a whole number.")  # noqa: TRY004
    if think is not None:
        above_zero("think", think)
    usual = program._defaults if isinstance(program, Ladder) else USUAL
    left = checked_seconds("within", usual.within if within is None else within)
    own = usual.budget
    budget = budget if budget is not None or own is None else lambda _: own
    guard = usual.breaker
    breaker = breaker if breaker is not None or guard is None else lambda _: guard
    timing: object = usual.schedule if schedule is None else schedule
    if not isinstance(timing, Timing):
        raise Misuse(f"schedule={timing!r} is not a Timing: give one, such as Exponential(...).")
    if budget is not None and not callable(budget):
        raise Misuse(
            f"budget={budget!r}: give a function from the number of a client to a RetryBudget."
        )
    if breaker is not None and not callable(breaker):
        raise Misuse(
            f"breaker={breaker!r}: give a function from the number of a client to a CircuitBreaker."
        )
    if not isinstance(services, Served):
        raise Misuse(
            f"services={services!r}: say what they serve, with service.serves(Kind) or "
            "instantly(interpreter)."
        )
    stops = checked_outages(outages, seconds)

    def simulated() -> Outcome:
        engine = Engine(services, timing, left, think, arrivals, seed, trace)
        return engine.simulated(program, budget, breaker, many, seconds, stops, watch)

    return copy_context().run(simulated)  # time limits and such are those of the clients


def checked_clients(clients: object, arrivals: float | None, think: float | None) -> int:
    """Return how many clients there are from the beginning: none, if they come from outside.

    Raises:
        ValueError: the numbers are wrong, or do not go together.
    """
    if arrivals is None:
        if not isinstance(clients, int) or clients < 1:
            raise ValueError(f"clients={clients!r}: give a number, 1 or more; or arrivals=.")
        return clients
    if clients is not None or think is not None:
        raise ValueError(
            f"arrivals={arrivals!r}: a client that comes runs the program once; leave clients= and "
            "think= out."
        )
    above_zero("arrivals", arrivals)
    return 0


def checked_outages(outages: Iterable[Outage], seconds: float) -> tuple[tuple[float, float], ...]:
    """Return the start and the end of each outage, in order.

    Raises:
        Misuse: one of them is not an `Outage`.
        ValueError: one is not within the simulation, or overlaps another.
    """
    over = 0.0
    stops: list[tuple[float, float]] = []
    given: list[Outage] = [*outages]
    if not all(isinstance(outage, Outage) for outage in given):
        raise Misuse(f"outages={given!r}: give a list of Outage(start, length).")
    for outage in sorted(given):
        end = outage.start + outage.length
        if not 0 <= outage.start < end <= seconds:
            raise ValueError(
                f"{outage!r} is not within the {seconds:g} s of the simulation: give a start and a "
                "length that are."
            )
        if outage.start < over:
            raise ValueError(f"{outage!r} begins before the one before it is over: join the two.")
        over = end
        stops.append((outage.start, end))
    return tuple(stops)
