"""The environment of the clients of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from .._running.traces import Performed
from .._words.commands import Command, Handlers, Misuse
from .events import Events
from .outcomes import Tally
from .services import Serving


class Running(Protocol):
    """A client: it runs its program, again and again."""

    number: int

    def begin(self) -> None:
        """Run the program, from its beginning."""

    def close(self) -> None:
        """Close what runs, at the end of the simulation; nobody answers it."""


Done: TypeAlias = Callable[[Any, Any, BaseException | None], None]
"""Called with a client whose program has ended, its value and its failure."""


class Environment:
    """The state that all clients share.

    Attributes:
        events: the clock.
        services: the service of each kind of command.
        handlers: the handlers of kinds that are answered at once.
        tally: the counts.
        from_start: whether a wait is measured from the start of the try before it.
        trace: the trace, if there is one.
    """

    __slots__ = ("events", "from_start", "handlers", "services", "tally", "trace")

    def __init__(
        self,
        events: Events,
        services: dict[type, Serving],
        handlers: Handlers,
        from_start: bool,
        trace: list[Performed] | None,
    ) -> None:
        self.events = events
        self.services = services
        self.handlers = handlers
        self.tally = Tally()
        self.from_start = from_start
        self.trace = trace

    def find(self, kind: type) -> Serving | None:
        """The service of a kind of command; `None`, if a handler answers it at once.

        A kind that has neither takes that of its nearest base.

        Raises:
            Misuse: nothing serves it.
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
                f"An attempt yielded a {kind.__name__}, which is not a command: write `yield from` "
                "with a command or an attempt."
            )
        raise Misuse(
            f"No service serves {kind.__name__}: join one to the services, "
            f"services | service.serves({kind.__name__}), or "
            f"services | instantly({kind.__name__}.handled_by(...))."
        )

    def failed(self, failure: BaseException) -> None:
        """Count a request that has failed."""
        self.tally.failed += 1
        if isinstance(failure, TimeoutError):
            self.tally.late += 1
