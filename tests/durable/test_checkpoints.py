"""After a long journal a run continues from a checkpoint, as if it had replayed all of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from ixbackoff import (
    FOREVER,
    N1,
    Constant,
    Crowded,
    Diverged,
    Exponential,
    Gate,
    Interpreter,
    NotReady,
    RetryBudget,
    Schedule,
    at,
    attempt,
    do,
)
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff._words.rungs import DEEPEST
from ixbackoff.durable import current_command, durable, store, worker
from ixbackoff.durable.dbos_internals import tables_of
from ixbackoff.durable.journal import Checkpoint, Entry, Parked
from ixbackoff.durable.performing import run_durably
from ixbackoff.durable.store import Store
from ixbackoff.observing import observed

from ..support.durable.engines import AnyEngine, Said, Say, fails, until, working
from ..support.durable.journals import Memory, told
from ..support.ways.programs import Ask

LONG = DEEPEST + 6  # waits
DAY = 86400.0


class Woken(Memory):
    """A journal in which the waits of earlier segments are over when they are waited for."""

    def __init__(self, kept: list[str], hold: float) -> None:
        super().__init__(kept, hold)
        self.before = set(self.entries)

    async def wait(self, place: str, entry: Entry) -> None:
        await super().wait(place, entry | {"parks": entry["parks"] and place not in self.before})


class Lived:
    """What was performed in a run that was parked again and again."""

    def __init__(self, fails_at: list[int], asks: float | None = None) -> None:
        self.left = fails_at
        self.asks = asks
        self.asked: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.waits: set[float] = set()
        self.wakes: list[int] = []

    def answer(self, command: Ask) -> int:
        mine = current_command()
        assert mine is not None
        self.asked.append((command.name, *mine))
        if self.left and self.left[0] == int(command.name):
            del self.left[0]
            raise NotReady(retry_after=self.asks if len(self.left) == LONG - DEEPEST else None)
        return 7

    def tell(self, event: Any) -> None:
        if told(event)[0] in ("issued", "ended"):
            self.events.append(told(event))
        elif told(event)[0] == "waits":
            self.waits.add(event.seconds)


def lived(
    program: Any,
    how: Defaults,
    fails_at: list[int],
    hold: float,
    checkpoints: bool,
    asks: float | None = None,
) -> Any:
    """Run a program to its end, with a new journal after each parked wait."""
    one, journal, at_checkpoint = Lived(list(fails_at), asks), Woken([], hold), None
    interpreter: Interpreter[Any] = Ask.handled_by(one.answer)
    whole: list[str] = []
    with observed(one.tell):
        while True:
            try:
                value = asyncio.run(run_durably(program, how, interpreter, journal))
            except Parked as parked:
                whole += [text for text in journal.kept if text not in whole]
                kept, before = whole, journal.time
                if checkpoints and parked.checkpoint is not None:
                    stored = json.loads(json.dumps(parked.checkpoint))
                    at_checkpoint = Checkpoint(*stored)
                    kept = [text for text in whole if needed(json.loads(text), at_checkpoint)]
                journal = Woken(kept, hold)
                journal.resumed = True
                if at_checkpoint is not None:
                    journal.before |= {at_checkpoint.place}
                journal.time, journal.checkpoint = before, at_checkpoint
                one.wakes.append(len(kept))
            else:
                return value, one


def needed(entry: Entry, checkpoint: Checkpoint) -> bool:
    place = int(entry["at"].partition("/")[0].removesuffix("w"))
    return place < checkpoint.first or entry["at"] in checkpoint.kept


@attempt
def three() -> Any:
    total = 0
    for name in "123":
        total += yield from Ask(name)
    return total


POLLERS = {
    "retry": at(FOREVER).retry(three()),
    "resume": at(FOREVER).resume(three()),
    "resume, limited": at(FOREVER).resume(three().limit(DAY)),
    "after others": at(FOREVER).do(do(Ask("4"))).then(lambda _: Ask("5")).resume(three()),
    "in a bind": at(FOREVER).do(Ask("4")).bind(lambda _: at(FOREVER).resume(three())),
    "resume and more": at(FOREVER).resume(three()).then(lambda _: Ask("6")),
}


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(POLLERS)),
    st.lists(st.integers(1, 3), min_size=LONG, max_size=LONG + 4),
    st.sampled_from([None, DAY]),
    st.sampled_from([0.0, 1.5]),
)
def test_a_run_from_a_checkpoint_is_the_run_that_replays_everything(
    name: str, fails_at: list[int], within: float | None, hold: float
) -> None:
    fails_at = sorted(fails_at) if name != "retry" else fails_at
    how = Defaults(Exponential(1.0, 1.05), within)
    value, whole = lived(POLLERS[name], how, fails_at, hold, False, 50.0)
    again, one = lived(POLLERS[name], how, fails_at, hold, True, 50.0)
    assert (again, one.asked) == (value, whole.asked)
    assert (one.events, one.waits) == (whole.events, whole.waits)
    if within is None:
        assert one.wakes[-1] < whole.wakes[-1] / 3
    else:
        assert one.wakes == whole.wakes


@pytest.mark.parametrize(
    "how",
    [Defaults(Constant(1.0), DAY), Defaults(Constant(1.0), budget=RetryBudget(10**4))],
    ids=["deadline", "budget"],
)
def test_a_deadline_and_a_budget_count_every_wait_so_all_is_replayed(how: Defaults) -> None:
    again, one = lived(POLLERS["retry"], how, [1] * LONG, 0.0, True)
    value, whole = lived(POLLERS["retry"], how, [1] * LONG, 0.0, False)
    assert (again, one.asked, one.wakes) == (value, whole.asked, whole.wakes)


class Closed(Gate):
    """A gate that refuses the first tries, so that a step parks before it has asked anything."""

    def __init__(self) -> None:
        self.left = LONG

    def enter(self, now: float, came: float, until: float) -> float:  # noqa: ARG002
        self.left -= 1
        if self.left > 0:
            raise Crowded(0)
        return now

    def hear(self, failure: Exception | None, now: float, began: float) -> None: ...

    def leave(self, now: float) -> None: ...


def test_the_key_of_a_command_is_not_that_of_an_equal_one_in_the_step_before() -> None:
    program = at(FOREVER).do(Ask("4")).retry(do(Ask("4")).through(Closed()))
    _, one = lived(program, Defaults(Constant(1.0)), [], 0.0, True)
    assert len({asked[1] for asked in one.asked}) == len(one.asked) == 2


def test_other_code_after_a_checkpoint_diverges_and_performs_nothing() -> None:
    at_it = Checkpoint(1, "98", "1", 25, 25, 25.0, 1.0, [], [0], {})
    for other in (at(FOREVER).retry(three()), at(N1).retry(three()), POLLERS["after others"]):
        asked = Lived([])
        journal = Woken(['{"at": "98w"}'], 0.0)
        journal.checkpoint = at_it
        interpreter = Ask.handled_by(asked.answer)
        with pytest.raises(Diverged, match="where it had issued the tries of a retry step"):
            asyncio.run(run_durably(other, Defaults(Constant(1.0)), interpreter, journal))
        assert asked.asked == []


def test_jitter_is_drawn_anew_for_each_wait_after_a_checkpoint() -> None:
    def waits(schedule: Schedule) -> list[float]:
        seconds: list[float] = []

        def note(event: Any) -> None:
            seconds.extend([event.seconds] if told(event)[0] == "waits" else [])

        with observed(note):
            lived(POLLERS["retry"], Defaults(schedule), [3] * LONG, 0.0, True)
        return sorted(set(seconds))

    several = waits(Exponential(1.0, 1.5, cap=2.0).jittered())
    assert len([one for one in several if one > 2.0]) >= 3
    assert waits(Constant(1.0)) == [1.0]


@contextmanager
def waking(engine: AnyEngine) -> Generator[None]:
    """Wake parked runs as soon as they are due: DBOS does so once a second."""
    over = threading.Event()
    assert engine._worker is not None
    dbos: Any = engine._worker.dbos

    def wake() -> None:
        while not over.wait(0.005):
            with suppress(Exception):
                dbos._sys_db.transition_delayed_workflows()

    thread = threading.Thread(target=wake)
    thread.start()
    yield
    over.set()
    thread.join()


@durable(name="poll", schedule=Constant(0.002))
def poll() -> Any:
    return at(FOREVER).retry(Say("busy"))


def dies_after_one_batch(keys: list[str]) -> Iterator[list[str]]:
    yield keys[:3]
    raise KeyboardInterrupt


def rows_left(engine: AnyEngine) -> int:
    """Return how many rows of workflows a database has, in all its tables."""
    tables = [one for one in tables_of(engine.store._client) if "workflow_uuid" in one.c]
    with engine.store.engine().begin() as connection:
        counted = (select(func.count()).select_from(table) for table in tables)
        return sum(connection.scalar(count) or 0 for count in counted)


@pytest.mark.slow
def test_a_wake_after_many_parked_waits_reads_two_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a run that was killed then, or paused, goes on from the same checkpoint."""
    monkeypatch.setattr(worker, "POLL", 0.005)
    read: list[int] = []
    steps_of = Store.steps_of

    def counted(store: Store, segments: list[str]) -> Any:
        read.append(len(segments))
        return steps_of(store, segments)

    monkeypatch.setattr(Store, "steps_of", counted)
    said = Said(busy=fails(*[NotReady()] * (LONG + 3), "done"))
    for number in (LONG // 2, LONG, LONG + 3):
        with working(tmp_path, said.interpreter, poll, hold=0.0) as engine, waking(engine):
            engine.start_with_id("one", poll)
            until(partial(said.reaches, number))
    with working(tmp_path, said.interpreter, poll, hold=0.0) as engine, waking(engine):
        assert engine.start_with_id("one", poll).result() == "done"
        assert set(read[-3:]) == {2}
        assert len(engine.store.segments("one")) == LONG + 4
        assert engine.run("one").summary[4:] == (1, LONG + 3, "done")
    assert max(read) == DEEPEST + 1
    assert LONG + 4 <= len(said.what) <= LONG + 7  # one more if closed before it was recorded
    places = [place for _, place, repeated in said.places if not repeated]
    assert len(places) == len(set(places))


def test_a_long_run_is_forgotten_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between two of them leaves the run as it ended, to be forgotten again."""
    monkeypatch.setattr(worker, "POLL", 0.005)
    monkeypatch.setattr(store, "BATCH", 3)
    said = Said(busy=fails(*[NotReady()] * 7, "done"))
    with working(tmp_path, said.interpreter, poll, hold=0.0) as engine, waking(engine):
        assert engine.start_with_id("one", poll).result() == "done"
        with monkeypatch.context() as dying:
            dying.setattr(store, "batched", dies_after_one_batch)
            with pytest.raises(KeyboardInterrupt):
                engine.store.forget("one")
        assert [run.state for run in engine.runs()] == ["done"]
        assert engine.start_with_id("one", poll).result() == "done"
        assert len(said.what) == 8
        assert engine.store.forget("one")
        assert engine.store.segments("one") == []
        assert rows_left(engine) == 0
