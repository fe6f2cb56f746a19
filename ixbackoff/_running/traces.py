"""The trace of a run in virtual time, line by line."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._words.commands import Command


class Performed(NamedTuple):
    """One line of a trace: a command with its answer or failure.

    The lines of a trace are in the order in which the commands ended.

    Attributes:
        at: the virtual time at which the command was issued, in seconds.
        command: the command.
        answer: its answer, or `None` if it failed.
        failure: the exception that it failed with, or `None` if it was answered.
        client: the number of the client that issued it, in a simulation; else `None`.
    """

    at: float
    command: Command[Any]
    answer: Any
    failure: BaseException | None
    client: int | None = None

    def __str__(self) -> str:
        outcome = repr(self.answer) if self.failure is None else f"raised {self.failure!r}"
        client = "" if self.client is None else f"client {self.client}  "
        return f"{self.at:10.3f}  {client}{self.command!r} -> {outcome}"
