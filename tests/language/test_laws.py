"""The laws of `laws.py`, for attempts and programs, in each of the four ways to run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    N7,
    Do,
    Exponential,
    NotReady,
    ServerError,
    Succ,
    Throttled,
    at,
    attempt,
    do,
    plan,
    reflect,
)
from ixbackoff.schedules import Computed, powers_of_two
from ixbackoff.testing import Virtual

from ..support.laws import Ladders, OrElse, Resume, Same, Then, failing, pure
from ..support.observing import RUNNERS, Ask, Runner, run_sync

RUNGS: list[Any] = [N0, N1, N2, N3, Succ[N3], N5]
BEGINS = {"attempts": do, "programs": at(N2).do}

transient = st.sampled_from(
    [NotReady("n"), ServerError(503), Throttled(7.0), ConnectionError("c"), TimeoutError("t")]
)
lasting = st.sampled_from([KeyError("k"), ValueError("v")])
failures = transient | lasting
outcomes = st.lists(st.integers(0, 5) | failures, min_size=1, max_size=8)
commands = st.sampled_from([Ask("a"), Ask("b"), Ask("c")])


@attempt
def two(first: Any, second: Any) -> Do[Any, int]:
    one: int = yield from first
    other: int = yield from second
    return one * 10 + other


@attempt
def with_a_rescue(effect: Any) -> Do[Any, int]:
    try:
        answer: int = yield from effect
    except ServerError:
        answer = yield from Ask("rescue")
    finally:
        yield from Ask("finally")
    return answer


effects = st.recursive(
    commands | st.builds(pure, st.integers(0, 5)) | st.builds(failing, failures),
    lambda inner: st.one_of(
        st.builds(two, inner, inner),
        st.builds(with_a_rescue, inner),
        st.builds(lambda a, b: do(a).or_else(b), inner, inner),
        st.builds(lambda a, b: do(a).then(lambda _: b), inner, inner),
    ),
    max_leaves=5,
)
functions = st.builds(lambda even, odd: lambda value: odd if value % 2 else even, effects, effects)
values = st.integers(0, 5)


def law_tests(laws: type) -> list[Any]:
    return [
        pytest.param(law.__func__, id=name)
        for name, law in vars(laws).items()
        if isinstance(law, staticmethod)
    ]


STRATEGIES = {
    "value": values, "failure": transient, "f": functions, "g": functions, "m": effects,
    "a": effects, "b": effects, "c": effects, "x": effects, "command": commands,
}  # fmt: skip


def drawn(data: st.DataObject, law: Callable[..., Same]) -> dict[str, Any]:
    names = law.__code__.co_varnames[: law.__code__.co_argcount]
    return {name: data.draw(STRATEGIES[name], name) for name in names if name in STRATEGIES}


def complete(effect: Any) -> Any:
    """A program that can run, of an attempt, or of a program that has not come down."""
    return effect.give_up() if hasattr(effect, "give_up") else at(N2).do(effect).give_up()


def assert_same(run: Runner, left: Any, right: Any, data: st.DataObject) -> None:
    script = data.draw(outcomes, "outcomes")
    one = run(complete(left), script, powers_of_two)
    other = run(complete(right), script, powers_of_two)
    assert one.commands == other.commands
    assert one.outcome == other.outcome


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
@pytest.mark.parametrize("law", law_tests(Then) + law_tests(OrElse))
@given(data=st.data())
def test_law_of_effects(law: Any, begin: Any, run: Runner, data: st.DataObject) -> None:
    left, right = law(begin=begin, **drawn(data, law))
    assert_same(run, left, right, data)


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
@pytest.mark.parametrize("law", law_tests(Ladders) + law_tests(Resume))
@given(data=st.data())
def test_law_of_ladders(law: Any, run: Runner, data: st.DataObject) -> None:
    left, right = law(**drawn(data, law))
    assert_same(run, left, right, data)


@st.composite
def programs(draw: st.DrawFn) -> Any:
    """Any program that comes down, put together as its rungs allow."""
    top = draw(st.integers(0, 5))
    program: Any = at(RUNGS[top])
    for _ in range(draw(st.integers(1, 7))):
        steps = ["do", "then", "map", "or_else", "bind", "or_bind", "join", "or_join"]
        if program.end:
            steps += ["backoff", "wait", "skip", "backoff"]
        step = draw(st.sampled_from(steps))
        if step in ("bind", "or_bind", "join", "or_join"):
            below: Any = at(RUNGS[program.end]).do(draw(effects))
            if program.end and draw(st.booleans()):
                below = below.backoff()
            if step in ("join", "or_join"):
                program = program >> below if step == "join" else program | below
            else:  # a function's rungs are known only when it runs, so what follows comes down
                how = program.bind if step == "bind" else program.or_bind
                return how(lambda _, below=below: below.give_up())
        elif step in ("do", "or_else"):
            program = getattr(program, step)(draw(effects))
        elif step == "then":
            program = program.then(draw(functions))
        elif step == "map":
            program = program.map(lambda value: value)
        else:
            program = getattr(program, step)()
    last = draw(st.sampled_from(["retry", "resume", "give_up"]))
    return program.give_up() if last == "give_up" else getattr(program, last)(draw(effects))


schedules = st.builds(
    lambda waits: Computed(lambda k: waits[k % len(waits)]),
    st.lists(st.floats(0, 1e6), min_size=1, max_size=6),
) | st.builds(Exponential, st.floats(0.001, 100), st.floats(1, 4))


def seconds(waits: list[str]) -> list[float]:
    return [float(wait.split("seconds=")[1].split(",")[0]) for wait in waits]


@given(programs(), outcomes, schedules)
def test_all_four_ways_to_run_are_one(program: Any, script: Any, schedule: Any) -> None:
    sync, *others = (run(program, script, schedule) for run in RUNNERS.values())
    assert others == [sync, sync, sync]


@given(programs(), st.lists(st.integers(0, 5) | st.builds(Throttled, st.floats(0, 1e9)),
                            min_size=1, max_size=8), schedules)  # fmt: skip
def test_no_wait_is_shorter_than_the_one_before(program: Any, script: Any, schedule: Any) -> None:
    waits = seconds(run_sync(program, script, schedule).waits)
    assert waits == sorted(waits)


@given(programs(), outcomes, schedules)
def test_a_program_never_waits_more_often_than_its_ladder_has_rungs(
    program: Any, script: Any, schedule: Any
) -> None:
    assert len(run_sync(program, script, schedule).waits) <= program.start


@given(programs(), outcomes, schedules)
def test_a_plan_is_never_exceeded(program: Any, script: Any, schedule: Any) -> None:
    unhurried = [Throttled() if isinstance(outcome, Throttled) else outcome for outcome in script]
    waits = seconds(run_sync(program, unhurried, schedule).waits)
    planned = plan(program, schedule)
    assert len(waits) <= planned.waits
    assert sum(waits) <= planned.seconds * (1 + 1e-9)


@given(st.integers(0, 5), schedules)
def test_a_retry_that_always_fails_waits_as_planned(top: int, schedule: Any) -> None:
    program: Any = at(RUNGS[top]).retry(failing(NotReady()))
    waits = seconds(run_sync(program, [0], schedule).waits)
    planned = plan(program, schedule)
    assert waits == [rung.waits for rung in planned.rungs if rung.waits is not None]
    assert (planned.tries, planned.waits) == (top + 1, top)


def recovering(failures: dict[str, int]) -> Callable[[Ask], int]:
    """A service that fails so often, each time it is asked so; its answers are always the same."""
    left = dict(failures)

    def answer(command: Ask) -> int:
        if left.get(command.name, 0):
            left[command.name] -= 1
            raise NotReady
        return ord(command.name[0]) % 7

    return answer


def outcome_of(program: Any, failures: dict[str, int]) -> Any:
    world = Virtual(Ask.handled_by(recovering(failures)))
    try:
        return program.run(world.interpreter)
    except Exception as failure:
        return type(failure), failure.args


@given(effects, st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)))
def test_resume_comes_to_what_retry_comes_to_when_the_answers_are_the_same(
    effect: Any, failures: dict[str, int]
) -> None:
    assert outcome_of(at(N7).resume(effect), failures) == outcome_of(at(N7).retry(effect), failures)


def test_the_number_of_a_rung_is_the_number_of_its_waits() -> None:
    assert [reflect(rung) for rung in RUNGS] == [0, 1, 2, 3, 4, 5]
