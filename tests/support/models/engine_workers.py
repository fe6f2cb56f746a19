"""Workers of a modelled engine: programs whose commands are those of the engine.

What a worker does with a run is done by the real `run_durably`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import suppress
from contextvars import ContextVar
from selectors import SelectorKey, SelectSelector
from types import SimpleNamespace
from typing import Any, NamedTuple

from ixbackoff import AsyncInterpreter, Command, Now, Pick, Schedule, attempt
from ixbackoff._meaning.chains import Ladder
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.durable.dbos_journal import SegmentJournal
from ixbackoff.durable.idempotency import current_command
from ixbackoff.durable.journal import (
    Cancelled,
    Entry,
    Make,
    MakeAsync,
    Parked,
    RunLost,
)
from ixbackoff.durable.performing import run_durably
from ixbackoff.durable.store import NewRun

from ..ways.programs import Ask
from .engine_models import (
    HOLD,
    Begin,
    Database,
    Die,
    Died,
    Do,
    End,
    Keep,
    Park,
    Said,
    Sleep,
    Take,
    Taken,
)

SEED = 7


class Ways(NamedTuple):
    """The run that is performed, and how.

    Attributes:
        program: its program.
        schedule: the seconds of its waits.
        broken: the name of the mistake that the worker makes, if it makes one.
    """

    program: Ladder
    schedule: Schedule
    broken: str = ""


@attempt
def worker(name: str, ways: Ways) -> Generator[Any, Any, None]:
    """Take the run whenever it is there; die, and start again."""
    goes_on = True
    while goes_on:
        try:
            taken: Taken | None = yield from Take(name)
            goes_on = taken is not None and (yield from Performance(name, ways, taken).steps())
        except Died:
            yield from Die(name)


class Performance:
    """One segment of a run, as one worker performs it: `run_durably` on an event loop of its own.

    Its tasks wait for the engine, which is asked for one of them after the other.
    """

    def __init__(self, worker: str, ways: Ways, taken: Taken) -> None:
        self.worker = worker
        self.ways = ways
        self.taken = taken
        self.now = taken.now
        self.over = False
        self.waiting: list[tuple[Command[Any], asyncio.Future[Any]]] = []
        BEGUN.append(self)
        self.loop = LOOPS.pop() if LOOPS else Settling()
        self.journal = Journaled(self)
        self.task = self.loop.create_task(self.performed())

    async def performed(self) -> str:
        CURRENT.set(self)
        interpreter: AsyncInterpreter[Any] = Ask.awaited_by(self.answer) | Now.awaited_by(self.tell)
        program, how = self.ways.program, Defaults(self.ways.schedule)
        try:
            value = await run_durably(program, how, interpreter, self.journal)
        except Parked as parked:
            await self.ask(Park(self.worker, self.taken.token, self.now + parked.seconds))
            return "parked"
        except RunLost:
            return "left"
        except Cancelled:
            return "left"
        except Exception as failure:  # the last failure of the run
            return repr(failure)
        return repr(value)

    async def tell(self, _: Now) -> float:
        return self.now

    async def answer(self, command: Ask) -> int:
        mine = current_command()
        assert mine is not None
        again = mine.repeated and self.ways.broken != "repeated is not set"
        answer: int = await self.ask(Do(self.worker, command.name, mine.place[4:], again))
        return answer

    def steps(self) -> Generator[Any, Any, bool]:
        """Perform the segment: issue what its tasks ask of the engine; false if the run is over."""
        self.settle()
        while not self.task.done():
            which = (yield from Pick(len(self.waiting))) if len(self.waiting) > 1 else 0
            command, future = self.waiting.pop(which)
            try:
                said: Any = yield from command
            except Died:
                raise
            except Exception as error:  # the failure of an effect
                future.set_exception(error)
            else:
                if isinstance(said, Said):
                    self.now = said.now
                future.set_result(said)
            self.settle()
        how = self.task.result()
        yield from End(self.worker, self.taken.token, how)
        return how in ("parked", "left")

    def settle(self) -> None:
        """Let the tasks go on until each of them waits."""
        self.loop.run_forever()
        self.waiting = [one for one in self.waiting if not one[1].done()]

    async def ask(self, command: Command[Any]) -> Any:
        """Ask the engine: from a task."""
        if self.over:
            raise RunLost
        future: asyncio.Future[Any] = self.loop.create_future()
        self.waiting.append((command, future))
        return await future

    def end(self) -> None:
        """End its tasks where they are: as if its process had died."""
        self.over = True
        if not self.task.done():
            self.task.cancel()
            self.loop.run_forever()  # until its own tasks have ended, too
            with suppress(BaseException):
                self.task.result()
        LOOPS.append(self.loop)


BEGUN: list[Performance] = []
"""Those of the present history; they end when the next one begins."""


class Settling(asyncio.SelectorEventLoop):
    """An event loop that runs until each of its tasks waits; it waits for nothing itself."""

    def __init__(self) -> None:
        super().__init__(Idle(self))


class Idle(SelectSelector):
    """Stops its event loop when that would wait; nothing comes from outside."""

    def __init__(self, loop: Settling) -> None:
        super().__init__()
        self.loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout != 0:
            self.loop.stop()
        return []


LOOPS: list[Settling] = []
"""Event loops on which nothing runs: to make one takes longer than to look at a history."""

CURRENT: ContextVar[Performance] = ContextVar("current")


def fresh(broken: str) -> Database:
    """Make the world of a history, and end what the history before it has left."""
    while BEGUN:
        BEGUN.pop().end()
    return Database(broken)


def close_loops() -> None:
    """Close all event loops, after the last exploration."""
    fresh("")
    while LOOPS:
        LOOPS.pop().close()


async def sleeping(seconds: float) -> None:
    """Sleep on the clock of the model: in place of the function that sleeps."""
    one = CURRENT.get()
    await one.ask(Sleep(one.worker, one.now + seconds))


class Journaled(SegmentJournal):
    """The journal of a segment; its waits are those of the real engine."""

    def __init__(self, performance: Performance) -> None:
        taken = performance.taken
        home: Any = SimpleNamespace(hold=HOLD)
        held: Any = None  # the model has locks of its own
        super().__init__(home, NewRun("workflow", {"seed": SEED}, "run"), taken.segment, held)
        self.performance = performance
        self.broken = performance.ways.broken
        self.resumed = taken.resumed
        entries = [(number, json.loads(text)) for number, text in taken.entries]
        self.entries = {one["at"]: one for _, one in entries}
        self.before = frozenset(one["at"] for number, one in entries if number < taken.segment)
        if self.broken == "answers are not remembered":
            self.entries = {at: one for at, one in self.entries.items() if "a" not in one}

    @property
    def closing(self) -> bool:
        return self.performance.over

    @property
    def crowded(self) -> bool:
        return False

    def now(self) -> float:
        return self.performance.now

    async def in_thread(self, function: Any) -> Any:
        self.made: Entry | None = None
        value = function()
        made, self.made = self.made, None
        if made is not None:
            await self.commit(made["at"], made)
        return value

    def keep(self, place: str, kind: str, make: Make) -> Entry:  # noqa: ARG002
        entry: Entry = json.loads(json.dumps(make()))
        if "boot" in entry:  # that clock is the same in no two runs of a test
            entry["boot"], entry["boot_due"] = "", 0.0
        self.made = entry
        return entry

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:
        one = self.performance
        if kind != "waited":
            answered(await one.ask(Begin(one.worker, one.taken.token, place)))
        entry: Entry = json.loads(json.dumps(await make()))
        await self.commit(place, entry)
        return entry

    async def commit(self, place: str, entry: Entry) -> None:
        one = self.performance
        text = json.dumps(entry)
        answered(await one.ask(Keep(one.worker, one.taken.token, place, text)))
        self.entries[place] = entry

    async def wait(self, place: str, entry: Entry) -> None:
        if self.broken == "what is left of a wait decides whether it is parked":
            entry = {**entry, "parks": self.left(entry) > HOLD}
        await super().wait(place, entry)

    def left(self, entry: Entry) -> float:
        if self.broken == "the rest of a wait is forgotten" and self.resumed:
            return 0.0
        return super().left(entry)


def answered(said: Said) -> None:
    """Go on, if the engine says so.

    Raises:
        RunLost: the worker does not have the run any more.
        Cancelled: the run was.
    """
    if said.word == "cancelled":
        raise Cancelled
    if said.word == "lost":
        raise RunLost
