"""Random programs: steps, joins and functions of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N4,
    N5,
    Do,
    NotReady,
    Program,
    ServerError,
    at,
    attempt,
    do,
)

from ..ways.programs import Ask

RUNGS: list[Any] = [N0, N1, N2, N3, N4, N5]
asks = st.sampled_from([Ask("a"), Ask("b"), Ask("c")])


def whimsical(value: Any) -> Any:
    """A function that fails for some values."""
    if value == 3:
        raise NotReady("three")
    return value


@attempt
def one_of_two(first: Any, second: Any) -> Do[Any, int]:
    """An attempt that performs the second effect only after some answers of the first."""
    answer: int = yield from first
    if answer % 2:
        answer = yield from second
    return answer


effects = st.recursive(
    asks,
    lambda inner: st.one_of(
        st.builds(one_of_two, inner, inner),
        st.builds(lambda a, b: do(a).or_else(b), inner, inner),
        st.builds(lambda a, b: do(a).then(lambda _: b), inner, inner),
    ),
    max_leaves=3,
)

STAYS: dict[str, Callable[[Any, Any], Any]] = {
    "do": lambda program, effect: program.do(effect),
    "then": lambda program, effect: program.then(lambda _: effect),
    "map": lambda program, effect: program.map(whimsical),
    "or_else": lambda program, effect: program.or_else(effect),
    "or_else on one kind": lambda program, effect: program.or_else(effect, on=ServerError),
}
GOES_DOWN: dict[str, Callable[[Any], Any]] = {
    "backoff": lambda program: program.backoff(),
    "backoff on one kind": lambda program: program.backoff(on=ServerError),
    "wait": lambda program: program.wait(),
    "skip": lambda program: program.skip(),
}
ENDS: dict[str, Callable[[Any, Any], Any]] = {
    "retry": lambda program, effect: program.retry(effect),
    "retry on one kind": lambda program, effect: program.retry(effect, on=ServerError),
    "resume": lambda program, effect: program.resume(effect),
    "retry_with": lambda program, effect: program.retry_with(lambda _: effect),
    "end": lambda program, effect: program.end(),
}


def annotated(function: Callable[[Any], Any], start: int, end: int) -> Callable[[Any], Any]:
    """Annotate a function with the type of the program that it returns."""

    def made(value: Any) -> Any:
        return function(value)

    written: Any = Program
    made.__annotations__["return"] = written[RUNGS[start], RUNGS[end], Any, Any]
    return made


def down_to(program: Any, end: int, goal: int) -> Any:
    """Take a program further down, so that it ends at `goal`."""
    for _ in range(end - goal):
        program = program.skip()
    return program


@st.composite
def functions(draw: st.DrawFn, start: int, depth: int) -> tuple[Any, int]:
    """A function from a value to one of two programs, and the rung where both end."""
    one, end = draw(ladders(start, depth - 1))
    other, other_end = draw(ladders(start, depth - 1))
    goal = min(end, other_end)
    one, other = down_to(one, end, goal), down_to(other, other_end, goal)

    def chosen(value: Any) -> Any:
        return other if isinstance(value, Exception) or value == 1 else one

    return chosen, goal


@st.composite
def ladders(draw: st.DrawFn, start: int, depth: int = 2) -> tuple[Any, int]:
    """A program that starts on this rung, and the rung where its type says that it ends."""
    program: Any = at(RUNGS[start])
    rung = start
    for _ in range(draw(st.integers(0, 5))):
        kinds = ["stays", "stays", "ends", *(["goes down", "goes down"] if rung else [])]
        kinds += ["joined", "bound", "bound"] if depth else []
        kind = draw(st.sampled_from(kinds))
        if kind == "stays":
            program = STAYS[draw(st.sampled_from(sorted(STAYS)))](program, draw(effects))
        elif kind == "goes down":
            program = GOES_DOWN[draw(st.sampled_from(sorted(GOES_DOWN)))](program)
            rung -= 1
        elif kind == "ends":
            program = ENDS[draw(st.sampled_from(sorted(ENDS)))](program, draw(effects))
            rung = 0
        elif kind == "joined":
            following, rung = draw(ladders(rung, depth - 1))
            program = program >> following if draw(st.booleans()) else program | following
        else:
            program, rung = draw(bound(program, rung, depth))
    return program, rung


@st.composite
def bound(draw: st.DrawFn, program: Any, rung: int, depth: int) -> tuple[Any, int]:
    """`program`, bound to a function whose end is known in one way or another."""
    function, end = draw(functions(rung, depth))
    bind = program.bind if draw(st.booleans()) else program.or_bind
    known = draw(st.sampled_from(["unknown", "unknown", "annotated", "said"]))
    if known == "annotated":
        return bind(annotated(function, rung, end)), end
    if known == "said":
        return bind(function).at(RUNGS[end]), end
    return bind(function), end


@st.composite
def programs(draw: st.DrawFn) -> Any:
    """A program that can run."""
    program, rung = draw(st.integers(0, 5).flatmap(ladders))
    return program.end() if rung else program
