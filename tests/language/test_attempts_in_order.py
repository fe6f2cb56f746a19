"""An attempt where no step recovers from failures runs as one whose `or_else` chooses none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import N2, NotReady, ServerError, at, do, unroll

from ..support.generators.ladders import effects, whimsical
from ..support.ways.programs import Ask

Seen = tuple[list[object], object]

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "then": lambda attempt, effect: attempt.then(lambda _: effect),
    "then, in a limit": lambda attempt, effect: attempt.then(lambda _: do(effect)).limit(9),
    "map": lambda attempt, _: attempt.map(whimsical),
    "expect": lambda attempt, _: attempt.expect(lambda value: value != 2),
}
steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), effects), max_size=4)
outcomes = st.lists(
    st.integers(0, 3) | st.sampled_from([NotReady("n"), ServerError(503), KeyError("k")]),
    min_size=1,
    max_size=6,
)


def never(_: Exception) -> bool:
    return False


def seen(attempt: Any, script: list[Any]) -> Seen:
    """Retry an attempt, answered by a script that is repeated for ever: its commands, its end."""
    stream = unroll(at(N2).retry(attempt))
    commands: list[object] = []
    answer: Any = None
    try:
        while True:
            failed = isinstance(answer, Exception)
            commands.append(stream.throw(answer) if failed else stream.send(answer))
            asked = sum(isinstance(command, Ask) for command in commands)
            answer = script[asked % len(script)] if isinstance(commands[-1], Ask) else 0
    except StopIteration as end:
        return commands, end.value
    except (NotReady, ServerError, KeyError) as failure:
        return commands, repr(failure)


@settings(max_examples=200)
@given(effects, steps, outcomes)
def test_an_or_else_that_chooses_nothing_changes_nothing(
    effect: Any, steps: list[tuple[str, Any]], script: list[Any]
) -> None:
    attempt = do(effect)
    for name, further in steps:
        attempt = STEPS[name](attempt, further)
    assert seen(attempt.or_else(Ask("other"), on=never), script) == seen(attempt, script)
