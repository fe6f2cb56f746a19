"""No run does more than its plan says, whatever its program is and its commands are answered."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Constant,
    Exponential,
    Fibonacci,
    NotReady,
    Program,
    ServerError,
    at,
    plan,
)
from ixbackoff._meaning.machine import driven
from ixbackoff._meaning.runs import ProgramRun
from ixbackoff._meaning.semantics import attempted, chained
from ixbackoff._words.vocabulary import Delay
from ixbackoff.testing import Virtual, always, answers

from ..support.generators.ladders import programs
from ..support.ways.programs import Ask

outcomes = st.lists(
    st.integers(0, 3)
    | st.sampled_from([NotReady("n"), ServerError(503), ConnectionError("c"), KeyError("k")]),
    min_size=1,
    max_size=6,
)
schedules = st.sampled_from([Exponential(), Constant(2), Fibonacci(), Exponential().jittered(3)])


class Done(NamedTuple):
    """The totals of one run."""

    tries: int
    waits: list[float]
    commands: Counter[type]


def done(program: Any, script: list[Any], schedule: Any) -> Done:
    """Run a program, answered by a script that is repeated for ever."""
    run = ProgramRun(program, schedule, None)
    stream = driven(chained(program, run), run, {}, attempted)
    waits: list[float] = []
    commands: Counter[type] = Counter()
    answer: Any = None
    asked = 0
    try:
        while True:
            failed = isinstance(answer, Exception)
            command = stream.throw(answer) if failed else stream.send(answer)
            answer = None
            if isinstance(command, Delay):
                waits.append(command.seconds)
            else:
                commands[command.__class__] += 1
                answer = script[asked % len(script)]
                asked += 1
    except (StopIteration, NotReady, ServerError, ConnectionError, KeyError):
        return Done(run.tries, waits, commands)


@pytest.mark.slow
@settings(max_examples=250)
@given(programs(), outcomes, schedules)
def test_no_run_exceeds_its_plan(program: Any, script: list[Any], schedule: Any) -> None:
    known, run = plan(program, schedule), done(program, script, schedule)
    assert len(run.waits) <= known.wait_count
    assert sum(run.waits) <= known.seconds * (1 + 1e-12)
    assert known.tries is None or run.tries <= known.tries
    if not known.commands.uncounted:
        assert all(count <= known.commands.kinds[kind] for kind, count in run.commands.items())


@pytest.mark.slow
@settings(max_examples=250)
@given(programs(), outcomes, schedules)
def test_no_wait_is_shorter_than_the_one_before(
    program: Any, script: list[Any], schedule: Any
) -> None:
    run = done(program, script, schedule)
    assert run.waits == sorted(run.waits)
    assert len(run.waits) <= program.start


def two_backoffs_and_a_function(bound: Any) -> Any:
    return at(N3).do(Ask("x")).backoff().backoff() >> at(N1).bind(bound)


def test_a_plan_knows_the_waits_before_a_function_that_is_passed_over() -> None:
    program = two_backoffs_and_a_function(lambda _: at(N1).end())
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        program.run(world.interpreter)
    assert world.waits == [1, 2]
    assert plan(program).wait_count >= 2
    assert plan(program).seconds >= 3


def annotated(_: object) -> Program[N2, N0, None, Any]:
    return at(N2).end()


KNOWN = {
    "joined": at(N2).do(Ask("x")) >> at(N2).end(),
    "annotated": at(N2).do(Ask("x")).bind(annotated),
    "said": at(N2).do(Ask("x")).bind(lambda _: at(N2).end()).at(N0),
}


@pytest.mark.parametrize("program", KNOWN.values(), ids=KNOWN)
def test_a_program_whose_end_is_known_is_there_although_it_was_passed_over(program: Any) -> None:
    world = Virtual(Ask.handled_by(answers(NotReady(), 1, NotReady())))
    with pytest.raises(NotReady):
        program.or_else(Ask("y")).retry(Ask("z")).run(world.interpreter)
    assert world.commands == [Ask("x"), Ask("y"), Ask("z")]


def waits_once(_: object) -> Program[N2, N0, None, Any]:
    return at(N2).wait()  # type: ignore[return-value]


def test_a_function_that_ends_elsewhere_than_its_type_says_is_refused() -> None:
    world = Virtual(Ask.handled_by(always(1)))
    with pytest.raises(TypeError, match="says that its program ends at N0, and returned one that"):
        at(N2).bind(waits_once).run(world.interpreter)
    assert world.waits == []


def climbs(_: object) -> Program[N1, N3, None, Any]:
    raise NotReady


def test_nothing_goes_up_through_the_type_of_a_function() -> None:
    with pytest.raises(TypeError, match="cannot continue to N3: nothing goes up a ladder"):
        at(N1).bind(climbs)


def test_a_program_that_stands_elsewhere_than_it_says_is_refused() -> None:
    untyped: Any = at(N2)
    with pytest.raises(TypeError, match=r"which is N2: write \.at\(N2\)"):
        untyped.at(N1)
    bound: Any = at(N2).bind(lambda _: at(N2).wait())
    with pytest.raises(TypeError, match=r"which is N1: write \.at\(N1\)"):
        bound.at(N0).run(Virtual(Ask.handled_by(always(1))).interpreter)
