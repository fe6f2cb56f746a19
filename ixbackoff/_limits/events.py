"""Events: what observers are told, and the run that each of them is of.

They do not change. `of` makes one; they have no constructor, and are not tuples, since either would
cost half as much again where a call makes four.
"""

from __future__ import annotations

from itertools import count
from typing import Any, TypeAlias, final

from .._words.commands import Command
from .._words.reasons import Reason

IDS = count(1)


class Run:
    """One run of a program, a function or a block; it goes on while observers are told of it.

    Attributes:
        name: the name of what runs; by default that of its first function or command.
        id: a number that no other run of this process has; of a durable run its own id, a string.
        tries: how many attempts were begun, from the first event after `Began`.
        wait_count: the number of waits that are over.
        wait_seconds: the seconds of these waits.
    """

    tries: int = 0
    wait_count: int = 0
    wait_seconds: float = 0.0
    reason: Reason = "gave up"
    """Why it ends with a failure: whoever decides that sets it."""

    _id: int | str | None = None
    _made: Command[Any] | None = None

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def id(self) -> int | str:
        return self._id or self.__dict__.setdefault("_id", next(IDS))  # two threads agree on one

    @property
    def _command(self) -> Command[Any]:
        """The command of a function's call, which is made when it is asked for."""
        return self._made or self.__dict__.setdefault("_made", self._make())

    def _make(self) -> Command[Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.name}>"


class Told:
    """An event: a value that is compared and shown by its attributes."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def _values(self) -> list[Any]:
        return [getattr(self, name) for name in self.__match_args__]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Told) or other.__class__ is not self.__class__:
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.__class__, *self._values()))

    def __repr__(self) -> str:
        values = zip(self.__match_args__, self._values(), strict=True)
        said = ", ".join(f"{name}={value!r}" for name, value in values)
        return f"{self.__class__.__name__}({said})"


@final
class Began(Told):
    """A run begins.

    Attributes:
        run: the run.
    """

    __slots__ = ("_run",)
    __match_args__ = ("run",)
    _run: Run

    @classmethod
    def of(cls, run: Run) -> Began:
        event = cls()
        event._run = run
        return event

    @property
    def run(self) -> Run:
        return self._run


@final
class Issued(Told):
    """A command was issued, and its handler is called next.

    Attributes:
        run: the run that issued it.
        command: the command, a value that other runs may issue at the same time.
    """

    __slots__ = ("_command", "_run")
    __match_args__ = ("run", "command")
    _run: Run
    _command: Command[Any] | None

    @classmethod
    def of(cls, run: Run, command: Command[Any] | None) -> Issued:
        event = cls()
        event._run = run
        event._command = command
        return event

    @property
    def run(self) -> Run:
        return self._run

    @property
    def command(self) -> Command[Any]:
        return self._run._command if self._command is None else self._command


@final
class Answered(Told):
    """A command was answered, or it failed.

    Attributes:
        run: the run that issued it.
        issued: the event of its beginning, the same object.
        seconds: how long it took, on the real clock.
        failure: the exception that it failed with, if it did.
    """

    __slots__ = ("_failure", "_issued", "_seconds")
    __match_args__ = ("run", "issued", "seconds", "failure")
    _issued: Issued
    _seconds: float
    _failure: BaseException | None

    @classmethod
    def of(cls, issued: Issued, seconds: float, failure: BaseException | None) -> Answered:
        event = cls()
        event._issued = issued
        event._seconds = seconds
        event._failure = failure
        return event

    @property
    def run(self) -> Run:
        return self._issued.run

    @property
    def issued(self) -> Issued:
        return self._issued

    @property
    def seconds(self) -> float:
        return self._seconds

    @property
    def failure(self) -> BaseException | None:
        return self._failure


@final
class WaitBegan(Told):
    """A wait begins, and nothing can refuse it any more.

    Attributes:
        run: the run that waits.
        seconds: how long the wait is.
        rung: how many waits are left, this one included.
        failure: the failure before it, or `None` where the run waits although it is well.
    """

    __slots__ = ("_failure", "_rung", "_run", "_seconds")
    __match_args__ = ("run", "seconds", "rung", "failure")
    _run: Run
    _seconds: float
    _rung: int
    _failure: Exception | None

    @classmethod
    def of(cls, run: Run, seconds: float, rung: int, failure: Exception | None) -> WaitBegan:
        event = cls()
        event._run = run
        event._seconds = seconds
        event._rung = rung
        event._failure = failure
        return event

    @property
    def run(self) -> Run:
        return self._run

    @property
    def seconds(self) -> float:
        return self._seconds

    @property
    def rung(self) -> int:
        return self._rung

    @property
    def failure(self) -> Exception | None:
        return self._failure


@final
class Ended(Told):
    """A run has ended.

    Attributes:
        run: the run.
        reason: why it ended.
        seconds: how long it took, on the real clock.
        failure: the exception that it ended with, if it did.
    """

    __slots__ = ("_failure", "_reason", "_run", "_seconds")
    __match_args__ = ("run", "reason", "seconds", "failure")
    _run: Run
    _reason: Reason
    _seconds: float
    _failure: BaseException | None

    @classmethod
    def of(cls, run: Run, reason: Reason, seconds: float, failure: BaseException | None) -> Ended:
        event = cls()
        event._run = run
        event._reason = reason
        event._seconds = seconds
        event._failure = failure
        return event

    @property
    def run(self) -> Run:
        return self._run

    @property
    def reason(self) -> Reason:
        return self._reason

    @property
    def seconds(self) -> float:
        return self._seconds

    @property
    def failure(self) -> BaseException | None:
        return self._failure


Event: TypeAlias = Began | Issued | Answered | WaitBegan | Ended
"""All that observers are told; `match` tells the kinds apart."""
