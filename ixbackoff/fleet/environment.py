"""The environment of simulated clients: the clock, the services, the handlers and the counts."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, TypeAlias

from .._limits.budgets import RetryBudget
from .._limits.rate_limiter import Turns
from .._meaning.chains import Ladder, not_ended
from .._running.traces import Performed
from .._words.commands import Command, Handlers, Interpreter, Misuse
from .._words.standard_commands import Log, Now, Pick, Reserve, Throw, throw
from .event_queue import Events
from .services.service import Serving
from .simulation_outcome import Tally

Done: TypeAlias = Callable[[Any, Any, BaseException | None], None]
"""A function that is called at the end of a run: with the client, the value and the failure."""


class Environment:
    """The state that all clients share."""

    def __init__(
        self,
        events: Events,
        services: dict[type, Serving],
        handlers: Handlers,  # the handlers of the kinds that are answered immediately
        from_start: bool,  # whether a wait is measured from the start of the try before it
        trace: list[Performed] | None,
    ) -> None:
        self.events = events
        self.services = services
        self.handlers = handlers
        self.tally = Tally()
        self.from_start = from_start
        self.trace = trace
        self.immediate = handlers if trace is None else {}  # the kinds that need no record
        self.thread = get_ident()

    def find(self, kind: type) -> Serving | None:
        """Return the service of `kind` or its nearest base class; `None` if a handler answers it.

        Raises:
            Misuse: there is neither a service nor a handler, or `kind` is not a command.
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


def standard(events: Events) -> Handlers:
    random = events.random

    def picked(command: Pick) -> int:
        """Return what `random.randrange(count)` returns, but faster: each `first_of` calls this."""
        count = command.count
        if count < 1:
            return random.randrange(count)  # raises ValueError
        number = count
        while number >= count:
            number = random.getrandbits(count.bit_length())
        return number

    known: Interpreter[Any] = (
        Log.handled_by(lambda _: None)
        | Now.handled_by(lambda _: events.now)
        | Pick.handled_by(picked)
        | Reserve.handled_by(Turns(lambda: events.now))
    )
    return {**known._handlers, Throw: throw}


def checked_program(program: Any) -> Ladder:
    if not isinstance(program, Ladder):
        raise Misuse(
            f"{program!r} is not a program: give at(...)..., or a function that returns a program."
        )
    if program.ends_at:
        raise not_ended(program.ends_at)
    return program


def checked_budget(budget: object) -> RetryBudget:
    if not isinstance(budget, RetryBudget):
        raise Misuse(f"budget= returned {budget!r}: give a function that returns a RetryBudget.")
    return budget
