"""Virtual time, in which programs run without waiting and leave a trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeAlias, TypeVar

from .._limits.deadlines import time_limit
from .._limits.rate_limiter import Turns
from .._meaning.chains import Ladder
from .._running.command_loops import answered, answered_async
from .._running.traces import Performed
from .._words.commands import (
    AnyCommand,
    AsyncInterpreter,
    Awaited,
    Command,
    Handler,
    Handlers,
    Interpreter,
    Misuse,
    interpreter_of,
    join_tables,
)
from .._words.standard_commands import CLOCK, Delay, Log, Now, Pick, Reserve, Throw, Together, throw
from .scripts import DelayedAnswer, Unscripted, given_by
from .virtual_concurrency import interleaved

__tracebackhide__ = True

E = TypeVar("E")

Known: TypeAlias = Delay | Log | Throw | Now | Pick | Reserve  # these need no script

SHOWN = 20  # lines that a report shows at each end of a long list
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Waited:
    """A value that equals each `Delay` of the same seconds; `waited` makes it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Delay | Waited) and self.seconds == other.seconds

    def __hash__(self) -> int:
        return hash((Waited, self.seconds))

    def __repr__(self) -> str:
        return f"waited({self.seconds:g})"


def waited(seconds: float) -> Waited:
    """Make a value that stands for a wait in `World.expect`, because tests cannot make a `Delay`.

    >>> from ixbackoff import N1, at, unroll
    >>> next(unroll(at(N1).wait())) == waited(1)
    True

    Args:
        seconds: the seconds of the wait.
    """
    return Waited(seconds)


class World(Generic[E]):
    """A virtual clock and a trace: the base of `Virtual` and `VirtualAsync`.

    Attributes:
        now: the seconds of virtual time since the beginning.
        trace: the performed commands, in order.
    """

    def __init__(self, scripts: Interpreter[E] | AsyncInterpreter[E]) -> None:
        if not isinstance(scripts, Interpreter | AsyncInterpreter):
            run = "; then program.run(world.interpreter)" if isinstance(scripts, Ladder) else ""
            raise Misuse(f"{scripts!r} is not a script: write Kind.handled_by(answers(...)){run}.")
        self.now = 0.0
        self.trace: list[Performed] = []
        self._scripts = scripts._handlers
        self._missed: Unscripted | None = None
        self._turns = Turns(lambda: self.now)

    @property
    def commands(self) -> list[Command[Any]]:
        """The performed commands, in order, waits included."""
        return [performed.command for performed in self.trace]

    @property
    def waits(self) -> list[float]:
        """The seconds of each wait on the ladder, in order; `lines` has the other waits."""
        return [wait.seconds for wait in self.commands if isinstance(wait, Delay) and wait.rung]

    @property
    def lines(self) -> list[float]:
        """The seconds of each wait in line at a gate, such as a rate limiter, in order."""
        return [wait.seconds for wait in self.commands if isinstance(wait, Delay) and not wait.rung]

    def transcript(self) -> str:
        """Write one line for each performed command: for snapshots.

        Addresses of objects, which differ from run to run, are left out.

        >>> from ixbackoff import N1, Call, NotReady, at, call
        >>> from ixbackoff.testing import Virtual, answers
        >>> world = Virtual(Call.handled_by(answers(NotReady(), "page")))
        >>> at(N1).retry(call(len, "abc")).run(world.interpreter)
        'page'
        >>> print(world.transcript())
             0.000  call(len, 'abc') -> raised NotReady()
             0.000  Delay(seconds=1.0, rung=1) -> None
             1.000  call(len, 'abc') -> 'page'
        """
        return "\n".join(stable(str(performed)) for performed in self.trace)

    def performed(self) -> str:
        """Write the performed commands; of many commands, only the first 20 and the last 20."""
        return "\n".join(_cut(self.trace)) or "nothing"

    def expect(self, *commands: Command[Any] | Waited) -> None:
        """Check that these commands were performed, in this order, and no others.

        Raises:
            AssertionError: other commands were performed. The message lists the commands up to the
                first difference, and the commands that were performed and expected from there on.
        """
        issued = self.commands
        same = 0
        while same < min(len(issued), len(commands)) and commands[same] == issued[same]:
            same += 1
        if same == len(issued) == len(commands):
            return
        missing = [repr(command) for command in commands[same:]]
        expected, performed = [*missing, "no more"][0], [*map(repr, issued[same:]), "no more"][0]
        raise AssertionError(
            f"expected {expected}, performed {performed}"
            + _report(
                self.trace[:same],
                ("not found", missing[:1]),
                ("performed instead", self.trace[same:]),
                ("expected next", missing[1:]),
            )
        )

    def check_all_asked(self) -> None:
        """Raise AssertionError if scripted answers were not used; the message lists them."""
        if left := self._left():
            raise AssertionError(_report(self.trace, ("unused answers", left)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            if self._missed is not None:  # the program caught it
                raise self._missed
            self.check_all_asked()

    def _standard(self) -> Handlers:
        """Return the standard handlers, and one that raises `Unscripted` for all other kinds."""
        known = (
            Delay.handled_by(self._wait)
            | Log.handled_by(lambda _: None)
            | Throw.handled_by(throw)
            | Now.handled_by(lambda _: self.now)
            | Pick.handled_by(lambda _: 0)
            | Reserve.handled_by(self._turns)
        )
        return {AnyCommand: _missed} | known._handlers

    def _wait(self, command: Delay) -> None:
        self.now += command.seconds

    def _taken(self, answer: Any, command: Command[Any]) -> Any:
        """Advance the clock by the seconds of an answer and return it, or raise TimeoutError."""
        if answer.__class__ is not DelayedAnswer:
            return answer
        limit = time_limit()
        if limit is not None and answer.seconds >= limit:
            self.now += limit
            raise TimeoutError(f"{answer!r}: the time limit is {limit:g} s")
        self.now += answer.seconds
        return given_by(answer.answer, command)

    def _failed(self, at: float, command: Command[Any], failure: BaseException) -> None:
        """Record the failure of a command; raise Unscripted with a report if it has no script."""
        if not isinstance(failure, Unscripted):
            self.trace.append(Performed(at, command, None, failure))
            return
        missing = str(failure)
        report = _report(self.trace, ("not found", [missing]), ("expected next", self._left()))
        self._missed = Unscripted(missing + report)
        raise self._missed from None

    def _left(self) -> list[str]:
        left: list[str] = []
        for kind, handler in self._scripts.items():
            unused: list[str] = getattr(handler, "unused", list)()
            left += [f"{kind.__name__}: {answer}" for answer in unused]
        return left


class Virtual(World[E]):
    """A world for tests: scripted handlers, a virtual clock, and a trace.

    Waits take no real time: they advance `now`. `Log`, `Throw`, `Now`, `Pick` and `Reserve` need no
    script: `Now` is answered with the virtual time, and `Pick` with 0.

    >>> from ixbackoff import N2, ServerError, at, Download
    >>> from ixbackoff.testing import Virtual, answers, waited
    >>> page = Download("http://localhost/a", "a")
    >>> with Virtual(Download.handled_by(answers(ServerError(503), None))) as world:
    ...     at(N2).retry(page).run(world.interpreter)
    >>> world.expect(page, waited(1), page)
    >>> world.now
    1.0

    As a context manager it checks at the end that every scripted answer was used.
    """

    def __init__(self, scripts: Interpreter[E]) -> None:
        super().__init__(scripts)
        if not isinstance(scripts, Interpreter):
            raise Misuse("Some of these handlers are awaited: use VirtualAsync.")
        answers = join_tables(self._standard(), scripts._handlers)
        traced = interpreter_of(Interpreter, answers).around(self._answer)
        everything = join_tables(traced._handlers, {Together: self._together})
        self.interpreter: Interpreter[E | Known] = interpreter_of(Interpreter, everything)

    def _answer(self, command: Command[Any], handler: Handler) -> Any:
        if command is CLOCK:
            return self.now
        at = self.now
        try:
            answer = self._taken(handler(command), command)
        except BaseException as error:
            self._failed(at, command, error)
            raise
        self.trace.append(Performed(at, command, answer, None))
        return answer

    def _together(self, command: Together) -> Any:
        return answered(interleaved(command, self), self.interpreter._handlers)


class VirtualAsync(World[E]):
    """A world like `Virtual`, for `run_async` with handlers of which some are awaited.

    If all answers are scripted, `Virtual` serves `run_async` as well as `run`.

    >>> import asyncio
    >>> from ixbackoff import N1, Log, at
    >>> async def say(command: Log) -> None:
    ...     await asyncio.sleep(0)
    >>> world = VirtualAsync(Log.awaited_by(say))
    >>> asyncio.run(at(N1).do(Log("hello")).wait().run_async(world.interpreter))
    >>> world.now
    1.0
    """

    def __init__(self, scripts: AsyncInterpreter[E]) -> None:
        super().__init__(scripts)
        if not isinstance(scripts, AsyncInterpreter):
            raise Misuse("None of these handlers is awaited: use Virtual.")
        answers = join_tables(self._standard(), scripts._handlers)
        traced = interpreter_of(AsyncInterpreter, answers).around(self._answer)
        everything = join_tables(traced._handlers, {Together: Awaited(self._together)})
        self.interpreter: AsyncInterpreter[E | Known] = interpreter_of(AsyncInterpreter, everything)

    async def _answer(self, command: Command[Any], handler: Handler) -> Any:
        if command is CLOCK:
            return self.now
        at = self.now
        try:
            answer: Any = self._taken(await handler(command), command)
        except BaseException as error:
            self._failed(at, command, error)
            raise
        self.trace.append(Performed(at, command, answer, None))
        return answer

    async def _together(self, command: Together) -> Any:
        return await answered_async(interleaved(command, self), self.interpreter._handlers)


def stable(text: str) -> str:
    return ADDRESS.sub("", text)


def _missed(command: Command[Any]) -> Any:
    raise Unscripted(f"{command!r}: this kind has no script")


def _report(trace: Sequence[object], *parts: tuple[str, Sequence[object]]) -> str:
    lines = [""]
    for title, things in (("performed", trace), *parts):
        lines += [f"{title}:", *(f"  {line}" for line in _cut(things) or ["nothing"])]
    return "\n".join(lines)


def _cut(things: Sequence[object]) -> list[str]:
    """Write one line for each thing; of many things, only `SHOWN` at each end."""
    left_out = len(things) - 2 * SHOWN
    if left_out <= 1:
        return [str(thing) for thing in things]
    shown = [*things[:SHOWN], f"... {left_out} more ...", *things[-SHOWN:]]
    return [str(thing) for thing in shown]
