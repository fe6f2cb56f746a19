"""The durable interpreter explored: deaths, parking, take-over, cancel and pause at every point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import N0, N1, Constant, Delay, Do, Now, Schedule, all_of, at, attempt
from ixbackoff.durable import dbos_journal
from ixbackoff.testing.exploring import (
    Broken,
    Drawn,
    Explored,
    Model,
    Surprise,
    fails,
    histories,
    lost,
)

from ..support.generators.programs import effects, programs, schedules
from ..support.models import engine_models as engine
from ..support.models import engine_workers as workers_of_engine
from ..support.models.engine_models import Database, Died
from ..support.models.engine_workers import Ways, worker
from ..support.ways.programs import Ask

pytestmark = pytest.mark.slow

DEATHS = (fails(Died()), lost(Died()))
FAULTS: dict[Any, Sequence[Surprise]] = dict.fromkeys(
    (engine.Begin, engine.Do, engine.Keep, engine.Park, engine.Sleep), DEATHS
)
Change = Callable[[Database], None]
HELD = Constant(3.0)


@pytest.fixture(autouse=True)
def virtual_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbos_journal, "awaitable", lambda: workers_of_engine.sleeping)


@pytest.fixture(autouse=True, scope="module")
def event_loops() -> Iterator[None]:
    yield
    workers_of_engine.close_loops()


def plainly(program: Any) -> str:
    """The value of a plain run, or its failure."""
    answers = (
        Ask.handled_by(lambda command: len(command.name))
        | Delay.handled_by(lambda command: None)
        | Now.handled_by(lambda command: 0.0)
    )
    try:
        return repr(program.run(answers))
    except Exception as failure:
        return repr(failure)


def explored(
    program: Any,
    *changes: Change,
    schedule: Schedule = HELD,
    workers: str = "A",
    broken: str = "",
    **how: Any,
) -> Explored:
    """Explore how workers perform a program; in the end it has its value, unless it was ended."""
    expected = plainly(program)

    def at_end(world: Database, _: object) -> None:
        rests = world.rows[-1].state in ("paused", "cancelled")
        assert world.value == expected or (rests and not world.value), world.value

    model = Model(
        lambda: workers_of_engine.fresh(broken),
        Database.interpreter,
        always=Database.repeats_are_excused,
        changes=changes,
    )
    several = [at(N0).do(worker(name, Ways(program, schedule, broken))) for name in workers]
    given: dict[str, Any] = {
        "faults": FAULTS,
        "at_end": at_end,
        "again": True,
        "may_raise": Exception,
    } | how
    return model.explore(*several, **given)


@attempt
def cleaned(*names: str) -> Do[Ask, int]:
    """Ask for some, and clean up."""
    last = 0
    try:
        for name in names:
            last = yield from Ask(name)
        return last
    finally:
        yield from Ask("clean up")


ROW = at(N1).retry(cleaned("a"))
WAITING = at(N1).wait().do(Ask("a"))
BUSY = at(N1).retry(Ask("busy"))
TOGETHER = at(N1).do(all_of(cleaned("a"), Ask("bb"))).wait().do(Ask("c"))
PARKED = {"schedule": Constant(20.0)}
PAUSED = (Database.it_is_paused, Database.it_is_resumed)
CANCELLED = (Database.it_is_cancelled,)
TAKEN = (Database.worker_a_loses_its_lock,)
LATER = (Database.time_goes_by,)
TWO_WORKERS = {"workers": "AB", "faults": ()}

SEARCHES: dict[str, tuple[Any, Sequence[Change], dict[str, Any]]] = {
    "deaths in a row": (ROW, (), {"surprises": 3}),
    "deaths in a wait": (WAITING, LATER, {}),
    "deaths in a parked wait": (WAITING, LATER, PARKED),
    "deaths between tries": (BUSY, LATER, {}),
    "deaths in all_of": (TOGETHER, (), PARKED),
    "paused in a row": (ROW, PAUSED, {"surprises": 3}),
    "paused in a parked wait": (WAITING, PAUSED, PARKED),
    "paused, with another worker": (ROW, PAUSED, {**TWO_WORKERS, "surprises": 3}),
    "cancelled in a row": (ROW, CANCELLED, {}),
    "cancelled in all_of": (TOGETHER, CANCELLED, PARKED),
    "cancelled and paused": (WAITING, (*CANCELLED, *PAUSED), PARKED),
    "taken over in a row": (ROW, TAKEN, {**TWO_WORKERS, "surprises": 4}),
    "taken over in a parked wait": (WAITING, TAKEN, PARKED | {"workers": "AB"}),
    "taken over in all_of": (TOGETHER, TAKEN, TWO_WORKERS),
}
"""By its name: a program, what may be done to it, and how it is explored."""


@pytest.mark.parametrize(("program", "changes", "how"), SEARCHES.values(), ids=SEARCHES)
def test_what_is_promised_holds(
    program: Any, changes: Sequence[Change], how: dict[str, Any]
) -> None:
    found = explored(program, *changes, **how)
    assert found.histories > 50


MISTAKES: dict[str, tuple[Any, Sequence[Change], dict[str, Any]]] = {
    "answers are not remembered": (at(N1).retry(Ask("a")), (), {}),
    "repeated is not set": (at(N1).retry(Ask("a")), (), {}),
    "the rest of a wait is forgotten": (WAITING, (), {}),
    "what is left of a wait decides whether it is parked": (
        *(WAITING, LATER),
        {"schedule": Constant(8.0)},
    ),
    "whoever keeps an entry is not asked who it is": (
        *(at(N1).wait().end(), TAKEN),
        {**TWO_WORKERS, "schedule": Constant(0.0)},
    ),
    "a run is resumed while its command runs": (ROW, PAUSED, TWO_WORKERS),
}
"""By its name: a mistake of an engine, with a program that shows it."""


@pytest.mark.parametrize("broken", MISTAKES)
def test_a_mistake_is_found_and_printed_in_ten_lines(broken: str) -> None:
    program, changes, how = MISTAKES[broken]
    with pytest.raises(Broken) as caught:
        explored(program, *changes, broken=broken, surprises=3, **how)
    assert len(str(caught.value).splitlines()) <= 10
    with pytest.raises(Broken) as again:
        explored(program, *changes, broken=broken, **how, only=str(caught.value.history))
    assert str(again.value) == str(caught.value)


several = st.lists(effects, min_size=1, max_size=3).map(all_of)
every = programs() | st.builds(
    lambda some, last: at(N1).do(some).map(len).wait().do(last).end(), several, effects
)


@settings(max_examples=150)
@given(every, schedules, histories(surprises=4, apart=6), st.sampled_from(["A", "AB"]))
def test_what_is_promised_holds_for_random_programs(
    program: Any, schedule: Schedule, history: Drawn, workers: str
) -> None:
    changes = (*PAUSED, *CANCELLED, *TAKEN, *LATER)
    explored(program, *changes, schedule=schedule, workers=workers, only=history)
