"""Strategies of hypothesis: failures, effects, programs and schedules, of every kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    Do,
    Exponential,
    NotReady,
    ServerError,
    Succ,
    Throttled,
    at,
    attempt,
    do,
)
from ixbackoff.schedules import Computed

from ..laws import failing, pure
from ..ways.programs import Ask

RUNGS: list[Any] = [N0, N1, N2, N3, Succ[N3], N5]


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


@st.composite
def programs(draw: st.DrawFn) -> Any:
    """Any program that ends at N0, put together as its rungs allow."""
    top = draw(st.integers(0, 5))
    program: Any = at(RUNGS[top])
    for _ in range(draw(st.integers(1, 7))):
        steps = ["do", "then", "map", "or_else", "bind", "or_bind", "join", "or_join"]
        if program.ends_at:
            steps += ["backoff", "wait", "skip", "backoff"]
        step = draw(st.sampled_from(steps))
        if step in ("bind", "or_bind", "join", "or_join"):
            below: Any = at(RUNGS[program.ends_at]).do(draw(effects))
            if program.ends_at and draw(st.booleans()):
                below = below.backoff()
            if step in ("join", "or_join"):
                program = program >> below if step == "join" else program | below
            else:  # a function's rungs are known only when it runs, so what follows comes down
                how = program.bind if step == "bind" else program.or_bind
                return how(lambda _, below=below: below.end())
        elif step in ("do", "or_else"):
            program = getattr(program, step)(draw(effects))
        elif step == "then":
            program = program.then(draw(functions))
        elif step == "map":
            program = program.map(lambda value: value)
        else:
            program = getattr(program, step)()
    last = draw(st.sampled_from(["retry", "resume", "end"]))
    return program.end() if last == "end" else getattr(program, last)(draw(effects))


schedules = st.builds(
    lambda waits: Computed(lambda k: waits[k % len(waits)]),
    st.lists(st.floats(0, 1e6), min_size=1, max_size=6),
) | st.builds(Exponential, st.floats(0.001, 100), st.floats(1, 4))
