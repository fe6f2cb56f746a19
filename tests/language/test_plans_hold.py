"""No run does more than its plan says, whatever its program is and its commands are answered."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    N20,
    Constant,
    Exponential,
    Fibonacci,
    Misuse,
    Nat,
    NotReady,
    Program,
    ServerError,
    Succ,
    at,
    plan,
)
from ixbackoff._meaning.run_state import ProgramRun
from ixbackoff._meaning.semantics import attempted, chained
from ixbackoff._meaning.trampoline import driven
from ixbackoff._words.rungs import name_of, position
from ixbackoff._words.standard_commands import Delay
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


def returning(start: Any, end: Any) -> Any:
    """Make a function whose annotation names two rungs, or something else in their places."""

    def made(_: object) -> Any:
        return at(N1).end()

    program: Any = Program
    made.__annotations__["return"] = program[start, end, Any, Any]
    return made


@pytest.mark.parametrize(
    ("start", "end"), [(N3, N3), (N2, N3), (FOREVER, N3), (Any, N3), (Nat, N2), (N1, FOREVER)]
)
def test_nothing_goes_up_behind_a_function_whose_rungs_are_unknown(start: Any, end: Any) -> None:
    behind = at(N1).bind(lambda _: at(N1).end())
    for step in (behind.bind, behind.or_bind):
        with pytest.raises(Misuse, match=rf"cannot continue to {name_of(position(end))}: nothing"):
            step(returning(start, end))


def test_nothing_is_stated_above_where_a_program_can_stand() -> None:
    with pytest.raises(Misuse, match="A program on N1 cannot continue to N3: nothing goes up"):
        at(N1).bind(lambda _: at(N1).end()).at(N3)  # type: ignore[arg-type]


@given(st.data())
def test_a_wrong_annotation_is_a_misuse_or_changes_nothing(data: st.DataObject) -> None:
    rungs = st.sampled_from([N0, N1, N2, N3, N20, FOREVER, Any, Nat, int, "x", Succ[N20], None])
    program: Any = at(data.draw(st.sampled_from([N0, N1, N3, N20, FOREVER])))
    try:
        for _ in range(data.draw(st.integers(1, 4))):
            function: Any = lambda _: at(N1).end()  # noqa: E731
            if data.draw(st.booleans()):
                function = returning(data.draw(rungs), data.draw(rungs))
            program = getattr(program, data.draw(st.sampled_from(["bind", "or_bind"])))(function)
        program = program.retry(Ask("x"))
    except Misuse:
        return
    assert str(plan(program))
    with suppress(Misuse):
        program.run(Virtual(Ask.handled_by(always(1))).interpreter)


class Lazy:
    """A function whose annotations name what only a type checker knows, as on Python 3.14."""

    @property
    def __annotations__(self) -> Any:  # type: ignore[override]
        raise NameError("name 'Row' is not defined")

    def __call__(self, _: object) -> Program[N1, N0, None, Any]:
        return at(N1).end()


def test_an_annotation_that_cannot_be_evaluated_is_none() -> None:
    at(N1).bind(Lazy()).run(Virtual(Ask.handled_by(always(1))).interpreter)


def test_a_program_that_stands_elsewhere_than_it_says_is_refused() -> None:
    untyped: Any = at(N2)
    with pytest.raises(TypeError, match=r"which is N2: write \.at\(N2\)"):
        untyped.at(N1)
    bound: Any = at(N2).bind(lambda _: at(N2).wait())
    with pytest.raises(TypeError, match=r"which is N1: write \.at\(N1\)"):
        bound.at(N0).run(Virtual(Ask.handled_by(always(1))).interpreter)
