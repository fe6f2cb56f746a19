"""The journal of a durable run: the entries of its commands, by place; it knows no engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from .._meaning.replay import Diverged
from .._words.reasons import Reason
from .digests import Told

__tracebackhide__ = True

A = TypeVar("A")

Entry: TypeAlias = dict[str, Any]
"""What is kept of one command, as JSON.

- `at`: its place.
- `c`: what is told of it, see `Told`.
- `t`: the times that deadlines were told since the command before.
- `r`: how many waits the budget has refused since then, if any.
- `a`, `f` or `x`: the answer; the failure; or that it was aborted, since an effect beside it had
  failed.
- `seconds`, `due`, `parks`, `boot`, `boot_due`: how long a wait is, when it is over, whether it is
  parked, and when it is over on the clock that counts since this start of the machine.
"""


Make: TypeAlias = Callable[[], Entry]
MakeAsync: TypeAlias = Callable[[], Coroutine[Any, Any, Entry]]


class CurrentCommand(NamedTuple):
    """The command that a handler answers in a durable run.

    Attributes:
        idempotency_key: the same at each try and in each process; for an Idempotency-Key.
        repeated: true if it may have been performed before, by a process that then died.
    """

    idempotency_key: str
    repeated: bool


CURRENT: ContextVar[CurrentCommand | None] = ContextVar("ixbackoff_current_command", default=None)


def current_command() -> CurrentCommand | None:
    """Return which command of which durable run is being answered: for its handler.

    `None` means that the run is not durable.

    >>> from ixbackoff.durable import current_command
    >>> print(current_command())
    None
    """
    return CURRENT.get()


class Left(BaseException):
    """This process no longer has the run: it performs nothing more of it, not even cleaning up.

    Attributes:
        reason: what observers are told.
    """

    reason: Reason = "cancelled"


class Lost(Left):
    """Another process has the run, or it was paused, or the engine ends or has failed."""


class Parked(Left):
    """The run waits for long, so nobody holds it meanwhile.

    Args:
        seconds: the rest of the wait.
    """

    reason: Reason = "parked"

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left now: it may take a while until somebody asks."""
        return max(self._until - time.monotonic(), 0.0)


class Cancelled(BaseException):
    """The run was cancelled: its `finally` blocks run, and nothing is recorded any more."""


class Journal(Protocol):
    """Keeps the entries of one run.

    Attributes:
        run: the id of the run.
        resumed: true if a process began the run before this one.
        began: when the run began, in seconds since the epoch.
    """

    run: str
    resumed: bool
    began: float

    @property
    def closing(self) -> bool:
        """True once this process is to perform nothing more."""
        raise NotImplementedError

    def known(self, place: str) -> Entry | None:
        """Return the entry at a place, if there is one."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the seconds since the epoch, on a clock that all processes share."""
        raise NotImplementedError

    def parks(self, seconds: float) -> bool:
        """Return whether nobody holds a run that waits so long."""
        raise NotImplementedError

    @property
    def crowded(self) -> bool:
        """True while other runs wait for a thread."""
        raise NotImplementedError

    async def in_thread(self, function: Callable[[], A]) -> A:
        """Call a function in a thread, and return its value; its context is that of the caller."""
        raise NotImplementedError

    def keep(self, place: str, kind: str, make: Make) -> Entry:
        """Make an entry and keep it, both in this thread; return what was kept.

        Raises:
            Lost: it is not known whether it was kept.
            Cancelled: the run was.
        """
        raise NotImplementedError

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:
        """As `keep`, on the event loop."""
        raise NotImplementedError

    async def wait(self, place: str, entry: Entry) -> None:
        """Wait until a wait is due.

        Raises:
            Parked: it is waited for elsewhere.
            Lost: this process no longer has the run.
            Cancelled: the run was.
        """
        raise NotImplementedError


class Line:
    """One line of commands of a run: those of its program, or of an effect in `all_of`.

    Args:
        journal: the journal of the run.
        path: the beginning of the places of its commands.
        again: true if the next command may have been performed before.

    Attributes:
        told: what the journal holds of the present command.
        times: the times that were told since the command before.
        refused: how many waits the budget has refused since then.
        aborting: true if an effect beside it has failed, and it is not told yet.
        aborted: true if it was told.
    """

    def __init__(self, journal: Journal, path: str = "", again: bool = False) -> None:
        self.journal = journal
        self.path = path
        self.again = again
        self.index = 0
        self.told = Told("", "", "")
        self.times: list[float] = []
        self.refused = 0
        self.aborting = False
        self.aborted = False

    @property
    def place(self) -> str:
        """The place of the present command."""
        return f"{self.path}{self.index}"

    def next(self) -> None:
        """Go on to the next command."""
        self.index += 1
        self.times = []
        self.refused = 0

    def clock(self) -> float:
        """Tell a deadline the time: that which it was told before, if it was."""
        entry = self.journal.known(self.place)
        known: list[float] = [] if entry is None else entry["t"]
        number = len(self.times)
        if number < len(known):
            now = known[number]
        elif self.place == "0" and not number:
            now = self.journal.began
        else:
            now = self.journal.now()
        self.times.append(now)
        return now

    def first_again(self) -> bool:
        """Return whether the present command may have been performed before; no later one was."""
        again, self.again = self.again, False
        return again

    def entry(self, **outcome: Any) -> Entry:
        """Make the entry of the present command."""
        refused = {"r": self.refused} if self.refused else {}
        return {"at": self.place, "c": [*self.told], "t": self.times, **refused, **outcome}

    def diverged(self, entry: Entry) -> Diverged | None:
        """Return the error of a program that issues another command than it had issued here."""
        theirs = Told(*entry["c"])
        if theirs[:2] == self.told[:2]:
            return None
        return Diverged(
            f"Run {self.journal.run} went on at another command: at {self.place} it issued "
            f"{self.told.shown} where it had issued {theirs.shown}; ask for time, chance and "
            "outside state by commands. If the program was changed, resume the run with the code "
            "that began it."
        )


def after(place: str) -> str:
    """Return the place of the end of a wait."""
    return f"{place}w"
