"""`TaskPerformer`: performs a task whose commands are answered as virtual time advances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any

from .._limits.deadlines import LEFT, Expired, Left, Limit, check_in_time, clean_up, seconds_left
from .._meaning.chains import Chain, Ladder
from .._meaning.run_defaults import Defaults
from .._meaning.run_state import InAttempt, ProgramRun
from .._meaning.semantics import attempted, limited, unrolled
from .._meaning.trampoline import (
    IN_PLACE,
    Enter,
    Perform,
    Task,
    class_of,
    close,
    waits_in_an_attempt,
)
from .._running.concurrent_effects import Aborted, Rules, branch
from .._running.traces import Performed
from .._words.commands import Command, Misuse, raisable
from .._words.failure_classes import DeadlineExceeded
from .._words.judging import is_transient
from .._words.standard_commands import CLOCK, LINE, Delay, Together
from ..schedules.base import Chance, Timing
from .environment import Done, Environment
from .services.service import Request, Serving
from .single_retry_settings import is_single, limited_command, task_of, unwrapped

# A service may answer before its `ask` returns. If `settled` then resumed the task, a service that
# always answers immediately would nest one call in another without end. So `_arrived` is set to
# ASKING before each call of `ask`: a result that arrives during the call replaces ASKING, and the
# loop in `resume` continues with that result. If `_arrived` is still ASKING after the call, the
# result will arrive as an event.
ASKING: Any = object()
"""The value of `_arrived` while a command is issued."""
ROOM = 50
"""The number of attempts that one task may run in place: see `IN_PLACE` in trampoline."""
NOT_YET, NO_CALLERS = InAttempt([]), list[Task]()
"""The initial `_inside` and `_callers`, which clients share and never change."""


class TaskPerformer(ABC):
    """A client, or a branch of one, which performs a task and its inner tasks.

    It works like the trampoline, except that a command may be answered at a later event.
    """

    __slots__ = (
        *("_arrived", "_environment", "_callers", "_inside", "_task", "_waits_for"),
        *("begun", "done", "number", "room", "since", "thread"),
    )
    waits = False  # whether the task may wait; the task of an attempt may not

    def __init__(self, environment: Environment, number: int, done: Done) -> None:
        self._environment = environment
        self._task: Task | None = None
        self._callers = NO_CALLERS  # the tasks that wait for inner ones
        self._inside = NOT_YET
        self.room = 0  # see IN_PLACE in trampoline
        self.thread = environment.thread
        self._arrived: Any = None  # ASKING, or a pair: the answer and the failure
        self._waits_for: Request | Join | Performed | None = None
        self.begun = 0.0  # the start of the current try, or of the next one if that is planned
        self.done = done  # called at the end of each run
        self.number = number
        self.since = 0.0  # the start of the current run

    @abstractmethod
    def begin(self) -> None:
        """Begin a run, or its next try after a wait."""

    def ended(self, value: Any, failure: BaseException | None) -> None:
        if failure is not None and isinstance(failure, Misuse):
            raise failure
        self._waits_for = None  # break the cycle of the request and its sender
        self.done(self, value, failure)

    def entered(self, attempt: Chain) -> Task | None:
        """Return the task of an inner attempt; `None` if it failed, or its one request was sent."""
        environment, inside = self._environment, self._inside
        if not inside.limits and (found := limited_command(attempt)) is not None:
            command, seconds = found
            serving = environment.find(command.__class__)
            if serving is not None:
                self._ask(command, serving, seconds)
                return None
        if inside is NOT_YET:
            inside = self._inside = InAttempt([])
        try:
            return attempted(attempt, inside)
        except Exception as error:  # such as a wrong number of arguments
            self._arrived = None, error
            return None

    def wait(self, wait: Any) -> None:
        """Begin a wait: of a program, or in the line of a gate."""
        environment, in_line = self._environment, wait._run is LINE
        if not in_line and not self.waits:
            raise waits_in_an_attempt()
        now = environment.events.now
        start = self.begun if environment.from_start and not in_line else now
        when = max(now, start + wait.seconds)
        if not in_line:
            self.begun = when
        waited = self._waits_for = Performed(now, wait, None, None, self.number)
        environment.events.at(when, self._wake, waited)

    def _wake(self, waited: Performed) -> None:
        if self._waits_for is waited:  # else the task was ended meanwhile
            self._waits_for = None
            if self._environment.trace is not None:
                self._environment.trace.append(waited)
            self.resume(None)

    def seconds_left(self, command: Command[Any]) -> float | None:
        """Return the seconds left for `command`, or `None`; raise Expired if there are none."""
        limits, left = self._inside.limits, inf
        if holding := [limit for limit in limits if not limit.ending]:
            try:
                left = seconds_left(command, holding, self._environment.events.now)
            except Expired as error:
                clean_up(limits, error)
                raise
        around = LEFT.get()
        if around is not None:  # set by a stream, which applies its limits itself
            LEFT.set(None)  # for this command only
            left = min(left, around.seconds)
        return None if left == inf else left

    def record(
        self, command: Command[Any], begun: float, value: Any, failure: BaseException | None
    ) -> BaseException | None:
        """Add an ended command to the trace; return the exception to throw into the task."""
        trace, together = self._environment.trace, isinstance(command, Together)
        if trace is not None and not together and failure.__class__ is not Expired:
            trace.append(Performed(begun, command, value, failure, self.number))
        if failure is None:
            return None
        limits = self._inside.limits
        if limits and not isinstance(failure, Expired):
            if not isinstance(failure, Exception):
                clean_up(limits, failure)
            elif is_transient(failure):
                holding = [limit for limit in limits if not limit.ending]
                try:
                    check_in_time(command, holding, begun, self._environment.events.now, failure)
                except Expired as error:
                    clean_up(limits, error)
                    return error
        return raisable(failure)

    def request(self, command: Command[Any], serving: Serving, seconds: float | None) -> None:
        """Perform a command that no task issued, within `seconds` if no limit is around it."""
        self._arrived = ASKING
        if self._inside.limits:
            self.ask_in_time(command, serving)
        else:
            self._ask(command, serving, seconds)
        if self._arrived is ASKING:
            self._arrived = None
            return
        arrived, self._arrived = self._arrived, None
        self.ended(*arrived)

    def close(self) -> None:
        task, waits_for = self._task, self._waits_for
        self._task = self._waits_for = None
        if isinstance(waits_for, Join):
            waits_for.close()
        if task is not None:
            close(task, [*self._callers])

    def end(self, failure: BaseException) -> None:
        waits_for = self._waits_for
        self._waits_for = None
        if isinstance(waits_for, Join):
            waits_for.end(failure)
        elif isinstance(waits_for, Performed):  # it waits in the line of a gate
            clean_up(self._inside.limits, failure)
            self.resume(None, failure)
        elif waits_for is not None and not waits_for.over:
            self.abandon(waits_for)
            self.arrived(waits_for.command, waits_for.begun, None, failure)
        else:  # the command is just being issued
            self._arrived = None, failure

    def resume(self, value: Any, failure: BaseException | None = None) -> None:
        """Send an answer or throw a failure, and continue until a command takes virtual time."""
        environment, task = self._environment, self._task
        IN_PLACE[0] = self
        try:
            while task is not None:
                try:
                    command: Any = task.send(value) if failure is None else task.throw(failure)
                except StopIteration as end:
                    value, failure = end.value, None
                    if type(value) is Enter:
                        task, value = value.task, None
                    else:
                        task = self._callers.pop() if self._callers else None
                        self.room = 0  # the caller may have used up its room
                    self._task = task
                except (Exception, Expired, Aborted) as error:
                    value, failure = None, error
                    task = self._task = self._callers.pop() if self._callers else None
                    self.room = 0
                else:
                    kind = class_of(command)
                    serving = environment.services.get(kind)
                    if serving is None:
                        if command is CLOCK:
                            value, failure = environment.events.now, None
                            continue
                        if kind in environment.immediate and not self._inside.limits:
                            try:
                                value, failure = environment.immediate[kind](command), None
                            except Exception as error:
                                value, failure = None, raisable(error)
                            continue
                        if kind is Delay:
                            self.wait(command)
                            return
                        self._arrived = ASKING
                        if kind is Enter or kind is Perform:
                            inner = command.task if kind is Enter else self.entered(command.chain)
                            if inner is not None:
                                self._callers = self._callers or []
                                self._callers.append(task)
                                self._arrived = value = failure = None
                                task = self._task = inner
                                self.room = ROOM
                                continue
                        else:
                            self._perform(command)
                    elif self._inside.limits:
                        self._arrived = ASKING
                        self.ask_in_time(command, serving)
                    else:
                        self._arrived = ASKING
                        self._ask(command, serving, None)
                    if self._arrived is ASKING:
                        self._arrived = None
                        return
                    (value, failure), self._arrived = self._arrived, None
            self._waits_for = None
            self.ended(value, failure)
        finally:
            failure = None  # break the cycle of exception, traceback and this frame

    def arrived(
        self, command: Command[Any], begun: float, value: Any, failure: BaseException | None
    ) -> None:
        """Take the result of a command, and continue, or let `resume` continue."""
        failure = self.record(command, begun, value, failure)
        if self._arrived is not None:
            self._arrived = value, failure
        else:
            self.resume(value, failure)

    def settled(
        self, request: Request, value: Any, failure: Exception | None, raised: Any = None
    ) -> None:
        """Take the result of a request; throw `raised` into the task, by default `failure`."""
        self._waits_for = None  # frees the request early
        environment = self._environment
        tally = environment.tally
        if failure is None:
            tally.answered += 1
            tally.latency += environment.events.now - request.begun
        else:
            tally.failed += 1
            if isinstance(failure, TimeoutError):
                tally.late += 1
            raised = raised or raisable(failure)
        if environment.trace is not None or self._inside.limits:
            recorded = self.record(request.command, request.begun, value, failure)
            raised = recorded if self._inside.limits else raised
        if self._arrived is not None:
            self._arrived = value, raised
        elif self._task is None:
            self.ended(value, raised)
        else:
            self.resume(value, raised)

    def _perform(self, command: Any) -> None:
        """Perform a command of a kind that has no service, or whose service is not known yet."""
        environment, kind = self._environment, command.__class__
        now = environment.events.now
        try:
            left = self.seconds_left(command)
        except Expired as error:
            self._arrived = None, error
            return
        if kind not in environment.handlers:
            if isinstance(command, Together):
                join = self._waits_for = Join(self, command, left)
                join.begin()
                return
            serving = environment.find(kind)
            if serving is not None:
                self._ask(command, serving, left)
                return
        try:
            answer = environment.handlers[kind](command)
        except Exception as error:
            self.arrived(command, now, None, error)
        else:
            self.arrived(command, now, answer, None)

    def ask_in_time(self, command: Command[Any], serving: Serving) -> None:
        limits, now = self._inside.limits, self._environment.events.now
        limit = limits[0]
        if len(limits) == 1 and now < limit.deadline < inf and not limit.ending:
            self._ask(command, serving, limit.deadline - now)
            return
        try:
            left = self.seconds_left(command)
        except Expired as error:
            self._arrived = None, error
        else:
            self._ask(command, serving, left)

    def _ask(self, command: Command[Any], serving: Serving, seconds: float | None) -> None:
        """Send a request, which expires after `seconds` unless that is `None`."""
        environment = self._environment
        events = environment.events
        request = self._waits_for = Request()
        request.command, request.client, request.begun = command, self.number, events.now
        request.over, request._sender, request.limit = False, self, seconds
        if seconds is not None:
            if not self._inside.limits:
                seconds = request.limit = events.now + seconds - events.now  # rounded as in Limit
            events.after(seconds, Request.expire, request)  # a bound method would take memory
        environment.tally.asked += 1
        serving.ask(request)

    def expired(self, request: Request) -> None:
        self.abandon(request)
        late, raised = TimeoutError(f"no answer arrived within {request.limit:g} s"), None
        if not self._inside.limits:
            where = f" ({request.command.__class__.__name__} was running)"
            raised = DeadlineExceeded(f"not done within {request.limit:g} s{where}")
            raised.__cause__ = late
        self.settled(request, None, late, raised)

    def abandon(self, request: Request) -> None:
        request.over = True
        self._environment.services[request.command.__class__].abandoned(request)


class StreamClient(TaskPerformer):
    """Performs the stream of any program, or of a branch; most clients are `RetryClient`s."""

    waits = True

    def __init__(
        self, environment: Environment, number: int, make: Callable[[], Task], done: Done
    ) -> None:
        super().__init__(environment, number, done)
        # The stream applies the limits. `resume` reads the seconds left only if there is a limit.
        self._inside = InAttempt([Limit(0.0, inf, whole=False)])
        self._make = make

    def begin(self) -> None:
        self._task, self.room = self._make(), ROOM
        self.begun = self._environment.events.now
        self.resume(None)


def streams(program: Ladder, how: Defaults, timing: Timing, chance: Chance) -> Callable[[], Task]:
    return lambda: unrolled(program, how, run=ProgramRun(program, timing, chance))


class Join:
    """Concurrent effects: each is a branch, which has the number of the waiting client.

    Once `Rules.over` is true, branches that still run are ended: their `finally` blocks run. The
    waiting client resumes when all branches have ended.
    """

    def __init__(self, client: TaskPerformer, command: Together, left: float | None) -> None:
        self._client = client
        self._environment = environment = client._environment
        self._command = command
        self._begun = environment.events.now
        LEFT.set(None if left is None else Left(left))
        self._rules = Rules(command, part_of_branch)
        LEFT.set(None)
        self._failure: BaseException | None = None
        self._left = 1  # `begin` counts too: the join does not end while branches begin
        self._running: dict[TaskPerformer, int] = {}

    def begin(self) -> None:
        for index, after in enumerate(self._rules.starts):
            if after:
                self._environment.events.after(after, self._start, index)
            elif not self._rules.over:
                self._start(index)
        self._one_less()

    def _start(self, index: int) -> None:
        rules, now = self._rules, self._environment.events.now
        given = None if rules.over else rules.begin(index, now)
        if given is not None:
            kind: Any = StreamClient if self._command.copied else Strand
            made: TaskPerformer = kind(self._environment, self._client.number, given, self._ended)
            self._running[made] = index
            self._left += 1
            made.begin()

    def end(self, failure: BaseException) -> None:
        if self._failure is None:
            self._failure, self._rules.over = failure, True
            self._end_others()

    def _end_others(self) -> None:
        for each in [*self._running]:
            if each in self._running:
                each.end(Aborted())

    def close(self) -> None:
        self._rules.over = True
        for each in self._running:
            each.close()

    def _ended(self, ended: TaskPerformer, answer: Any, failure: BaseException | None) -> None:
        index, over = self._running.pop(ended), self._rules.over
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


def part_of_branch(command: Together, index: int, within: float | None) -> Any:
    """For a hedge, return a maker of the branch's stream; otherwise the effect and its seconds."""
    copied = command.copied
    return branch(command, index, within).__iter__ if copied else (command.effects[index], within)


class Strand(TaskPerformer):
    """One of several concurrent effects, with a limit in seconds or none."""

    __slots__ = ("_given",)

    def __init__(
        self, environment: Environment, number: int, given: tuple[Any, float | None], done: Done
    ) -> None:
        super().__init__(environment, number, done)
        self._given = given

    def begin(self) -> None:
        environment, (effect, within) = self._environment, self._given
        self.begun = environment.events.now
        serving = environment.services.get(effect.__class__)
        if serving is None:
            effect = unwrapped(effect)
            serving = environment.find(effect.__class__) if is_single(effect) else None
        if serving is not None and (within is None or within > 0):
            self.request(effect, serving, within)
            return
        inside = self._inside = InAttempt([])
        try:
            task = task_of(effect, inside)
        except Exception as error:  # such as a wrong number of arguments
            self.ended(None, error)
            return
        self._task = task if within is None else limited(Enter(task), within, inside)
        self.room = ROOM
        self.resume(None)
