"""Each history can happen: it is a run in virtual time, or a durable one, event by event."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N2,
    Delay,
    Interpreter,
    Log,
    Now,
    Schedule,
    ServerError,
    all_of,
    at,
    attempt,
)
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.testing import Performed, Virtual, takes
from ixbackoff.testing.exploring import Surprise, dies, fails, slow
from ixbackoff.testing.exploring.allowed_surprises import Scope, Setting
from ixbackoff.testing.exploring.checked_history_run import Walk
from ixbackoff.testing.exploring.history import History
from ixbackoff.testing.exploring.model import checked_program, planned

from ..support.durable.journals import Memory, Outcome, durable_outcome
from ..support.generators.programs import effects, outcomes, programs, schedules
from ..support.ways.programs import Ask

Trace = list[tuple[float, str, str]]
Troubles = dict[int, tuple[bool, int]]
limits = st.none() | st.floats(0, 50)


class Answering:
    """A world that answers with one outcome after the other, and then starts again."""

    def __init__(self, script: list[Any]) -> None:
        self.script = script
        self.asked: list[str] = []

    def answer(self, command: Ask) -> Any:
        outcome = self.script[len(self.asked) % len(self.script)]
        self.asked.append(command.name)
        if isinstance(outcome, Exception):
            raise type(outcome)(*outcome.args)
        return outcome

    def interpreter(self) -> Interpreter[Ask]:
        return Ask.handled_by(self.answer)


def scope(
    script: list[Any], program: Any, schedule: Schedule | None, within: float | None
) -> Scope:
    def nothing(*_: object) -> None: ...

    setting = Setting(lambda: Answering(script), Answering.interpreter, nothing, {}, nothing, None)
    return planned(
        setting,
        [checked_program(program, schedule, within)],
        at_end=nothing,
        faults=dies("durably"),
        may_raise=lambda failure: True,
        again=False,
        merge=True,
    )


def told(trace: list[Performed]) -> Trace:
    return [(one.at, repr(one.command), outcome_of(one)) for one in trace]


def outcome_of(one: Performed) -> str:
    """The answer or the failure; of one that is too late, without what it would have been."""
    failure = one.failure
    if not isinstance(failure, TimeoutError):
        return repr(failure or one.answer)
    return repr(type(failure)(*[re.sub("takes.*: ", "", one) for one in failure.args]))


def walked(one: Scope, *surprises: tuple[int, Surprise]) -> tuple[Trace, Any]:
    """The events of a history, and how it ended."""
    walk = Walk(one, History(surprises), trace=[])
    walk.run()
    assert walk.machine is not None
    root = walk.machine.processes[0].root
    return told(walk.trace or []), (root.value, repr(root.failure))


def virtual(script: Any, program: Any, schedule: Any, within: Any) -> tuple[Trace, Any]:
    """The events of a run in virtual time, and how it ended."""
    world = Virtual(Ask.handled_by(script))
    try:
        value, failure = program.run(world.interpreter, schedule=schedule, within=within), None
    except Exception as error:
        value, failure = None, error
    return told(world.trace), (value, repr(failure))


@attempt
def logging(one: Any, other: Any) -> Any:
    """Log, ask for the time, and then do more."""
    yield from Log("begins")
    try:
        yield from one
    finally:
        yield from Now()
        yield from other


every = programs() | st.builds(
    lambda several, last: at(N2).do(all_of(several)).map(len).backoff().retry(last),
    st.lists(effects | st.builds(logging, effects, effects), min_size=1, max_size=4),
    effects,
)


@given(every, outcomes, schedules, limits)
def test_a_history_without_surprises_is_the_virtual_run(
    program: Any, script: list[Any], schedule: Schedule, within: float | None
) -> None:
    answers = Answering(script).answer
    history = walked(scope(script, program, schedule, within))
    assert history == virtual(answers, program, schedule, within)


class Troubled(Answering):
    """As `Answering`, where some commands fail, or are slow.

    Args:
        troubles: by the number of the command, whether it fails, and after how many seconds.
    """

    def __init__(self, script: list[Any], troubles: Troubles) -> None:
        super().__init__(script)
        self.troubles = troubles
        self.number = -1

    def answer(self, command: Ask) -> Any:
        self.number += 1
        if self.number not in self.troubles:
            return super().answer(command)
        failing, seconds = self.troubles[self.number]
        if failing:
            return takes(seconds, ServerError(503))
        try:
            outcome = super().answer(command)
        except Exception as error:
            outcome = error
        return takes(seconds, outcome)


@given(
    every,
    outcomes,
    limits,
    st.dictionaries(st.integers(0, 6), st.tuples(st.booleans(), st.integers(1, 9)), max_size=4),
)
def test_a_history_with_failures_is_the_virtual_run_that_has_them(
    program: Any, script: list[Any], within: float | None, troubles: Troubles
) -> None:
    surprises = [
        (number, fails(after=seconds) if failing else slow(seconds))
        for number, (failing, seconds) in sorted(troubles.items())
    ]
    history = walked(scope(script, program, None, within), *surprises)
    assert history == virtual(Troubled(script, troubles).answer, program, None, within)


def happened(outcome: Outcome) -> list[tuple[str, str]]:
    """The commands that were performed, and the waits."""
    return [
        (str(event[1]), str(event[2]) if event[0] == "answered" else "waits")
        for event in outcome.events
        if event[0] in ("answered", "waits")
    ]


@given(programs(), outcomes, schedules, limits, st.data())
def test_a_death_durably_is_what_a_durable_run_does(
    program: Any, script: list[Any], schedule: Schedule, within: float | None, data: st.DataObject
) -> None:
    how, whole = Defaults(schedule, within), Memory()
    durable_outcome(program, answering(Answering(script), whole), how, whole)
    asks = [place for place, text in enumerate(whole.kept) if is_ask(json.loads(text))]
    if not asks:
        return
    number = data.draw(st.integers(0, len(asks) - 1), "the command at which it dies")
    before, after = dies("durably")
    effect = data.draw(st.booleans(), "it dies after the command")

    kept = whole.kept[: asks[number]]
    killed, world = Memory(kept), Answering(script)
    killed.resumed, killed.time = True, time_at(kept)
    world.asked = ["before"] * (number + effect)
    rest = durable_outcome(program, answering(world, killed), how, killed)

    one = scope(script, program, schedule, within)
    trace, (value, failure) = walked(one, (number, after if effect else before))
    performed = [
        (repr(float(command.split("=")[1].split(",")[0])), "waits")
        if command.startswith("Delay")
        else (command, outcome if "(" in outcome else "None")
        for _, command, outcome in trace
    ]
    assert happened(rest) == performed[len(kept_commands(kept)) :]
    assert rest.value == value
    assert (rest.failure is None) == (failure == "None")
    if rest.failure is not None:
        assert failure.startswith(rest.failure[0].__name__)


def answering(world: Answering, journal: Memory) -> Interpreter[Any]:
    return (
        world.interpreter()
        | Delay.handled_by(lambda command: None)
        | Log.handled_by(lambda command: None)
        | Now.handled_by(lambda command: journal.time)
    )


def is_ask(entry: dict[str, Any]) -> bool:
    return "c" in entry and entry["c"][0] == "Ask"


def kept_commands(kept: list[str]) -> list[str]:
    return [text for text in kept if "c" in json.loads(text)]


def time_at(kept: list[str]) -> float:
    """The virtual time when the last of these entries was kept."""
    entries = [json.loads(text) for text in kept]
    return float(sum(entry.get("seconds", 0.0) for entry in entries))
