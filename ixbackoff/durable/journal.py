"""The journal of a durable run: the entries of its commands by their places, in any store."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from .._meaning.replay import Diverged
from .._running.concurrent_effects import branches
from .._words.commands import Command, Stream
from .._words.end_reasons import Reason
from .._words.failure_classes import Predicate
from .._words.rungs import DEEPEST, ENDLESS
from .._words.standard_commands import CLOCK, Delay, Passage, Refused, Together, issued_in_line
from .command_digests import CommandDigest, digest_of
from .idempotency import CurrentCommand, idempotency_key

if TYPE_CHECKING:
    from .._meaning.run_state import ProgramRun

__tracebackhide__ = True

ENDLESS_RETRY = CommandDigest("", "", "the tries of a retry step")

A = TypeVar("A")

Entry: TypeAlias = dict[str, Any]
"""The record of one command, as JSON.

- `at`: the place of the command: its index, such as `3`, or `3/0.1` in a branch of `all_of`.
- `c`: its digest, see `CommandDigest`.
- `t`: the times that deadlines have read since the previous command.
- `r`: the number of waits that the budget has refused since the previous command; missing if 0.
- `g`: the number of gates that were asked since the previous command; only in the record of a
  refusal by a gate, or of a try that was aborted while it stood in line.
- `a`, `f` or `x`: the answer; the failure; or `true` if the command was aborted because a
  concurrent effect had failed.
- `v`: the verdict on the failure that was raised, with the name of the failure's class.
- `on`: the answers of the predicates in `Line.ons`, innermost first: each a bool or seconds.
  `v`, or an answer in `on`, is `None` if judging raised an exception.
- `in`: the number of the segment (a part of the run between parked waits); added in memory only.
- `seconds`, `due`, `parks`, `boot`, `boot_due`: the length of a wait; its end, in seconds since the
  epoch; whether it is parked; the id of the boot, and the end on the boot clock.
"""

Make: TypeAlias = Callable[[], Entry]
MakeAsync: TypeAlias = Callable[[], Coroutine[Any, Any, Entry]]


class RunReleased(BaseException):
    """The end of a run in this process, without clean-up."""

    reason: Reason = "cancelled"  # for observers


class RunLost(RunReleased):
    """The process has lost the run: to another process, by a pause, or because the engine ends."""


class Checkpoint(NamedTuple):
    """The state of a run in a parked wait at `FOREVER`, so that its tries need not be replayed."""

    first: int  # the index of the first command of the retry step
    place: str  # the place of the wait
    origin: str  # see `Line.origin`
    tries: int  # the number of tries so far
    waits: int  # the number of waits so far
    seconds: float  # the seconds of these waits in sum
    shortest: float  # the seconds of this wait
    kept: list[str]  # the places of the answers that the next try reuses
    segments: list[int]  # the earlier segments with these answers, or with commands before the step
    wait: Entry  # the times in the entry of this wait


class Parked(RunReleased):
    """A wait so long that no process holds the run during it; `seconds` of the wait are left."""

    reason: Reason = "parked"
    checkpoint: Checkpoint | None = None

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self) -> float:
        return max(self._until - time.monotonic(), 0.0)


class Cancelled(BaseException):
    """The run was cancelled: its `finally` blocks run, without further records."""


class Journal(Protocol):
    """The store of the entries of one run."""

    run: str
    seed: int  # each start of a run, even with the same id, has its own seed
    resumed: bool  # whether the run began before, in this process or in another one
    began: float  # the start of the run, in seconds since the epoch
    checkpoint: Checkpoint | None  # `None` if the whole journal is replayed

    @property
    def closing(self) -> bool:
        """True once this process performs no more commands."""
        raise NotImplementedError

    def known(self, place: str) -> Entry | None:
        raise NotImplementedError

    def now(self) -> float:
        """Return the seconds since the epoch, on a clock that all processes share."""
        raise NotImplementedError

    def parks(self, seconds: float) -> bool:
        """Return whether a run that waits for `seconds` is parked, so that no process holds it."""
        raise NotImplementedError

    @property
    def crowded(self) -> bool:
        """True while no thread is free: other runs may be waiting for a thread."""
        raise NotImplementedError

    async def in_thread(self, function: Callable[[], A]) -> A:
        """Call a function in a thread, in the context of the caller; return its value."""
        raise NotImplementedError

    def keep(self, place: str, kind: str, make: Make) -> Entry:
        """Make an entry and record it, both in this thread; return the recorded entry.

        Raises:
            RunLost: this process no longer has the run; the entry may have been recorded.
            Cancelled: the run was cancelled.
        """
        raise NotImplementedError

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:
        """Make an entry on the event loop and record it, as `keep` does in a thread."""
        raise NotImplementedError

    async def wait(self, place: str, entry: Entry) -> None:
        """Wait until the wait at `place` is over.

        Raises:
            Parked: the wait is parked.
            RunLost: this process no longer has the run.
            Cancelled: the run was cancelled.
        """
        raise NotImplementedError


@dataclass(eq=False)
class Line:
    """A sequence of commands: those of a program, or of one effect in `all_of`."""

    journal: Journal
    path: str = ""  # the beginning of the places of the commands
    again: bool = False  # whether the next command may have been performed before
    # origin: the place where the current retry step began; outside of a retry, the current place
    origin: str = ""
    checkpoint: Checkpoint | None = None  # where the retry step at `FOREVER` will continue

    def __post_init__(self) -> None:
        self.began = 0  # the index at which the last retry step began
        self.replays = False  # whether the run replays its whole journal, without checkpoints
        # again_at: the places of the kept answers that the first try after a checkpoint reads again
        self.again_at: list[str] = []
        self.run: ProgramRun | None = None  # the program's run; `None` in an effect of `all_of`
        self.index = 0
        self.digest = CommandDigest("", "", "")  # of the current command
        # tried: the digests of the commands of the current try, the current one included
        self.tried: list[str] = []
        self.places: list[str] = []  # the places of these commands
        self._kept: Sequence[object] | None = None  # `run.kept` at the last command
        self._retries = 0  # `run.retries` at the last command
        # ons: the `on=`s that may judge a failure of the current command, innermost last
        self.ons: list[Predicate] = []
        self.times: list[float] = []  # read by deadlines since the previous command
        self.refused = 0  # the number of waits that the budget refused since the previous command
        self.gates = 0  # the number of gates that were asked since the previous command
        self.aborting = False  # whether this effect aborts, because a concurrent one has failed
        self.aborted = False  # whether this effect was aborted

    @property
    def place(self) -> str:
        return self.again_at[0] if self.again_at else f"{self.path}{self.index}"

    def follow(self, run: ProgramRun) -> None:
        self.run, run.ons = run, self.ons

    def begin_retries(self) -> None:
        """Note where a retry step begins; let an endless one continue at the checkpoint."""
        self.began, before, run = self.index, self.checkpoint, self.run
        if before is None or run is None or (run.rung, self.index) != (ENDLESS, before.first):
            return
        self.checkpoint, self.again_at = None, list(before.kept)
        self.index, self.origin, self.times = int(before.place) + 1, before.origin, []
        self.tried, self.places, self._kept = [], [], run.kept
        run.tries, run.wait_count, run.wait_seconds = before.tries, before.waits, before.seconds
        run.shortest, run.retries = before.shortest, before.waits
        self._retries = run.retries
        if run.mark is not None:
            run.mark[1] = run.retries
        run.chance = Random(f"{self.journal.seed} {before.waits}")  # noqa: S311
        waits = run.begin()
        for k in range(DEEPEST):
            waits(k)

    def parked_at(self, wait: Entry) -> Checkpoint | None:
        """Return the checkpoint after the current wait; `None` if all of the journal is needed."""
        run = self.run
        if self.replays or run is None or run.rung != ENDLESS or run.wait_count < DEEPEST:
            return None
        if run.kept is not self._kept:  # the current step has not issued a command yet
            return None
        kept = self.places[: len(run.kept or ())]
        found_in = {(self.journal.known(place) or {}).get("in", 0) for place in kept}
        return Checkpoint(
            *(self.began, self.place, self.origin, run.tries, run.wait_count + 1),
            *(run.wait_seconds + run.shortest, run.shortest, kept, sorted({0} | found_in)),
            {name: wait[name] for name in ("seconds", "due", "parks", "boot", "boot_due")},
        )

    def identify(self, command: Command[Any]) -> None:
        """Make `command` the current one: digest it, and count it in its try."""
        if command is CLOCK or isinstance(command, Passage):
            return
        self.digest = digest_of(command)
        if issued_in_line(command) or isinstance(command, Delay | Refused):
            return
        run = self.run
        if run is not None:
            if run.kept is None or run.kept is not self._kept:
                self.origin, self.tried, self.places = self.place, [], []
            elif run.retries != self._retries:
                del self.tried[len(run.kept) :], self.places[len(run.kept) :]
            self._kept, self._retries = run.kept, run.retries
        self.tried.append(self.digest.digest)
        self.places.append(self.place)

    @property
    def first_try(self) -> str:
        """A name of the current command, which all tries of the command in a step share."""
        return f"{self.origin}.{self.tried.count(self.digest.digest)}"

    def fork(
        self, command: Together, again: bool, most: int | None = None
    ) -> list[tuple[Stream, Line]]:
        """Return stream and line of each effect of `command`, or of its first `most` effects."""
        found: list[tuple[Stream, Line]] = []
        ons = [[*self.ons] for _ in command.effects]
        for number, stream in enumerate(branches(command, ons)[:most]):
            origin = f"{self.first_try}/{number}"
            branch = Line(self.journal, f"{self.place}/{number}.", again, origin)
            branch.ons = ons[number]
            found.append((stream, branch))
        return found

    def current(self, again: bool) -> CurrentCommand:
        """Return the current command, as its handler sees it."""
        run = self.journal.run
        key = idempotency_key(run, self.journal.seed, self.first_try, self.digest)
        return CurrentCommand(key, again, f"{run}:{self.place}")

    def next(self) -> None:
        self.gates = 0
        if self.again_at:
            del self.again_at[0]
            return
        self.index += 1
        self.times = []
        self.refused = 0

    def clock(self) -> float:
        """Return the time for a deadline: the recorded time if an earlier process has read it."""
        if self.again_at and self.times:
            return self.times[-1]
        place, number = f"{self.path}{self.index}", len(self.times)
        entry = self.journal.known(place)
        known: list[float] = [] if entry is None else entry["t"]
        if number < len(known):
            now = known[number]
        elif place == "0" and not number:
            now = self.journal.began
        else:
            now = self.journal.now()
        self.times.append(now)
        return now

    def first_again(self) -> bool:
        """Return `self.again`, and set it to false, because it is true of one command only."""
        again, self.again = self.again, False
        return again

    def entry(self, **outcome: Any) -> Entry:
        refused = {"r": self.refused} if self.refused else {}
        if self.digest.kind in ("Line", "Refused"):
            outcome["g"] = self.gates
        return {"at": self.place, "c": [*self.digest], "t": self.times, **refused, **outcome}

    def diverged(self, entry: Entry | None) -> Diverged | None:
        """Return an error if the program issues another command than the recorded one."""
        if entry is None and self.checkpoint is None:
            return None
        theirs = CommandDigest(*entry["c"]) if entry is not None else ENDLESS_RETRY
        if theirs[:2] == self.digest[:2]:
            return None
        return Diverged(
            f"Run {self.journal.run} has diverged from its journal: at {self.place} it issued "
            f"{self.digest.shown} where it had issued {theirs.shown}; ask for time, chance and "
            "outside state by commands. If the program was changed, resume the run with the code "
            "that began it."
        )


def after(place: str) -> str:
    """Return the place of the entry that records the end of a wait."""
    return f"{place}w"
