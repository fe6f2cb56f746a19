"""Performers of tasks, whose commands are answered as virtual time goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .._limits.deadlines import LEFT, Expired, Left, Limit
from .._meaning.chains import Chain
from .._meaning.machine import Enter, Perform, Task, close
from .._meaning.runs import InAttempt
from .._running.together import Aborted
from .._running.traces import Performed
from .._words.commands import Command, Misuse, stopped
from .._words.vocabulary import CLOCK, Delay, Together
from .environments import Environment
from .services import Request, Serving

ASKING: Any = object()
"""A result that has not come yet, and may come at once."""


class Inside(InAttempt):
    """The inside of the attempts of a client.

    Attributes:
        callers: the tasks that wait for what comes of another one.
    """

    __slots__ = ("callers",)

    def __init__(self, limits: list[Limit]) -> None:
        super().__init__(limits)
        self.callers: list[Task] = []


NOT_YET = Inside([])
"""In place of the inside of a client that needs none of its own."""


class Branches(ABC):
    """Effects at the same time."""

    __slots__ = ()

    @abstractmethod
    def begin(self) -> None:
        """Begin all of them."""

    @abstractmethod
    def close(self) -> None:
        """Close all of them."""


class Performer(ABC):
    """A client, or a part of one: it performs a task and those that it enters, as the machine does.

    Attributes:
        number: the number of the client.
        begun: when the present try began, or the one before the present wait.
    """

    __slots__ = (
        "_came",
        "_environment",
        "_inside",
        "_task",
        "_waits_for",
        "begun",
        "number",
    )

    def __init__(self, environment: Environment, number: int, inside: Inside = NOT_YET) -> None:
        self._environment = environment
        self._task: Task | None = None
        self._inside = inside
        self._came: Any = None  # ASKING, or an answer and a failure that came at once
        self._waits_for: Request | Branches | Performed | None = None
        self.begun = 0.0
        self.number = number

    @abstractmethod
    def seconds_left(self, command: Command[Any]) -> float | None:
        """The seconds that a command may take which is issued now, if anything limits it.

        Raises:
            Expired: there are none.
        """

    @abstractmethod
    def branches(self, command: Together) -> Branches:
        """The effects that are to be performed at the same time."""

    @abstractmethod
    def entered(self, attempt: Chain) -> Task:
        """The task of an attempt that another one asks for."""

    @abstractmethod
    def ended(self, value: Any, failure: BaseException | None) -> None:
        """Take the outcome of the task."""

    def wait(self, wait: Any) -> None:  # noqa: ARG002
        """Begin a wait, which is a command of programs only."""
        raise Misuse("An attempt cannot wait: raise NotReady instead.")

    def as_told(
        self,
        command: Command[Any],  # noqa: ARG002
        begun: float,  # noqa: ARG002
        failure: BaseException,
    ) -> BaseException:
        """The failure of a command that may have had a limit, as the task is told of it."""
        return failure

    def told(
        self, command: Command[Any], begun: float, value: Any, failure: BaseException | None
    ) -> BaseException | None:
        """Add a command that has ended to the trace; its failure as the task is told of it."""
        trace = self._environment.trace
        if trace is not None and not (
            command is CLOCK
            or isinstance(command, Together)
            or isinstance(failure, Expired)  # there was no time to issue it
        ):
            trace.append(Performed(begun, command, value, failure, self.number))
        if failure is not None and self._inside.limits:
            return self.as_told(command, begun, failure)
        return stopped(failure) if isinstance(failure, StopIteration) else failure

    def close(self) -> None:
        """Close what runs; nobody answers it."""
        task, waits_for = self._task, self._waits_for
        self._task = self._waits_for = None
        if isinstance(waits_for, Branches):
            waits_for.close()
        if task is not None:
            close(task, self._inside.callers)

    def go_on(self, value: Any, failure: BaseException | None = None) -> None:
        """Go on with an answer or a failure, until the next command that takes time."""
        environment, task = self._environment, self._task
        try:
            while task is not None:
                try:
                    command: Any = task.send(value) if failure is None else task.throw(failure)
                except StopIteration as end:
                    value, failure = end.value, None
                    if value.__class__ is Enter:
                        task, value = value.task, None
                    else:
                        callers = self._inside.callers
                        task = callers.pop() if callers else None
                    self._task = task
                except (Exception, Expired, Aborted) as error:
                    value, failure = None, error
                    callers = self._inside.callers
                    task = self._task = callers.pop() if callers else None
                else:
                    kind = command.__class__
                    serving = environment.services.get(kind)
                    if serving is None:
                        if command is CLOCK:
                            value, failure = environment.events.now, None
                            continue
                        if kind is Enter or kind is Perform:
                            inner = command.task if kind is Enter else self.entered(command.chain)
                            self._inside.callers.append(task)
                            task, value, failure = inner, None, None
                            self._task = task
                            continue
                        if kind is Delay:
                            self.wait(command)
                            return
                        self._came = ASKING
                        self._perform(command)
                    elif self._inside.limits:
                        self._came = ASKING
                        self.ask_in_time(command, serving)
                    else:
                        self._came = ASKING
                        environment.tally.asked += 1
                        now = environment.events.now
                        serving.ask(Request(command, self.number, now, None, self))
                    if self._came is ASKING:  # it takes time
                        self._came = None
                        return
                    value, failure = self._came
                    self._came = None
                    if failure is not None or environment.trace is not None:
                        failure = self.told(command, environment.events.now, value, failure)
            self.ended(value, failure)
        finally:
            failure = None  # an exception must not be kept alive by a frame in its own traceback

    def came(
        self, command: Command[Any], begun: float, value: Any, failure: BaseException | None
    ) -> None:
        """Take the result of a command."""
        self._waits_for = None
        if self._came is not None:  # at once: the loop goes on, so nothing is nested
            self._came = value, failure
        else:
            self.go_on(value, self.told(command, begun, value, failure))

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """Take the result of a request."""
        environment = self._environment
        if failure is None:
            tally = environment.tally
            tally.answered += 1
            tally.latency += environment.events.now - request.begun
        else:
            environment.failed(failure)
        if self._came is not None:  # at once: the loop goes on, so nothing is nested
            self._came = value, failure
        elif failure is None and environment.trace is None:
            self.go_on(value, None)
        else:
            self.go_on(value, self.told(request.command, request.begun, value, failure))

    def _perform(self, command: Any) -> None:
        """Perform a command of a kind that no service is known for, yet or at all."""
        environment, kind = self._environment, command.__class__
        try:
            left = self.seconds_left(command)
        except Expired as error:
            self._came = None, error
            return
        if kind not in environment.handlers:
            if isinstance(command, Together):
                self._join(command, left)
                return
            serving = environment.find(kind)
            if serving is not None:
                self._ask(command, serving, left)
                return
        try:
            answer = environment.handlers[kind](command)
        except Exception as error:
            self._came = None, error
        else:
            self._came = answer, None

    def _join(self, command: Together, left: float | None) -> None:
        """Perform effects at the same time, in the time that is left."""
        LEFT.set(None if left is None else Left(left))
        branches = self._waits_for = self.branches(command)
        LEFT.set(None)
        branches.begin()

    def ask_in_time(self, command: Command[Any], serving: Serving) -> None:
        """Ask a service, if there is a limit, in the time that is left."""
        try:
            left = self.seconds_left(command)
        except Expired as error:
            self._came = None, error
        else:
            self._ask(command, serving, left)

    def _ask(self, command: Command[Any], serving: Serving, left: float | None) -> None:
        environment = self._environment
        events = environment.events
        request = self._waits_for = Request(command, self.number, events.now, left, self)
        if left is not None:
            events.after(left, self._expired, request)
        environment.tally.asked += 1
        serving.ask(request)

    def _expired(self, request: Request) -> None:
        if not request.over:
            self.abandon(request)
            self.settled(request, None, TimeoutError(f"nothing came for {request.limit:g} s"))

    def abandon(self, request: Request) -> None:
        """Give a request up."""
        request.over = True
        self._environment.services[request.command.__class__].abandoned(request)
