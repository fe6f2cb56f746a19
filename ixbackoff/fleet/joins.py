"""`Join`: concurrent effects, in virtual time."""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.deadlines import LEFT, Left, Limit
from .._limits.forwarding import passed_on
from .._meaning.machine import Enter
from .._meaning.semantics import limited, part
from .._running.together import Aborted, Rules
from .._running.traces import Performed
from .._words.commands import Misuse, Repeatable, raisable
from .._words.vocabulary import Together, checked_copy
from .environment import Environment
from .performers import Asking, Branches, TaskPerformer
from .retries import as_attempt, is_single, task_of, unwrapped
from .services.service import Request


class Join(Branches, Asking):
    """Concurrent effects: each is a request, or a `Strand` with the number of the waiting client.

    If they are over before all have ended, the `finally` blocks of the other branches run. The
    waiting client resumes when all branches have ended.
    """

    def __init__(
        self, client: TaskPerformer, environment: Environment, command: Together, left: float | None
    ) -> None:
        self._client = client
        self._environment = environment
        self._command = command
        self._begun = environment.events.now
        LEFT.set(None if left is None else Left(left))
        self._rules = Rules(command, self._branch)
        LEFT.set(None)
        self._failure: BaseException | None = None
        self._left = 1  # `begin` counts too: no branch ends before all have begun
        self._running: dict[Request | Strand, int] = {}

    def begin(self) -> None:
        for index, after in enumerate(self._rules.starts):
            if after:
                self._environment.events.after(after, self._start, index)
            elif not self._rules.over:
                self._start(index)
        self._one_less()

    def _branch(self, command: Together, index: int, within: float | None) -> Request | Strand:
        effect = unwrapped(command.effects[index])
        environment, number = self._environment, self._client.number
        if is_single(effect) and (not command.copied or isinstance(effect, Repeatable)):
            now = environment.events.now
            left = None if within is None else now + within - now  # as a Limit rounds
            served = environment.find(effect.__class__) is not None
            if served and (left is None or left > 0):
                return Request(effect, number, now, left, self)
        return Strand(self, environment, number, effect, within, command.copied)

    def _start(self, index: int) -> None:
        environment, rules = self._environment, self._rules
        branch = None if rules.over else rules.begin(index, environment.events.now)
        if branch is None:
            return
        self._running[branch] = index
        self._left += 1
        if isinstance(branch, Strand):
            branch.begin()
            return
        if branch.limit is not None:
            environment.events.after(branch.limit, self.exceeded, (branch, branch.limit))
        environment.tally.asked += 1
        environment.services[branch.command.__class__].ask(branch)

    def end(self, failure: BaseException) -> None:
        """End all branches, and let the command fail with `failure`."""
        if self._failure is None:
            self._failure, self._rules.over = failure, True
            self._end_others()

    def _end_others(self) -> None:
        for branch in [*self._running]:
            if branch not in self._running:
                continue
            if isinstance(branch, Strand):
                branch.end(Aborted())
            else:
                self.abandon(branch)
                self._trace(branch, None, aborted := Aborted())
                self.ended(branch, None, aborted)

    def close(self) -> None:
        self._rules.over = True
        for branch in self._running:
            if isinstance(branch, Strand):
                branch.close()

    def settled(
        self,
        request: Request,
        value: Any,
        failure: Exception | None,
        instead: Exception | None = None,
    ) -> None:
        environment = self._environment
        if failure is None:
            tally = environment.tally
            tally.answered += 1
            tally.latency += environment.events.now - request.begun
        else:
            environment.count_failure(failure)
        self._trace(request, value, failure)
        self.ended(request, value, instead or (failure and raisable(failure)))

    def _trace(self, request: Request, value: Any, failure: BaseException | None) -> None:
        trace = self._environment.trace
        if trace is not None:
            line = Performed(request.begun, request.command, value, failure, self._client.number)
            trace.append(line)

    def ended(self, branch: Request | Strand, answer: Any, failure: BaseException | None) -> None:
        """Take the result of a branch."""
        if isinstance(failure, Misuse):
            raise failure
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


class Strand(TaskPerformer):
    """One of several concurrent effects, within so many seconds if given."""

    def __init__(
        self,
        join: Join,
        environment: Environment,
        number: int,
        effect: Any,
        within: float | None,
        copied: bool,
    ) -> None:
        super().__init__(environment, number)
        self._join = join
        self._effect = effect
        self._within = within
        self._copied = copied

    def begin(self) -> None:
        inside = self._inside = self._environment.inside()
        attempt = as_attempt(self._effect)
        if self._copied:  # a stream, which applies the limits inside itself
            inside.limits.append(Limit(0.0, inf, whole=False))
            task = passed_on(part(attempt, None), checked_copy)
        else:
            task = task_of(attempt, inside)
        self._task = task if self._within is None else limited(Enter(task), self._within, inside)
        self.begun = self._environment.events.now
        self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        self._inside.limits.clear()
        self._environment.unused.append(self._inside)
        self._join.ended(self, value, failure)

    def branches(self, command: Together, left: float | None) -> Branches:
        return Join(self, self._environment, command, left)
