"""A model of the engine of durable runs: the journal, segments, locks, and what is done to a run.

Its commands are what workers ask of it, see `engine_workers`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ixbackoff import Command, Interpreter, NotReady

HOLD = 5.0  # seconds: longer waits are parked
HEAD_START = 2.0  # seconds by which a parked run is taken up before its wait is over

CLEANING = ("clean", "finally")
"""The beginnings of the names of the commands that clean up."""


class Died(Exception):
    """Thrown into a worker instead of an answer: the worker dies there."""


# The commands of a worker.


class Taken(NamedTuple):
    """A segment of the run, as a worker is given it.

    Attributes:
        segment: its number.
        token: what shows that this worker has it.
        entries: what the journal holds, and which segment has kept it.
        resumed: true if it was begun before.
        now: the time.
    """

    segment: int
    token: int
    entries: tuple[tuple[int, str], ...]
    resumed: bool
    now: float


class Said(NamedTuple):
    """The answer of the engine: a word, and the time."""

    word: str
    now: float


@dataclass(frozen=True)
class Take(Command[Taken | None]):
    worker: str


@dataclass(frozen=True)
class Begin(Command[Said]):
    """Begin a command, if the worker is sure of its lock."""

    worker: str
    token: int
    place: str


@dataclass(frozen=True)
class Do(Command[int]):
    """Have the effect of a command."""

    worker: str
    name: str
    place: str
    again: bool


@dataclass(frozen=True)
class Keep(Command[Said]):
    """Keep an entry, if the worker has the run."""

    worker: str
    token: int
    place: str
    entry: str = field(repr=False)


@dataclass(frozen=True)
class Sleep(Command[Said]):
    worker: str
    until: float


@dataclass(frozen=True)
class Park(Command[None]):
    worker: str
    token: int
    until: float


@dataclass(frozen=True)
class End(Command[None]):
    """Tell how the segment ended, if the worker has it; it is in no command any more."""

    worker: str
    token: int
    how: str


@dataclass(frozen=True)
class Die(Command[None]):
    """Have the lock of a dead worker noticed to be free; it starts again."""

    worker: str


@dataclass
class Row:
    """A segment in the database.

    Attributes:
        state: "queued", "had", "parked", "paused", "cancelled" or "over".
        worker: who had it last.
        token: what that one shows.
        due: when it goes on, if it is parked.
        resumes: true if it goes on once its worker has let go of it.
    """

    state: str = "queued"
    worker: str = ""
    token: int = 0
    due: float = 0.0
    resumes: bool = False


@dataclass
class Database:
    """The world: one run, the workers, and what must hold.

    Args:
        broken: the name of the mistake that the engine makes, if it makes one.
    """

    broken: str = field(default="", repr=False)
    rows: list[Row] = field(default_factory=lambda: [Row()], repr=False)
    entries: dict[str, tuple[int, str]] = field(default_factory=dict, repr=False)
    now: float = 0.0
    tokens: int = field(default=0, repr=False)
    lost: set[str] = field(default_factory=set, repr=False)
    performing: dict[str, int] = field(default_factory=dict, repr=False)
    inside: dict[str, dict[str, bool]] = field(default_factory=dict, repr=False)
    begun: Counter[str] = field(default_factory=Counter, repr=False)
    asked: Counter[str] = field(default_factory=Counter, repr=False)
    ends: dict[str, float] = field(default_factory=dict, repr=False)
    excuses: int = field(default=0, repr=False)
    value: str = field(default="", repr=False)

    def interpreter(self) -> Interpreter[Any]:
        return (
            Take.handled_by(self.take)
            | Begin.handled_by(self.begin)
            | Do.handled_by(self.do)
            | Keep.handled_by(self.keep)
            | Sleep.handled_by(self.sleep)
            | Park.handled_by(self.park)
            | End.handled_by(self.end)
            | Die.handled_by(self.die)
        )

    def take(self, command: Take) -> Taken | None:
        """Give a segment that waits for a worker, or that of one that is dead."""
        worker = command.worker
        self.lost.discard(worker)  # it has joined again by now
        for number, row in enumerate(self.rows):
            if self.may_be_taken(row):
                has = row.worker in self.performing and row.worker not in self.lost
                assert not has, f"{worker} is given the run, and {row.worker} has it"
                self.now = max(self.now, row.due)
                self.tokens += 1
                resumed = self.tokens > 1
                row.state, row.worker, row.token, row.resumes = "had", worker, self.tokens, False
                self.performing[worker] = number
                kept = tuple(self.entries.values())
                return Taken(number, row.token, kept, resumed, self.now)
        return None

    def may_be_taken(self, row: Row) -> bool:
        if row.state in ("queued", "parked"):
            return True
        let_go = row.worker not in self.performing or row.worker in self.lost
        if row.state == "paused":
            at_once = self.broken == "a run is resumed while its command runs"
            return row.resumes and (let_go or at_once)
        return row.state == "had" and let_go

    def mine(self, token: int) -> Row | None:
        """The segment of a worker, if it has it still."""
        return next((row for row in self.rows if (row.token, row.state) == (token, "had")), None)

    def refused(self, token: int) -> str:
        """Return the answer for a worker that has lost its segment."""
        row = next(row for row in self.rows if row.token >= token)
        return "cancelled" if row.state == "cancelled" else "lost"

    def begin(self, command: Begin) -> Said:
        worker, token, place = command.worker, command.token, command.place
        if worker in self.lost:
            return Said("lost", self.now)
        state = next((row.state for row in self.rows if row.token == token), "had")
        if state in ("paused", "cancelled"):
            return Said(self.refused(token), self.now)
        for other, keys in self.inside.items():
            if keys and other != worker and other not in self.lost:
                raise AssertionError(f"two at one time: {other} is in {min(keys)}")
        assert place not in self.entries, f"{place} was answered, and is asked again"
        self.check_waits(place)
        self.inside.setdefault(worker, {})[place] = self.begun[place] > 0
        self.begun[place] += 1
        return Said("go", self.now)

    def check_waits(self, place: str) -> None:
        """No command is begun before the waits that come before it are over."""
        path, _, index = place.rpartition(".")
        for wait, end in self.ends.items():
            before, _, number = wait.rpartition(".")
            if path == before and int(number) < int(index):
                assert self.now >= end, f"{place} is begun at {self.now:g}, due at {end:g}"

    def do(self, command: Do) -> int:
        """Have an effect; the first of a name that begins with "busy" fails."""
        worker, name, place = command.worker, command.name, command.place
        cancelled = any(row.state == "cancelled" for row in self.rows)
        again = self.inside.get(worker, {}).pop(place, None)
        if again is not None:
            assert command.again >= again, f"{place} is performed again, without `repeated`"
        else:
            assert cancelled, f"{place} was not begun"
            assert name.startswith(CLEANING), f"{name} is performed, though the run is cancelled"
        self.asked[name] += 1
        if name.startswith("busy") and self.asked[name] == 1:
            raise NotReady(name)
        return len(name)

    def keep(self, command: Keep) -> Said:
        row = self.mine(command.token)
        if row is None and self.broken != "whoever keeps an entry is not asked who it is":
            return Said(self.refused(command.token), self.now)
        number = next((n for n, one in enumerate(self.rows) if one is row), 0)
        assert row is not None, f"{command.place} is kept by one that does not have the run"
        assert number == len(self.rows) - 1, f"{command.place} is kept by a segment that was parked"
        assert command.place not in self.entries, f"{command.place} is kept twice"
        self.entries[command.place] = (number, command.entry)
        entry = json.loads(command.entry)
        if "seconds" in entry:
            self.ends[command.place] = entry["due"]
        return Said("kept", self.now)

    def sleep(self, command: Sleep) -> Said:
        parked = self.performing.get(command.worker, 0) < len(self.rows) - 1
        assert not parked, f"{command.worker} waits in a segment that was parked"
        self.now = max(self.now, command.until)
        return Said("awake", self.now)

    def park(self, command: Park) -> None:
        row = self.mine(command.token)
        if row is None or len(self.rows) > self.rows.index(row) + 1:
            return
        early = min(HEAD_START, (command.until - self.now) / 10)
        self.rows.append(Row("parked", due=command.until - early))

    def end(self, command: End) -> None:
        row = self.mine(command.token)
        if row is not None and command.how != "left":
            row.state = "over"
            if command.how != "parked":
                self.value = command.how
        self.leave(command.worker)

    def leave(self, worker: str) -> None:
        self.performing.pop(worker, None)
        self.inside.pop(worker, None)

    def die(self, command: Die) -> None:
        self.excuses += 1
        self.leave(command.worker)

    # What may be done to the run at any moment.

    def it_is_paused(self) -> None:
        for row in self.rows:
            if row.state in ("queued", "had", "parked"):
                self.excuses += row.state == "had"
                row.state, row.resumes = "paused", False

    def it_is_resumed(self) -> None:
        for row in self.rows:
            row.resumes = row.state == "paused"

    def it_is_cancelled(self) -> None:
        for row in self.rows:
            if row.state in ("queued", "had", "parked", "paused"):
                row.state = "cancelled"

    def worker_a_loses_its_lock(self) -> None:
        if "A" in self.performing:
            self.lost.add("A")
            self.excuses += 1

    def time_goes_by(self) -> None:
        self.now += 6.0

    def repeats_are_excused(self) -> None:
        """Each command is performed once, and once more at most for each death, loss and pause."""
        for place, number in self.begun.items():
            assert number <= 1 + self.excuses, f"{place} was begun {number} times"
