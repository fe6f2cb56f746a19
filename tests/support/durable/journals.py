"""A journal in memory, and the events of plain and of durable runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ixbackoff import Interpreter
from ixbackoff._meaning.chains import Ladder
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff._running.command_loops import AnyInterpreter
from ixbackoff.durable.journal import Checkpoint, Entry, Make, MakeAsync, Parked, after
from ixbackoff.durable.performing import run_durably
from ixbackoff.observing import (
    Answered,
    Began,
    BreakerChanged,
    Ended,
    Event,
    Hedged,
    Issued,
    WaitBegan,
    observed,
)

SEED = 7

A = TypeVar("A")


class Memory:
    """A journal in memory: what it returns went through JSON, as in a database.

    Args:
        kept: the entries that an earlier process kept, as JSON, in order.
        hold: waits of more seconds are parked.
    """

    run = "memory"
    seed = SEED
    began = 0.0
    checkpoint: Checkpoint | None = None
    closing = False
    crowded = False

    def __init__(self, kept: Sequence[str] = (), hold: float = 1e9) -> None:
        self.kept = list(kept)
        self.resumed = bool(kept)
        self.hold = hold
        self.time = 0.0
        self.entries: dict[str, Entry] = {}
        for text in kept:
            entry: Entry = json.loads(text)
            self.entries[entry["at"]] = entry

    def known(self, place: str) -> Entry | None:
        return self.entries.get(place)

    def now(self) -> float:
        return self.time

    def parks(self, seconds: float) -> bool:
        return seconds > self.hold

    async def in_thread(self, function: Callable[[], A]) -> A:
        return function()

    def keep(self, place: str, kind: str, make: Make) -> Entry:  # noqa: ARG002
        return self.kept_at(place, make())

    async def keep_async(self, place: str, kind: str, make: MakeAsync) -> Entry:  # noqa: ARG002
        return self.kept_at(place, await make())

    def kept_at(self, place: str, made: Entry) -> Entry:
        text = json.dumps(made)
        self.kept.append(text)
        entry: Entry = json.loads(text)
        self.entries[place] = entry
        return entry

    async def wait(self, place: str, entry: Entry) -> None:
        if entry["parks"]:
            raise Parked(entry["seconds"])
        self.time += entry["seconds"]
        self.keep(after(place), "waited", lambda: {"at": after(place)})


class Outcome(NamedTuple):
    """The events of a run, and how it ended."""

    events: list[tuple[Any, ...]]
    value: Any
    failure: tuple[Any, ...] | None
    notes: list[str]


def told(event: Event) -> tuple[Any, ...]:
    """An event as something that can be compared."""
    match event:
        case Began():
            return ("began", event.run.name)
        case Issued():
            return ("issued", repr(event.command), event.run.tries)
        case Answered():
            return ("answered", repr(event.issued.command), repr(event.failure))
        case WaitBegan():
            return ("waits", event.seconds, event.rung, repr(event.failure))
        case Ended():
            return (
                "ended",
                event.reason,
                repr(event.failure),
                event.run.wait_count,
                event.run.wait_seconds,
            )
        case BreakerChanged():
            return ("breaker", event.state)
        case Hedged():
            return ("hedged", event.after, event.won)


def outcome_of(run: Callable[[], Any]) -> Outcome:
    """The events of what `run` does, and how it ends."""
    events: list[tuple[Any, ...]] = []
    with observed(lambda event: events.append(told(event))):
        try:
            return Outcome(events, run(), None, [])
        except Exception as failure:
            said = (type(failure), *failure.args)
            return Outcome(events, None, said, [*map(str, getattr(failure, "__notes__", []))])


def durably(program: Ladder, interpreter: AnyInterpreter, how: Defaults, journal: Memory) -> Any:
    """Run a program with a journal in memory."""
    return asyncio.run(run_durably(program, how, interpreter, journal))


def durable_outcome(
    program: Ladder, interpreter: Interpreter[Any], how: Defaults, journal: Memory
) -> Outcome:
    return outcome_of(lambda: durably(program, interpreter, how, journal))
