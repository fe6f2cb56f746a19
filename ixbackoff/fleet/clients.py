"""A simulated client that runs any program, command by command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._limits.deadlines import LEFT
from .._meaning.machine import close
from .._running.together import Aborted, branches
from .._words.commands import Command, Misuse, Stream
from .._words.vocabulary import CLOCK, Delay, Together
from .environments import Done, Environment
from .services import Request, Serving
from .traces import Happened
from .tries import NESTED, nested


class Client:
    """A client whose stream of commands is answered as virtual time goes on.

    Attributes:
        number: which client it is.
        begun: when the present try began, or the one before the present wait.
    """

    __slots__ = (
        "_at_once",
        "_command",
        "_done",
        "_held",
        "_join",
        "_made",
        "_request",
        "_since",
        "_stream",
        "_environment",
        "begun",
        "number",
    )

    def __init__(
        self, environment: Environment, number: int, made: Callable[[], Stream], done: Done
    ) -> None:
        self._environment = environment
        self._made = made
        self._done = done
        self._stream: Stream | None = None
        self._request: Request | None = None
        self._join: Join | None = None
        self._held = False  # whether an answer is kept for the loop in `go_on`
        self._at_once: tuple[Any, BaseException | None] = (None, None)
        self._command: Command[Any] | None = None
        self._since = 0.0
        self.begun = 0.0
        self.number = number

    def begin(self) -> None:
        """Run the program, from its beginning."""
        self._stream = self._made()
        self.begun = self._environment.events.now
        self.go_on(None)

    def close(self) -> None:
        """Close what runs; nobody answers it."""
        stream, join = self._stream, self._join
        self._stream = self._join = self._command = None
        if join is not None:
            join.close()
        if stream is not None:
            close(stream, [])

    def end(self, failure: BaseException) -> None:
        """End the present command with a failure."""
        request, join = self._request, self._join
        if self._stream is None:  # it has not begun
            self._done(self, None, failure)
        elif join is not None:
            join.end(failure)
        else:
            if request is not None:
                self._abandon(request)
            self.came(None, failure)

    def go_on(self, answer: Any, failure: BaseException | None = None) -> None:
        """Go on with an answer or a failure, until the next command that takes time."""
        environment, stream = self._environment, self._stream
        if stream is None:
            return
        events, services, traced = (
            environment.events,
            environment.services,
            environment.trace is not None,
        )
        while True:
            if traced:
                self._told(answer, failure)
            try:
                command: Any = stream.send(answer) if failure is None else stream.throw(failure)
            except StopIteration as end:
                answer, failure = end.value, None
                break
            except Misuse:
                raise
            except (Exception, Aborted) as error:
                answer, failure = None, error
                break
            answer = failure = None
            kind = command.__class__
            if kind is NESTED:
                stream = self._stream = nested(command, stream)
                continue
            if traced and command is not CLOCK:
                self._command, self._since = command, events.now
            serving = services.get(kind)
            if serving is not None:
                self._held = True
                self._ask(serving, command)
            elif command is CLOCK:
                answer = events.now
                continue
            elif kind is Delay:
                self._wait(command)
                return
            else:
                self._held = True
                self._perform(command)
            if self._held:  # it takes time
                self._held = False
                return
            (answer, failure), self._at_once = self._at_once, (None, None)
        try:
            self._stream = None
            self._done(self, answer, failure)
        finally:
            failure = None  # an exception must not be kept alive by a frame in its own traceback

    def came(self, answer: Any, failure: BaseException | None) -> None:
        """Take the answer or the failure of the last command."""
        if self._held:  # at once: the loop goes on, so nothing is nested
            self._held = False
            self._at_once = (answer, failure)
        else:
            self.go_on(answer, failure)

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """Take the result of a request."""
        self._request = None
        self._environment.settled(request, failure)
        self.came(value, failure)

    def joined(self, answers: list[Any], failure: BaseException | None) -> None:
        """Take the results of effects at the same time."""
        self._join = None
        self.came(None if failure else answers, failure)

    def _wait(self, wait: Any) -> None:
        events = self._environment.events
        start = self.begun if self._environment.from_start else events.now
        events.at(max(events.now, start + wait.seconds), Client._wake, self)

    def _wake(self) -> None:
        self.begun = self._environment.events.now
        self.go_on(None)

    def _perform(self, command: Command[Any]) -> None:
        """Perform a command of a kind that no service is known for, yet or at all."""
        environment, kind = self._environment, command.__class__
        if kind in environment.handlers:
            serving = None
        elif isinstance(command, Together):
            self._join = Join(self, environment, branches(command))
            LEFT.set(None)
            self._join.begin()
            return
        else:
            serving = environment.find(kind)
        if serving is not None:
            self._ask(serving, command)
            return
        LEFT.set(None)
        try:
            answer = environment.handlers[kind](command)
        except Exception as error:
            self.came(None, error)
        else:
            self.came(answer, None)

    def _ask(self, serving: Serving, command: Command[Any]) -> None:
        environment, left = self._environment, LEFT.get()
        limit = None
        if left is not None:  # it is taken out: the next client has its own
            LEFT.set(None)
            limit = left.seconds
        request = self._request = Request(command, self.number, environment.events.now, limit, self)
        if limit is not None:
            environment.events.after(limit, self._expired, request)
        environment.tally.asked += 1
        serving.ask(request)

    def _expired(self, request: Request) -> None:
        if not request.over:
            self._abandon(request)
            self.settled(request, None, TimeoutError(f"nothing came for {request.limit:g} s"))

    def _abandon(self, request: Request) -> None:
        request.over = True
        self._request = None
        self._environment.services[request.command.__class__].abandoned(request)

    def _told(self, answer: Any, failure: BaseException | None) -> None:
        command, trace = self._command, self._environment.trace
        if command is not None and trace is not None and not isinstance(command, Together):
            trace.append(Happened(self._since, self.number, command, answer, failure))
        self._command = None


class Join:
    """Effects at the same time: each is a branch, a client with the number of the one that waits.

    The first failure ends the other branches, whose `finally` blocks run. When all have ended, the
    client goes on.
    """

    __slots__ = ("_answers", "_client", "_failure", "_left", "_places")

    def __init__(self, client: Client, environment: Environment, streams: list[Stream]) -> None:
        self._client = client
        self._failure: BaseException | None = None
        self._answers: list[Any] = [None] * len(streams)
        self._left = len(streams) + 1  # one more for `begin`
        self._places: dict[Client, int] = {
            Client(environment, client.number, stream.__iter__, self._ended): place
            for place, stream in enumerate(streams)
        }

    def begin(self) -> None:
        """Begin all branches."""
        for branch in [*self._places]:
            if branch in self._places and self._failure is None:
                branch.begin()
        self._one_less()

    def end(self, failure: BaseException) -> None:
        """End the branches with a failure."""
        if self._failure is None:
            self._failure = failure
            for branch in [*self._places]:
                if branch in self._places:
                    branch.end(Aborted())

    def close(self) -> None:
        """Close the branches."""
        for branch in self._places:
            branch.close()

    def _ended(self, branch: Client, answer: Any, failure: BaseException | None) -> None:
        self._answers[self._places.pop(branch)] = answer
        if failure is not None:
            self.end(failure)
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if not self._left:
            failure, self._failure = self._failure, None
            try:
                self._client.joined(self._answers, failure)
            finally:
                failure = None
