"""`TaskPerformer`: performs a task whose commands are answered as virtual time advances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .._limits.deadlines import LEFT, Expired, Left, Limit
from .._meaning.chains import Chain
from .._meaning.machine import Enter, Perform, Task, close
from .._meaning.runs import InAttempt
from .._running.together import Aborted
from .._running.traces import Performed
from .._words.commands import Command, Misuse, raisable
from .._words.vocabulary import CLOCK, LINE, Delay, Together
from .environment import Environment
from .services.service import Request, Serving

# A service may answer before its `ask` returns. If `settled` then resumed the task, a service that
# always answers immediately would nest one call in another without end. So `_arrived` is set to
# ASKING before each call of `ask`: a result that arrives during the call replaces ASKING, and the
# loop in `resume` continues with that result. If `_arrived` is still ASKING after the call, the
# result will arrive as an event.
ASKING: Any = object()
"""The value of `_arrived` while a command is issued."""


class Inside(InAttempt):
    """The state of a client's attempts; `callers` are the tasks that wait for inner ones."""

    __slots__ = ("callers",)

    def __init__(self, limits: list[Limit]) -> None:
        super().__init__(limits)
        self.callers: list[Task] = []


NOT_YET = Inside([])
"""The state that clients share until they need one of their own."""


class Branches(ABC):
    """Concurrent effects."""

    @abstractmethod
    def begin(self) -> None:
        """Begin all effects."""

    @abstractmethod
    def close(self) -> None:
        """Close all effects."""


class TaskPerformer(ABC):
    """A client, or a branch of one, which performs a task and its inner tasks.

    It works like the machine, except that a command may be answered at a later event.
    """

    def __init__(self, environment: Environment, number: int, inside: Inside = NOT_YET) -> None:
        self._environment = environment
        self._task: Task | None = None
        self._inside = inside
        self._arrived: Any = None  # ASKING, or a pair: the answer and the failure
        self._waits_for: Request | Branches | Performed | None = None
        self.begun = 0.0  # the start of the current try, or, in a wait, of the last try
        self.number = number
        self.since = 0.0

    @abstractmethod
    def seconds_left(self, command: Command[Any]) -> float | None:
        """Return the seconds left for `command`, or `None`; raise Expired if there are none."""

    @abstractmethod
    def branches(self, command: Together) -> Branches:
        """Return the concurrent effects of `command`."""

    @abstractmethod
    def entered(self, attempt: Chain) -> Task:
        """Return the task of an attempt inside another one."""

    @abstractmethod
    def ended(self, value: Any, failure: BaseException | None) -> None:
        """Take the result of the task."""

    def wait(self, wait: Any) -> None:
        """Begin to stand in line; only programs have other waits."""
        if wait._run is not LINE:
            raise Misuse("An attempt cannot wait: raise NotReady instead.")
        events = self._environment.events
        line = self._waits_for = Performed(events.now, wait, None, None, self.number)
        events.after(wait.seconds, self._go, line)

    def _go(self, line: Performed) -> None:
        if self._waits_for is line:  # else it has left the line
            self._waits_for = None
            if self._environment.trace is not None:
                self._environment.trace.append(line)
            self.resume(None)

    def limited(
        self,
        command: Command[Any],  # noqa: ARG002
        begun: float,  # noqa: ARG002
        failure: BaseException,
    ) -> BaseException:
        """Return the exception to throw into the task after a command with a limit has failed."""
        return failure

    def record(
        self, command: Command[Any], begun: float, value: Any, failure: BaseException | None
    ) -> BaseException | None:
        """Add an ended command to the trace; return the exception to throw into the task."""
        trace = self._environment.trace
        if trace is not None and not (
            command is CLOCK
            or isinstance(command, Together)
            or isinstance(failure, Expired)  # the command was not issued
        ):
            trace.append(Performed(begun, command, value, failure, self.number))
        if failure is not None and self._inside.limits:
            return self.limited(command, begun, failure)
        return failure if failure is None else raisable(failure)

    def close(self) -> None:
        task, waits_for = self._task, self._waits_for
        self._task = self._waits_for = None
        if isinstance(waits_for, Branches):
            waits_for.close()
        if task is not None:
            close(task, self._inside.callers)

    def resume(self, value: Any, failure: BaseException | None = None) -> None:
        """Send an answer or throw a failure, and continue until a command takes virtual time."""
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
                        self._arrived = ASKING
                        self._perform(command)
                    elif self._inside.limits:
                        self._arrived = ASKING
                        self.ask_in_time(command, serving)
                    else:
                        self._arrived = ASKING
                        environment.tally.asked += 1
                        now = environment.events.now
                        serving.ask(Request(command, self.number, now, None, self))
                    if self._arrived is ASKING:
                        self._arrived = None
                        return
                    value, failure = self._arrived
                    self._arrived = None
                    if failure is not None or environment.trace is not None:
                        failure = self.record(command, environment.events.now, value, failure)
            self.ended(value, failure)
        finally:
            failure = None  # break the cycle of exception, traceback and this frame

    def arrived(
        self, command: Command[Any], begun: float, value: Any, failure: BaseException | None
    ) -> None:
        self._waits_for = None
        if self._arrived is not None:
            self._arrived = value, failure
        else:
            self.resume(value, self.record(command, begun, value, failure))

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        environment = self._environment
        if failure is None:
            tally = environment.tally
            tally.answered += 1
            tally.latency += environment.events.now - request.begun
        else:
            environment.count_failure(failure)
        if self._arrived is not None:
            self._arrived = value, failure
        elif failure is None and environment.trace is None:
            self.resume(value, None)
        else:
            self.resume(value, self.record(request.command, request.begun, value, failure))

    def _perform(self, command: Any) -> None:
        """Perform a command of a kind that has no service, or whose service is not known yet."""
        environment, kind = self._environment, command.__class__
        try:
            left = self.seconds_left(command)
        except Expired as error:
            self._arrived = None, error
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
            self._arrived = None, error
        else:
            self._arrived = answer, None

    def _join(self, command: Together, left: float | None) -> None:
        LEFT.set(None if left is None else Left(left))
        branches = self._waits_for = self.branches(command)
        LEFT.set(None)
        branches.begin()

    def ask_in_time(self, command: Command[Any], serving: Serving) -> None:
        try:
            left = self.seconds_left(command)
        except Expired as error:
            self._arrived = None, error
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
            self.settled(
                request, None, TimeoutError(f"no answer arrived within {request.limit:g} s")
            )

    def abandon(self, request: Request) -> None:
        request.over = True
        self._environment.services[request.command.__class__].abandoned(request)
