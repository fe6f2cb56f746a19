"""Services in a simulation: what a fleet's commands are asked of."""

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
    """Who asks, and is told what came of it."""

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """`request` is over."""


class Request:
    """One command, while a service has it.

    Attributes:
        command: what is asked.
        client: the number of who asks.
        begun: when it was asked, seconds of virtual time.
        limit: how many seconds it may take; `None`, if nothing limits it.
        over: whether nobody waits for its answer any more: it has one, or the time is over.
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
        """The client gets its answer, if it still waits for it."""
        if not self.over:
            self.over = True
            self._asker.settled(self, value, None)

    def fail(self, failure: Exception) -> None:
        """The client gets a failure, if it still waits."""
        if not self.over:
            self.over = True
            self._asker.settled(self, None, failure)


class Serving(ABC):
    """A service while a simulation runs: it has what changes."""

    @abstractmethod
    def ask(self, request: Request) -> None:
        """A client asks: sooner or later `request.answer(...)` or `request.fail(...)`, or never."""

    def abandoned(self, request: Request) -> None:  # noqa: B027
        """The client has given this request up."""

    def stop(self) -> None:
        """The service stops: an outage begins."""
        raise Misuse(f"{self.__class__.__name__} cannot stop: choose a service that has outages.")

    def resume(self) -> None:  # noqa: B027
        """The service goes on where it stopped."""

    def load(self) -> float:
        """How much it has to do now: for pictures."""
        return 0.0


class Service(ABC):
    """A model of a service, as an immutable value."""

    @abstractmethod
    def begin(self, events: Events) -> Serving:
        """It begins to serve in one simulation."""

    def serves(self, kind: type[C]) -> Served[C]:
        """That it serves this kind of command: joined by `|` with others, for `simulate`."""
        return _served({kind: self})


@final
class Served(Generic[E_contra]):
    """Which service serves which command, as an `Interpreter` says who answers; `a | b` is both."""

    __slots__ = ("services",)
    services: dict[type, Service | Callable[[Any], Any]]

    def __init__(self, _sealed: object) -> None:
        raise TypeError("Make it with service.serves(Kind), or instantly(interpreter).")

    def __or__(self, other: Served[F]) -> Served[E_contra | F]:
        if twice := [kind.__name__ for kind in self.services if kind in other.services]:
            raise Misuse(f"{', '.join(twice)}: served twice; leave one of the services out.")
        return _served(self.services | other.services)


def instantly(interpreter: Interpreter[F]) -> Served[F]:
    """These commands are answered at once, by handlers, in no time."""
    return _served(interpreter._handlers)


UNTYPED: type[Served[Any]] = Served


def _served(services: Handlers) -> Served[Any]:
    """The one place where they are made."""
    made: Served[Any] = object.__new__(UNTYPED)
    made.services = services
    return made
