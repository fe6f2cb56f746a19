"""The trace of a simulation, line by line."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._words.commands import Command


class Happened(NamedTuple):
    """A line of a trace: as `ixbackoff.testing.Performed`, with the number of the client.

    Lines come in the order in which the commands ended.

    Attributes:
        at: when the command was issued, seconds of virtual time.
        client: the number of the client.
        command: the command.
        answer: its answer; `None`, if it failed.
        failure: its failure; `None`, if it was answered.
    """

    at: float
    client: int
    command: Command[Any]
    answer: Any
    failure: BaseException | None
