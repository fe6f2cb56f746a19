"""What all clients of a simulation share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from .._words.commands import Command, Handlers, Misuse
from .events import Events
from .outcomes import Tally
from .services import Request, Serving
from .traces import Happened


class Running(Protocol):
    """What runs a program for one client."""

    number: int

    def begin(self) -> None:
        """Run the program, from its beginning."""

    def close(self) -> None:
        """Time is over: what runs is closed, and nobody answers it."""


Done: TypeAlias = Callable[[Any, Any, BaseException | None], None]
"""Called with a client whose program has ended, its value and its failure."""


class Environment:
    """What all clients share.

    Attributes:
        events: the clock.
        services: who serves which kind of command, as time goes on.
        handlers: who answers which kind at once.
        tally: what is counted.
        from_start: whether a wait is measured from the start of the try before it.
        trace: what happened, if anyone wants to know.
    """

    __slots__ = ("events", "from_start", "handlers", "services", "tally", "trace")

    def __init__(
        self,
        events: Events,
        services: dict[type, Serving],
        handlers: Handlers,
        from_start: bool,
        trace: list[Happened] | None,
    ) -> None:
        self.events = events
        self.services = services
        self.handlers = handlers
        self.tally = Tally()
        self.from_start = from_start
        self.trace = trace

    def find(self, kind: type) -> Serving | None:
        """The service of a kind of command; `None`, if a handler answers it at once.

        A kind that has neither has that of the nearest of its bases.

        Raises:
            Misuse: there is none.
        """
        for base in kind.__mro__:
            if base in self.services:
                self.services[kind] = self.services[base]
                return self.services[kind]
            if base in self.handlers:
                self.handlers[kind] = self.handlers[base]
                return None
        if not issubclass(kind, Command):
            raise Misuse(
                f"An attempt yielded a {kind.__name__}, which is no command: write `yield from` "
                "with a command or an attempt."
            )
        raise Misuse(
            f"No service serves {kind.__name__}: join one to the services, "
            f"services | service.serves({kind.__name__}), or "
            f"services | instantly({kind.__name__}.handled_by(...))."
        )

    def settled(self, request: Request, failure: Exception | None) -> None:
        """A request has ended."""
        tally = self.tally
        if failure is None:
            tally.answered += 1
            tally.latency += self.events.now - request.begun
        else:
            tally.failed += 1
            if isinstance(failure, TimeoutError):
                tally.late += 1
