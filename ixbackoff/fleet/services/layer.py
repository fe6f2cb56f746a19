"""Services in front of another one: `Layer` runs a program, `Metered` counts requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from ..._limits.breakers import CircuitBreaker, checked_breaker
from ..._limits.budgets import RetryBudget
from ..._meaning.chains import Ladder
from ..._meaning.run_defaults import Defaults
from ..._words.commands import Command
from ..._words.rungs import Nat, Z
from ..._writing.programs import Program
from ...schedules.base import Timing
from ...schedules.kinds import powers_of_two
from ..environment import Environment, checked_budget, checked_program, standard
from ..event_queue import Events
from ..task_performers import StreamClient, streams
from .service import Forwarding, Request, Service, Serving

A = TypeVar("A")
E = TypeVar("E")
I = TypeVar("I", bound=Nat)  # noqa: E741


class Layer(Service):
    """An intermediate server: for each request it runs a program against the service below it.

    The layer's answer or failure is that of the program. The program continues if the client
    abandons its request. An outage stops the service below, not the layer.

    >>> from ixbackoff import N2, Command, at
    >>> from ixbackoff.fleet import BoundedQueue, simulate
    >>> class Ask(Command[None]):
    ...     __slots__ = ()
    >>> full = Metered(BoundedQueue(length=0, work=100))
    >>> layers = Layer(at(N2).retry(Ask()), Layer(at(N2).retry(Ask()), full))
    >>> outcome = simulate(at(N2).retry(Ask()), layers.serves(Ask), clients=2, seconds=90)
    >>> full.asked.total()  # 1 occupies the only worker; 3 * 3 * 3 are rejected
    28

    Args:
        program: the program, whose own schedule, `within`, gates, budget and breaker are ignored.
        below: the service of its commands, apart from those that need no service (see `simulate`).
        schedule: the schedule of the program.
        budget: makes the budget that all runs of the program share.
        breaker: makes the circuit breaker that all runs of the program share.

    Raises:
        Misuse: the program cannot run.
    """

    def __init__(
        self,
        program: Program[I, Z, A, E],
        below: Service,
        *,
        schedule: Timing = powers_of_two,
        budget: Callable[[], RetryBudget] | None = None,
        breaker: Callable[[], CircuitBreaker] | None = None,
    ) -> None:
        self.program: Ladder = checked_program(program)
        self.below = below
        self.schedule = schedule
        self.budget = budget
        self.breaker = breaker

    def begin(self, events: Events) -> Serving:
        return _Layer(self, events)


class _Layer(Forwarding):
    def __init__(self, model: Layer, events: Events) -> None:
        super().__init__(model.below.begin(events))
        budget = None if model.budget is None else checked_budget(model.budget())
        breaker = None if model.breaker is None else checked_breaker("breaker", model.breaker())
        how = Defaults(budget=budget, breaker=breaker)
        self.make = streams(model.program, how, model.schedule, events.random)
        self.environment = Environment(
            events, {Command: self.behind}, standard(events), model.schedule.from_start, None
        )

    def ask(self, request: Request) -> None:
        def done(_: Any, answer: Any, failure: BaseException | None) -> None:
            if isinstance(failure, Exception):
                request.fail(failure)
            else:
                request.answer(answer)

        StreamClient(self.environment, request.client, self.make, done).begin()

    def abandoned(self, request: Request) -> None:
        """Do nothing: the program continues."""


class Metered(Service):
    """The given service, with a count of its requests in each second.

    Attributes:
        asked: the number of requests in each second, over all simulations in this process.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.asked: Counter[int] = Counter()

    def begin(self, events: Events) -> Serving:
        return _Metered(self, events)


class _Metered(Forwarding):
    def __init__(self, model: Metered, events: Events) -> None:
        super().__init__(model.service.begin(events))
        self.asked = model.asked
        self.events = events

    def ask(self, request: Request) -> None:
        self.asked[int(self.events.now)] += 1
        self.behind.ask(request)
