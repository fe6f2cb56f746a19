"""Services in a simulation: they answer the commands of a fleet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, final

from .._words.commands import Command, Handlers, Interpreter, Misuse
from .events import Events

E_contra = TypeVar("E_contra", contravariant=True)
F = TypeVar("F")
C = TypeVar("C", bound=Command[Any])


class Asker(Protocol):
    """The sender of a request, who is told its result."""

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """Take the result of `request`."""


class Request:
    """A command, while a service has it.

    Attributes:
        command: the command.
        client: the number of the client.
        begun: when it was sent, seconds of virtual time.
        limit: the seconds that it may take; `None`, if nothing limits it.
        over: whether nobody waits any more: it was answered or failed, or its time is over.
    """

    __slots__ = ("_asker", "begun", "client", "command", "limit", "over")

    def __init__(
        self, command: Command[Any], client: int, begun: float, limit: float | None, asker: Asker
    ) -> None:
        self.command = command
        self.client = client
        self.begun = begun
        self.limit = limit
        self.over = False
        self._asker = asker

    def answer(self, value: Any = None) -> None:
        """Answer the client, if it still waits."""
        if not self.over:
            self.over = True
            self._asker.settled(self, value, None)

    def fail(self, failure: Exception) -> None:
        """Tell the client that the request failed, if it still waits."""
        if not self.over:
            self.over = True
            self._asker.settled(self, None, failure)


class Serving(ABC):
    """A service while a simulation runs, with all that changes."""

    @abstractmethod
    def ask(self, request: Request) -> None:
        """Take a request; call its `answer` or `fail` now or later, or never."""

    def abandoned(self, request: Request) -> None:  # noqa: B027
        """Note that the client has given a request up."""

    def stop(self) -> None:
        """Stop: an outage begins."""
        raise Misuse(f"{self.__class__.__name__} cannot stop: choose a service that has outages.")

    def resume(self) -> None:  # noqa: B027
        """Go on, at the end of an outage."""

    def load(self) -> float:
        """The work that it has now, in a unit of its own; for pictures."""
        return 0.0


class Service(ABC):
    """A model of a service, as an immutable value."""

    @abstractmethod
    def begin(self, events: Events) -> Serving:
        """Begin to serve, in one simulation."""

    def serves(self, kind: type[C]) -> Served[C]:
        """Serve this kind of command; the result is for `simulate`, joined with others by `|`."""
        return _served({kind: self})


@final
class Served(Generic[E_contra]):
    """The services of commands, as an `Interpreter` has their handlers; `a | b` has both."""

    __slots__ = ("services",)
    services: dict[type, Service | Callable[[Any], Any]]

    def __init__(self, _sealed: object) -> None:
        raise TypeError("Make it with service.serves(Kind), or instantly(interpreter).")

    def __or__(self, other: Served[F]) -> Served[E_contra | F]:
        if twice := [kind.__name__ for kind in self.services if kind in other.services]:
            raise Misuse(f"{', '.join(twice)}: served twice; leave one of the services out.")
        return _served(self.services | other.services)


def instantly(interpreter: Interpreter[F]) -> Served[F]:
    """Have the handlers of an interpreter answer their commands, in no time."""
    return _served(interpreter._handlers)


UNTYPED: type[Served[Any]] = Served


def _served(services: Handlers) -> Served[Any]:
    """Make a `Served`; it is made here only."""
    made: Served[Any] = object.__new__(UNTYPED)
    made.services = services
    return made
