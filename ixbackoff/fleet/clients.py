"""One client of a simulation: it runs any program, command by command, as time goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .._limits.deadlines import LEFT
from .._meaning.chains import Chain, chain
from .._meaning.machine import Perform, driven
from .._meaning.runs import Run
from .._meaning.semantics import chained
from .._running.together import Aborted, branches
from .._words.commands import Command, Misuse, Stream
from .._words.vocabulary import CLOCK, Delay, Together
from ..schedules.kinds import powers_of_two
from .services import Request, Serving
from .traces import Happened
from .worlds import World

NOTHING = chain(Chain, None, None)
Done: TypeAlias = Callable[["Client", Any, BaseException | None], None]


class Client:
    """A stream of commands that is answered as time goes on.

    Attributes:
        number: which client it is.
    """

    __slots__ = (
        "_at_once",
        "_begun",
        "_command",
        "_done",
        "_held",
        "_join",
        "_made",
        "_request",
        "_since",
        "_stream",
        "_world",
        "number",
    )

    def __init__(self, world: World, number: int, made: Callable[[], Stream], done: Done) -> None:
        self._world = world
        self._made = made
        self._done = done
        self._stream: Stream | None = None
        self._request: Request | None = None
        self._join: Join | None = None
        self._held = False  # whether what comes of a command is kept for the loop in `go_on`
        self._at_once: tuple[Any, BaseException | None] = (None, None)
        self._command: Command[Any] | None = None
        self._since = 0.0
        self._begun = 0.0  # the try before the next wait
        self.number = number

    def begin(self) -> None:
        """Run the program, from its beginning."""
        self._stream = self._made()
        self._begun = self._world.events.now
        self.go_on(None)

    def close(self) -> None:
        """Time is over: what runs is closed, and nobody answers it."""
        stream, join = self._stream, self._join
        self._stream = self._join = self._command = None
        if join is not None:
            join.close()
        if stream is not None:
            stream.close()

    def end(self, failure: BaseException) -> None:
        """End what it does now, from outside."""
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
        """Go on with what came of the last command, until the next one that takes time."""
        world, stream = self._world, self._stream
        if stream is None:
            return
        events, services, traced = world.events, world.services, world.trace is not None
        while True:
            if traced:
                self._happened(answer, failure)
            try:
                command = stream.send(answer) if failure is None else stream.throw(failure)
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
            if traced and command is not CLOCK and kind is not Perform:
                self._command, self._since = command, events.now
            serving = services.get(kind)
            if serving is None:
                if (
                    kind is Perform
                ):  # an attempt in the one that it drives: from here on with a stack
                    run = Run(NOTHING, powers_of_two, None)
                    stream = self._stream = driven(
                        chained(command.chain, run.inside), run, {}, chained, [stream]
                    )
                    continue
                if command is CLOCK:
                    answer = events.now
                    continue
                if kind is Delay:
                    self._wait(command)
                    return
            left = LEFT.get()
            if left is not None:  # the next client's is its own
                LEFT.set(None)
            if serving is None and kind not in world.handlers and kind is not Together:
                serving = world.find(kind)
            if serving is None and isinstance(command, Together):
                LEFT.set(left)
                streams = branches(command)
                LEFT.set(None)
                self._join = Join(self, world, streams)
                self._held = True
                self._join.begin()
            elif serving is not None:
                self._held = True
                self._ask(serving, command, None if left is None else left.seconds)
            else:
                try:
                    answer = world.handlers[kind](command)
                except Exception as error:
                    failure = error
                continue
            if self._held:
                self._held = False
                return
            (answer, failure), self._at_once = self._at_once, (None, None)
        try:
            self._stream = None
            self._done(self, answer, failure)
        finally:
            failure = None  # an exception must not be kept alive by a frame in its own traceback

    def came(self, answer: Any, failure: BaseException | None) -> None:
        """What came of the last command."""
        if self._held:  # at once: the loop goes on, and nothing is nested
            self._held = False
            self._at_once = (answer, failure)
        else:
            self.go_on(answer, failure)

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """A request has ended."""
        self._request = None
        self._world.settled(request, failure)
        self.came(value, failure)

    def joined(self, answers: list[Any], failure: BaseException | None) -> None:
        """Effects at the same time have ended."""
        self._join = None
        self.came(None if failure else answers, failure)

    def _wait(self, wait: Any) -> None:
        events = self._world.events
        start = self._begun if self._world.from_start else events.now
        events.at(max(events.now, start + wait.seconds), Client._wake, self)

    def _wake(self) -> None:
        self._begun = self._world.events.now
        self.go_on(None)

    def _ask(self, serving: Serving, command: Command[Any], limit: float | None) -> None:
        world = self._world
        request = self._request = Request(command, self.number, world.events.now, limit, self)
        if limit is not None:
            world.events.after(limit, self._expired, request)
        world.tally.asked += 1
        serving.ask(request)

    def _expired(self, request: Request) -> None:
        if not request.over:
            self._abandon(request)
            self.settled(request, None, TimeoutError(f"nothing came for {request.limit:g} s"))

    def _abandon(self, request: Request) -> None:
        request.over = True
        self._request = None
        self._world.services[request.command.__class__].abandoned(request)

    def _happened(self, answer: Any, failure: BaseException | None) -> None:
        command, trace = self._command, self._world.trace
        if command is not None and trace is not None and not isinstance(command, Together):
            trace.append(Happened(self._since, self.number, command, answer, failure))
        self._command = None


class Join:
    """Effects at the same time: branches, which are clients with the number of the one that waits.

    The first failure ends the rest, and has their `finally` blocks run; when all have ended, the
    client goes on.
    """

    __slots__ = ("_answers", "_client", "_failure", "_left", "_places")

    def __init__(self, client: Client, world: World, streams: list[Stream]) -> None:
        self._client = client
        self._failure: BaseException | None = None
        self._answers: list[Any] = [None] * len(streams)
        self._left = len(streams) + 1  # the one more is for `begin`
        self._places: dict[Client, int] = {
            Client(world, client.number, stream.__iter__, self._ended): place
            for place, stream in enumerate(streams)
        }

    def begin(self) -> None:
        """All of them begin."""
        for branch in [*self._places]:
            if branch in self._places and self._failure is None:
                branch.begin()
        self._one_less()

    def end(self, failure: BaseException) -> None:
        """End them from outside."""
        if self._failure is None:
            self._failure = failure
            for branch in [*self._places]:
                if branch in self._places:
                    branch.end(Aborted())

    def close(self) -> None:
        """Close them."""
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
