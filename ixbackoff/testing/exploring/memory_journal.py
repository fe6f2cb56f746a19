"""The journal, in memory, of a process that is resumed durably after its death."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ..._running.concurrent_effects import Aborted
from ..._words.commands import Command
from ..._words.standard_commands import Delay
from ...durable.codec import encode, encode_failure
from ...durable.command_digests import digest_of
from ...durable.journal import Entry, Journal, Line, Make, MakeAsync, after
from ...durable.performing import judged

__tracebackhide__ = True

A = TypeVar("A")


class RecordedAnswer(NamedTuple):
    """The outcome of a command; `times` are the clock readings since the previous command."""

    command: Command[Any]
    answer: Any
    failure: BaseException | None
    times: Sequence[float]
    judged: Entry  # the judgements of the failure, as a durable journal records them


class MemoryJournal(Journal):
    """The journal of one run; an entry is encoded as JSON when a process first reads it."""

    def __init__(self, run: str, began: float) -> None:
        self.run = run
        self.seed = 0  # the same for all runs: idempotency keys also depend on the id of the run
        self.resumed, self.checkpoint = False, None
        self.began = self.time = began  # in seconds of virtual time
        self.answers: dict[str, RecordedAnswer] = {}
        self.keys: dict[str, int] = {}  # the hash of all answers of each strand, by its path
        self.entries: dict[str, Entry] = {}

    @property
    def closing(self) -> bool:
        return False

    def now(self) -> float:
        return self.time

    def parks(self, seconds: float) -> bool:  # noqa: ARG002
        return False

    @property
    def crowded(self) -> bool:
        return False

    async def in_thread(self, function: Callable[[], A]) -> A:
        raise NotImplementedError

    def keep(self, place: str, kind: str, make: Make) -> Entry:
        raise NotImplementedError

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:
        raise NotImplementedError

    async def wait(self, place: str, entry: Entry) -> None:
        raise NotImplementedError

    def known(self, place: str) -> Entry | None:
        entry = self.entries.get(place)
        if entry is None and place in self.answers:
            entry = self.entries[place] = entry_of(place, self.answers[place])
        return entry

    def record(self, line: Line, command: Command[Any], answer: Any, failure: Any) -> None:
        known = judged(line, failure) if isinstance(failure, Exception) else {}
        recorded = RecordedAnswer(command, answer, failure, tuple(line.times), known)
        self.answers[line.place] = recorded
        if command.__class__ is Delay:
            self.answers[after(line.place)] = recorded


def entry_of(place: str, recorded: RecordedAnswer) -> Entry:
    """Encode the entry of a command; raise Unrecordable if the answer cannot be encoded."""
    command, answer, failure, times, known = recorded
    entry = {"at": place, "c": [*digest_of(command)], "t": [*times]}
    if isinstance(failure, Aborted):
        return entry | {"x": True}
    if isinstance(command, Delay):
        return entry | {"seconds": command.seconds}
    if failure is not None:
        return entry | known | {"f": encode_failure(failure)}
    return entry | {"a": encode(answer)}
