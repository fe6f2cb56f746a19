"""The laws of deadlines and limits, for any effect and any program."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N0, N3, at, do
from ixbackoff.testing import Virtual, takes

from ..support.generators.programs import effects, lasting, programs, schedules, transient
from ..support.ways.programs import Ask


class Seen(NamedTuple):
    """The commands of a run, their times, and its outcome: all that is visible from outside."""

    trace: list[tuple[float, str]]
    value: Any
    failure: Any
    now: float


def timed(script: Any) -> Any:
    """A world in which each answer takes its time, but cleaning up takes none."""
    rounds = [0]

    def answer(command: Ask) -> Any:
        seconds, outcome = script[rounds[0] % len(script)]
        rounds[0] += 1
        if isinstance(outcome, Exception):
            outcome = type(outcome)(*outcome.args)  # a new one, since notes are added to it
        return takes(0 if command.name == "finally" else seconds, outcome)

    return Virtual(Ask.handled_by(answer))


def seen(program: Any, script: Any, **arguments: Any) -> Seen:
    world = timed(script)
    value = failure = None
    try:
        value = program.run(world.interpreter, **arguments)
    except Exception as error:
        failure = (type(error), str(error), getattr(error, "__notes__", []))
    return Seen([(one.at, repr(one.command)) for one in world.trace], value, failure, world.now)


durations = st.sampled_from([0.0, 0.25, 1.0, 3.0]) | st.floats(0, 10)
scripts = st.lists(
    st.tuples(durations, st.integers(0, 5) | transient | lasting), min_size=1, max_size=8
)
limits = st.sampled_from([0.5, 1.0, 4.0, 12.0]) | st.floats(0.001, 50)


@given(programs(), scripts, schedules, limits)
def test_after_the_deadline_only_cleaning_up_is_carried_out(
    program: Any, script: Any, schedule: Any, within: float
) -> None:
    run = seen(program, script, schedule=schedule, within=within)
    late = [command for at, command in run.trace if at >= within]
    assert set(late) <= {repr(Ask("finally"))}
    assert run.now <= within * (1 + 1e-15)


@given(programs(), scripts, schedules)
def test_a_deadline_that_is_never_reached_changes_nothing(
    program: Any, script: Any, schedule: Any
) -> None:
    without = seen(program, script, schedule=schedule)
    assert seen(program, script, schedule=schedule, within=1e12) == without


@given(effects, scripts)
def test_a_limit_that_is_never_reached_changes_nothing(effect: Any, script: Any) -> None:
    for tried in ("retry", "resume"):
        assert seen(getattr(at(N3), tried)(do(effect).limit(1e12)), script) == seen(
            getattr(at(N3), tried)(effect), script
        )


@given(effects, scripts, limits, limits)
def test_a_limit_in_a_limit_is_the_earlier_one(
    effect: Any, script: Any, one: float, other: float
) -> None:
    earlier = seen(at(N3).retry(do(effect).limit(min(one, other))), script)
    assert seen(at(N3).retry(do(effect).limit(one).limit(other)), script) == earlier
    assert seen(at(N3).retry(do(effect).limit(one).limit(other).limit(one)), script) == earlier


@given(effects, scripts, limits, limits)
def test_a_limit_within_a_deadline_is_the_earlier_one_if_there_is_one_try(
    effect: Any, script: Any, one: float, other: float
) -> None:
    earlier = seen(at(N0).do(effect), script, within=min(one, other))
    assert seen(at(N0).do(do(effect).limit(one)), script, within=other) == earlier


@given(effects, scripts, limits)
def test_a_limit_of_a_program_without_waits_is_its_deadline(
    effect: Any, script: Any, seconds: float
) -> None:
    limited = at(N0).do(do(effect).limit(seconds))
    assert seen(limited, script) == seen(at(N0).do(effect), script, within=seconds)


@given(programs(), scripts, schedules, limits)
def test_a_deadline_only_cuts_short(
    program: Any, script: Any, schedule: Any, within: float
) -> None:
    whole = seen(program, script, schedule=schedule).trace
    cut = seen(program, script, schedule=schedule, within=within).trace
    same = [one for one in cut if one[0] < within and "finally" not in one[1]]
    assert same == [one for one in whole if "finally" not in one[1]][: len(same)]
