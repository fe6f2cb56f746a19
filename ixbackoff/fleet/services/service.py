"""`Service`: the model of a service, which answers the commands of simulated clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, final

from ..._words.commands import Command, Handlers, Interpreter, Misuse
from ..event_queue import Events

E_contra = TypeVar("E_contra", contravariant=True)
F = TypeVar("F")
C = TypeVar("C", bound=Command[Any])


class Sender(Protocol):
    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """Take the result of `request`."""

    def expired(self, request: Request) -> None:
        """Abandon `request`: its time is up."""


class Request:
    """A command that a client has sent to a service.

    Clients set its attributes: a constructor would take longer, and there are many requests.

    Attributes:
        command: the command.
        client: the number of the client.
        begun: the time at which the client sent it, seconds of virtual time.
        limit: the seconds until the client abandons it; `None` for no limit.
        over: whether the request was answered, has failed or was abandoned.
    """

    __slots__ = ("_sender", "begun", "client", "command", "limit", "over")
    command: Command[Any]
    client: int
    begun: float
    limit: float | None
    over: bool
    _sender: Sender

    def answer(self, value: Any = None) -> None:
        """Answer the request; do nothing if it is over."""
        if not self.over:
            self.over = True
            self._sender.settled(self, value, None)

    def fail(self, failure: Exception) -> None:
        """Let the request fail with `failure`; do nothing if it is over."""
        if not self.over:
            self.over = True
            self._sender.settled(self, None, failure)

    def expire(self) -> None:
        """Let the client abandon the request; do nothing if it is over."""
        if not self.over:
            self._sender.expired(self)


class Serving(ABC):
    """The state of a service during one simulation."""

    @abstractmethod
    def ask(self, request: Request) -> None:
        """Take a request, and call `request.answer` or `request.fail`: now, later or never."""

    def abandoned(self, request: Request) -> None:  # noqa: B027
        """React to the abandonment of `request` by its client."""

    def set_speed(self, speed: float) -> None:  # noqa: ARG002
        """Work at this share of the full speed from now on: 0 begins an outage, and 1 ends it.

        Raises:
            Misuse: always, in this class; services that can have outages override this method.
        """
        raise Misuse(f"{self.__class__.__name__} cannot stop: choose a service that has outages.")

    def load(self) -> float:
        """Return the load, for tables and pictures, in a unit of the service, such as requests."""
        return 0.0


def check_whole(serving: Serving, speed: float) -> None:
    """Raise Misuse if `serving`, which can only stop, is asked to slow down."""
    if 0 < speed < 1:
        raise Misuse(
            f"{serving.__class__.__name__.lstrip('_')} has outages, but cannot lose a part of its "
            "capacity: leave out lost=, or choose BoundedQueue or ProcessorSharing."
        )


class Forwarding(Serving):
    """The state of a service that forwards everything to the service `behind` it."""

    def __init__(self, behind: Serving) -> None:
        self.behind = behind

    def ask(self, request: Request) -> None:
        self.behind.ask(request)

    def abandoned(self, request: Request) -> None:
        self.behind.abandoned(request)

    def set_speed(self, speed: float) -> None:
        self.behind.set_speed(speed)

    def load(self) -> float:
        return self.behind.load()


class Service(ABC):
    """The model of a service, which many simulations can share. Derive your own from it.

    >>> from ixbackoff import N0, Download, at
    >>> from ixbackoff.fleet import Events, Request, Serving, simulate
    >>> class Slow(Service):
    ...     def begin(self, events: Events) -> Serving:
    ...         return ServingSlowly(events)
    >>> class ServingSlowly(Serving):
    ...     def __init__(self, events: Events) -> None:
    ...         self.events = events
    ...     def ask(self, request: Request) -> None:
    ...         self.events.after(2.0, Request.answer, request)
    >>> page = at(N0).do(Download("http://localhost:8070/page", "page.html"))
    >>> simulate(page, Slow().serves(Download), clients=1, seconds=9).ended
    2.0
    """

    @abstractmethod
    def begin(self, events: Events) -> Serving:
        """Return a new state of the service, for one simulation."""

    def serves(self, kind: type[C]) -> Served[C]:
        """Let this service answer commands of `kind`; join the results with `a | b`."""
        return _served({kind: self})


@final
class Served(Generic[E_contra]):
    """The services of a simulation by kinds of commands; `a | b` has all of `a` and all of `b`."""

    __slots__ = ("services",)
    services: dict[type, Service | Callable[[Any], Any]]

    def __init__(self, _sealed: object) -> None:
        raise TypeError("Served has no constructor: use service.serves(Kind) or instantly(...).")

    def __or__(self, other: Served[F]) -> Served[E_contra | F]:
        if twice := [kind.__name__ for kind in self.services if kind in other.services]:
            raise Misuse(f"Two services serve {', '.join(twice)}: leave one of them out.")
        return _served(self.services | other.services)


def instantly(interpreter: Interpreter[F]) -> Served[F]:
    """Let the handlers of an interpreter answer their commands immediately.

    >>> from ixbackoff import Log
    >>> instantly(Log.handled_by(print)).services
    {<class 'ixbackoff.Log'>: <built-in function print>}
    """
    return _served(interpreter._handlers)


UNTYPED: type[Served[Any]] = Served


def _served(services: Handlers) -> Served[Any]:
    made: Served[Any] = object.__new__(UNTYPED)
    made.services = services
    return made
