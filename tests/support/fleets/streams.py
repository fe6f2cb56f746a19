"""Clients that perform the stream of commands of a program: what all others are compared with."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import inf
from typing import Any
from unittest.mock import patch

from ixbackoff._limits.deadlines import Limit
from ixbackoff._meaning.runs import ProgramRun
from ixbackoff._meaning.semantics import unrolled
from ixbackoff._running.traces import Performed
from ixbackoff._words.commands import Misuse
from ixbackoff.fleet.environment import Inside
from ixbackoff.fleet.performers import TaskPerformer


class StreamClient(TaskPerformer):
    """It has only the limit without an end: the stream applies the limits of the program."""

    def __init__(self, environment: Any, number: int, program: Any, *given: Any) -> None:
        super().__init__(environment, number)
        self.program = program
        self.how, self.timing, self.done = given

    def begin(self) -> None:
        self._inside = Inside([Limit(0.0, inf, whole=False)])
        run = ProgramRun(self.program, self.timing, self._environment.events.random)
        self._task = unrolled(self.program, self.how, run=run)
        self.begun = self._environment.events.now
        self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        if isinstance(failure, Misuse):
            raise failure
        self.done(self, value, failure)

    def wait(self, wait: Any) -> None:
        if not wait.rung:
            super().wait(wait)
            return
        events = self._environment.events
        start = self.begun if self._environment.from_start else events.now
        self._waits_for = Performed(events.now, wait, None, None, self.number)
        events.at(max(events.now, start + wait.seconds), StreamClient.wake, self)

    def wake(self) -> None:
        if self._environment.trace is not None:
            waited: Any = self._waits_for
            self._environment.trace.append(waited)
        self.begun = self._environment.events.now
        self.resume(None)


@contextmanager
def performed_by(way: str) -> Generator[None]:
    """Let simulations have the clients of this way: `retries`, `programs` or `streams`."""
    recognized = patch("ixbackoff.fleet.simulator.tried", lambda _: None)
    streams = patch("ixbackoff.fleet.simulator.ProgramClient", StreamClient)
    if way == "retries":
        yield
    elif way == "programs":
        with recognized:
            yield
    else:
        with recognized, streams:
            yield


WAYS = ["retries", "programs", "streams"]
