"""`Client`: performs the stream of a program, or of one of several concurrent effects."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .._limits.deadlines import LEFT, Limit
from .._meaning.chains import Chain
from .._meaning.machine import Task
from .._running.together import Aborted, Rules
from .._running.traces import Performed
from .._words.commands import Command, Misuse, Stream
from .._words.vocabulary import Together
from .environment import Done, Environment
from .performers import Branches, Inside, TaskPerformer
from .services.service import Request, Serving

IN_STREAM = Inside([Limit(0.0, inf, whole=True)])
"""The state of all clients with a stream: a stream applies its limits itself."""


class Client(TaskPerformer):
    def __init__(
        self, environment: Environment, number: int, make: Callable[[], Stream], done: Done
    ) -> None:
        super().__init__(environment, number, IN_STREAM)
        self._make = make
        self._done = done

    def begin(self) -> None:
        self._task = self._make()
        self.begun = self._environment.events.now
        self.resume(None)

    def end(self, failure: BaseException) -> None:
        """Let the current command fail with `failure`."""
        waits_for = self._waits_for
        if self._task is None:  # the client has not begun
            self._done(self, None, failure)
        elif isinstance(waits_for, Join):
            waits_for.end(failure)
        elif isinstance(waits_for, Performed):  # it stands in line
            self._waits_for = None
            self.resume(None, failure)
        elif isinstance(waits_for, Request) and not waits_for.over:
            self.abandon(waits_for)
            self.arrived(waits_for.command, waits_for.begun, None, failure)
        else:  # the command is just being issued
            self._arrived = None, failure

    def ended(self, value: Any, failure: BaseException | None) -> None:
        if isinstance(failure, Misuse):
            raise failure
        self._waits_for = None
        self._done(self, value, failure)

    def branches(self, command: Together) -> Branches:
        return Join(self, self._environment, command)

    def entered(self, attempt: Chain) -> Task:
        raise NotImplementedError  # a stream yields commands only

    def ask_in_time(self, command: Command[Any], serving: Serving) -> None:
        left = LEFT.get()
        if left is None:
            self._ask(command, serving, None)
        else:
            super().ask_in_time(command, serving)

    def seconds_left(self, command: Command[Any]) -> float | None:  # noqa: ARG002
        left = LEFT.get()
        if left is None:
            return None
        LEFT.set(None)  # for this command only
        return left.seconds

    def wait(self, wait: Any) -> None:
        if not wait.rung:
            super().wait(wait)
            return
        environment = self._environment
        now = environment.events.now
        start = self.begun if environment.from_start else now
        traced = environment.trace is not None
        self._waits_for = Performed(now, wait, None, None, self.number) if traced else None
        environment.events.at(max(now, start + wait.seconds), Client._wake, self)

    def _wake(self) -> None:
        trace, waited = self._environment.trace, self._waits_for
        if trace is not None and isinstance(waited, Performed):
            trace.append(waited)
        self.begun = self._environment.events.now
        self.resume(None)


class Join(Branches):
    """Concurrent effects: each is a branch, a `Client` with the number of the waiting client.

    Once `Rules.over` is true, branches that still run are ended: their `finally` blocks run. The
    waiting client resumes when all branches have ended.
    """

    def __init__(self, client: TaskPerformer, environment: Environment, command: Together) -> None:
        self._client = client
        self._environment = environment
        self._command = command
        self._begun = environment.events.now
        self._rules = Rules(command)
        self._failure: BaseException | None = None
        self._left = 1  # `begin` counts too: no branch ends before all have begun
        self._running: dict[Client, int] = {}

    def begin(self) -> None:
        for index, after in enumerate(self._rules.starts):
            if after:
                self._environment.events.after(after, self._start, index)
            elif not self._rules.over:
                self._start(index)
        self._one_less()

    def _start(self, index: int) -> None:
        environment = self._environment
        stream = None if self._rules.over else self._rules.begin(index, environment.events.now)
        if stream is not None:
            branch = Client(environment, self._client.number, stream.__iter__, self._ended)
            self._running[branch] = index
            self._left += 1
            branch.begin()

    def end(self, failure: BaseException) -> None:
        """End all branches, and let the command fail with `failure`."""
        if self._failure is None:
            self._failure, self._rules.over = failure, True
            self._end_others()

    def _end_others(self) -> None:
        for branch in [*self._running]:
            if branch in self._running:
                branch.end(Aborted())

    def close(self) -> None:
        self._rules.over = True
        for branch in self._running:
            branch.close()

    def _ended(self, branch: Client, answer: Any, failure: BaseException | None) -> None:
        index, over = self._running.pop(branch), self._rules.over
        if self._rules.end(index, answer, failure, self._environment.events.now) and not over:
            self._end_others()
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if not self._left:
            answers, failure = self._rules.result()
            failure, self._failure = self._failure or failure, None
            try:
                self._client.arrived(self._command, self._begun, answers, failure)
            finally:
                failure = None  # break the cycle of exception, traceback and this frame
