"""A durable run that is never killed is the plain run; a killed one goes on as it would have."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N2, Delay, Interpreter, Log, Now, RetryBudget, Schedule, all_of, at, do
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.durable.journal import Parked

from ..support.durable.journals import Memory, durable_outcome, durably, outcome_of
from ..support.generators.programs import effects, outcomes, programs, schedules, values
from ..support.ways.programs import Ask, Outcomes, asking


def scripted(script: Outcomes, asked: list[str], clock: Memory | None = None) -> Interpreter[Any]:
    """Answers with one outcome after the other; waits move the clock."""
    world = clock or Memory()

    def wait(command: Delay) -> None:
        world.time += command.seconds

    return (
        Ask.handled_by(asking(script, asked))
        | Delay.handled_by(wait)
        | Log.handled_by(lambda command: asked.append(repr(command)))
        | Now.handled_by(lambda command: world.time)
    )


limits = st.none() | st.floats(0, 50)


@given(programs(), outcomes, schedules, limits)
def test_a_run_that_is_never_killed_is_the_plain_run(
    program: Any, script: Any, schedule: Schedule, within: float | None
) -> None:
    plainly: list[str] = []
    durably: list[str] = []
    how = Defaults(schedule, within)
    plain = outcome_of(
        lambda: program.run(scripted(script, plainly), schedule=schedule, within=within)
    )
    assert durable_outcome(program, scripted(script, durably), how, Memory()) == plain
    assert durably == plainly


@given(programs(), outcomes, schedules, st.integers(1, 5))
def test_a_budget_is_that_of_the_plain_run(
    program: Any, script: Any, schedule: Schedule, tokens: int
) -> None:
    one, other = RetryBudget(tokens), RetryBudget(tokens)
    plain = outcome_of(lambda: program.run(scripted(script, []), schedule=schedule, budget=one))
    how = Defaults(schedule, budget=other)
    assert durable_outcome(program, scripted(script, []), how, Memory()) == plain
    assert other.left == one.left


@given(programs(), outcomes, schedules, limits, st.data())
def test_replay_of_any_prefix_goes_on_with_the_rest(
    program: Any, script: Any, schedule: Schedule, within: float | None, data: st.DataObject
) -> None:
    how = Defaults(schedule, within, RetryBudget(3))
    asked: list[str] = []
    journal = Memory()
    whole = durable_outcome(program, scripted(script, asked), how, journal)
    cut = data.draw(st.integers(0, len(journal.kept)), "entries that were kept")

    killed = Memory(journal.kept[:cut])
    killed.time = journal.time if cut == len(journal.kept) else time_at(journal.kept[:cut])
    performed = [entry for entry in map(json.loads, killed.kept) if is_of(entry, "Ask")]
    left = asking_from(script, len(performed))
    again: list[str] = []
    rest = durable_outcome(
        program, scripted(left, again), how.replace(None, None, RetryBudget(3)), killed
    )
    assert (rest.value, rest.failure, rest.notes) == (whole.value, whole.failure, whole.notes)
    assert again == asked[len(performed) :]
    assert kept_by(killed.kept) == kept_by(journal.kept)
    assert rest.events[1:] == whole.events[len(whole.events) - len(rest.events) + 1 :]


def is_of(entry: dict[str, Any], kind: str) -> bool:
    return "c" in entry and entry["c"][0] == kind


def time_at(kept: list[str]) -> float:
    """The virtual time when the last of these entries was kept."""
    entries = [json.loads(text) for text in kept]
    over = {entry["at"] for entry in entries if entry["at"].endswith("w")}
    return float(sum(one["seconds"] for one in entries if f"{one['at']}w" in over))


def asking_from(script: list[Any], number: int) -> list[Any]:
    """A script of which so many outcomes were used up; it starts again at its end."""
    used = number % len(script)
    return [*script[used:], *script[:used]]


together = st.lists(effects, min_size=1, max_size=3).map(all_of)


def by_name(table: dict[str, Any], asked: list[str]) -> Interpreter[Any]:
    """Answers by the name that is asked for, whatever is asked before."""

    def answer(command: Ask) -> int:
        asked.append(command.name)
        outcome = table.get(command.name, 1)
        if isinstance(outcome, Exception):
            raise type(outcome)(*outcome.args)
        return int(outcome)

    return (
        Ask.handled_by(answer)
        | Delay.handled_by(lambda command: None)
        | Log.handled_by(lambda command: None)
        | Now.handled_by(lambda command: 0.0)
    )


@given(together, st.dictionaries(st.sampled_from("abc"), values | outcomes.map(lambda one: one[0])),
       st.data())  # fmt: skip
def test_branches_of_any_prefix_go_on_with_the_rest(
    attempt: Any, table: dict[str, Any], data: st.DataObject
) -> None:
    program = at(N2).retry(do(attempt).map(tuple))
    asked: list[str] = []
    journal = Memory()
    how = Defaults()
    whole = durable_outcome(program, by_name(table, asked), how, journal)
    cut = data.draw(st.integers(0, len(journal.kept)), "entries that were kept")
    again: list[str] = []
    killed = Memory(journal.kept[:cut])
    rest = durable_outcome(program, by_name(table, again), how, killed)
    if whole.failure is None:
        assert (rest.value, sorted(killed.kept)) == (whole.value, sorted(journal.kept))
    else:
        assert rest.failure is not None
    assert len(set(killed.entries)) == len(killed.kept)


@given(programs(), outcomes, schedules)
def test_a_parked_run_goes_on_as_one_that_is_held(
    program: Any, script: Any, schedule: Schedule
) -> None:
    how = Defaults(schedule)
    asked: list[str] = []
    held = durable_outcome(program, scripted(script, asked), how, Memory())
    in_stretches: list[str] = []
    interpreter = scripted(script, in_stretches)
    journal = Memory(hold=-1.0)
    waits: list[float] = []
    outcome = None
    while outcome is None:
        run = partial(durably, program, interpreter, how, journal)
        try:
            outcome = outcome_of(run)
        except Parked as parked:
            waits.append(parked.seconds)
            place = json.loads(journal.kept[-1])["at"]
            journal = Memory([*journal.kept, json.dumps({"at": f"{place}w"})], hold=-1.0)
    assert outcome[1:] == held[1:]
    assert in_stretches == asked
    assert waits == [event[1] for event in held.events if event[0] == "waits"]


def kept_by(kept: list[str]) -> list[tuple[Any, ...]]:
    """Entries without the clock of the machine, and without notes, which failures keep."""
    entries = [json.loads(text) for text in kept]
    names = ("at", "t", "a", "seconds", "due", "r")
    return [(*one.get("c", ())[:2], *(one.get(name) for name in names)) for one in entries]
