"""The events that observers are called with, and the run that each of them belongs to."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

from .._words.commands import Command
from .._words.end_reasons import Reason
from .._words.equality_by_fields import Value
from .._words.judging import Inner, inner

IDS = count(1)


class Run:
    """One run of a program, a function or a block; its attributes change until it ends.

    Attributes:
        name: the given name. Without one: the name of the function; for a program, of its first
            function or command; for a block, of the function around it.
        id: a number that is unique in this process; a durable run has its own id, a string.
        tries: the number of tries that have begun; at `Began` the first may be counted already.
        wait_count: the number of waits that are over.
        wait_seconds: the seconds of these waits.
    """

    tries: int = 0
    wait_count: int = 0
    wait_seconds: float = 0.0
    reason: Reason = "gave up"
    """The reason why the run ends with a failure, set where that is decided."""

    _id: int | str | None = None

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def id(self) -> int | str:
        # `setdefault` is atomic: two threads get one id
        return self._id or self.__dict__.setdefault("_id", next(IDS))

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.name}>"


@final
class Began(Value):
    """The beginning of `run`."""

    __slots__ = __match_args__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run: Final = run


@final
class Issued(Value):
    """The beginning of a command: its handler is called next, unless a circuit breaker refuses it.

    Attributes:
        run: the run that issued it.
        command: the command, a value that other runs may issue concurrently.
    """

    __slots__ = __match_args__ = ("run", "command")
    command: Command[Any]

    def __init__(self, run: Run, command: Command[Any] | None = None) -> None:
        self.run: Final = run
        if command is not None:
            self.command = command

    if not TYPE_CHECKING:  # or a checker would let any attribute pass

        def __getattr__(self, name: str) -> object:
            """Make the command of a decorated function at the first read: making it takes time."""
            if name != "command":
                raise AttributeError(name)
            self.command = self.run._command
            return self.command


@final
class Answered(Value):
    """The end of a command: its answer, or its failure.

    Attributes:
        run: the run that issued it.
        issued: the very `Issued` object that reported its beginning.
        seconds: the seconds that it took, on the real clock.
        failure: the exception that it failed with, if it did.
    """

    __slots__ = __match_args__ = ("run", "issued", "seconds", "failure")

    def __init__(self, issued: Issued, seconds: float, failure: BaseException | None) -> None:
        self.run: Final = issued.run
        self.issued: Final = issued
        self.seconds: Final = seconds
        self.failure: Final = failure

    @property
    def inner(self) -> list[Inner]:
        """The retries of other libraries inside of this try."""
        return [] if self.failure is None else inner(self.failure)


@final
class WaitBegan(Value):
    """The beginning of a wait that no limit has refused.

    Attributes:
        seconds: the seconds of the wait.
        rung: the waits left, including this one; at `FOREVER`, 20 down to 1, and then always 1. A
            wait in line at a gate has the rung 0.
        failure: the failure before it, or `None` for a wait after a success.
    """

    __slots__ = __match_args__ = ("run", "seconds", "rung", "failure")

    def __init__(self, run: Run, seconds: float, rung: int, failure: Exception | None) -> None:
        self.run: Final = run
        self.seconds: Final = seconds
        self.rung: Final = rung
        self.failure: Final = failure


@final
class Ended(Value):
    """The end of a run.

    Attributes:
        reason: why it ended.
        seconds: the seconds that it took, on the real clock.
        failure: the exception that it ended with, if it did.
    """

    __slots__ = __match_args__ = ("run", "reason", "seconds", "failure")

    def __init__(
        self, run: Run, reason: Reason, seconds: float, failure: BaseException | None
    ) -> None:
        self.run: Final = run
        self.reason: Final = reason
        self.seconds: Final = seconds
        self.failure: Final = failure


@final
class Hedged(Value):
    """The end of a try that had a second copy.

    Attributes:
        after: the seconds after which the copy began.
        won: whether the copy was answered first.
    """

    __slots__ = __match_args__ = ("run", "after", "won")

    def __init__(self, run: Run, after: float, won: bool) -> None:
        self.run: Final = run
        self.after: Final = after
        self.won: Final = won


BreakerState: TypeAlias = Literal["open", "closed"]


@final
class BreakerChanged(Value):
    """The opening, reopening after a probe, or closing of a circuit breaker; this event has no run.

    Attributes:
        name: the name of the circuit breaker; "" if it has none.
        state: `"open"` or `"closed"`.
    """

    __slots__ = __match_args__ = ("name", "state")

    def __init__(self, name: str, state: BreakerState) -> None:
        self.name: Final = name
        self.state: Final = state


Event: TypeAlias = Began | Issued | Answered | WaitBegan | Hedged | Ended | BreakerChanged
"""The kinds of events that observers are called with, for `match`."""
