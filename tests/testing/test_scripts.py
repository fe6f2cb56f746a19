"""Scripted exceptions, and the text of a trace."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from ixbackoff import N0, N1, N3, N20, Call, NotReady, at, call
from ixbackoff.testing import Virtual, VirtualAsync, always, answers


def frames(failure: BaseException) -> int:
    return len(traceback.extract_tb(failure.__traceback__))


@pytest.mark.parametrize("script", [always, lambda failure: answers(*[failure] * 21)])
def test_a_scripted_exception_is_raised_with_a_fresh_traceback_each_time(script: Any) -> None:
    failure = NotReady()
    seen: list[int] = []
    for rung in (N1, N3, N20):
        program: Any = at(rung)
        with pytest.raises(NotReady) as caught:
            program.retry(call(int)).run(Virtual(Call.handled_by(script(failure))).interpreter)
        assert caught.value is failure
        seen.append(frames(failure))
    assert len(set(seen)) == 1, seen


def test_a_class_of_exceptions_makes_one_each_time() -> None:
    world = Virtual(Call.handled_by(always(NotReady)))
    with pytest.raises(NotReady):
        at(N20).retry(call(int)).run(world.interpreter)
    assert len({id(performed.failure) for performed in world.trace}) == 22


def here() -> str:
    return "done"


class Plain:
    """An object whose text has its address."""


async def awaited(_: object) -> Any:
    return Plain()


def test_the_text_of_a_trace_is_the_same_in_each_run() -> None:
    texts = []
    for _ in range(2):
        world = Virtual(Call.handled_by(answers(NotReady("busy"), Plain())))
        at(N20).retry(call(lambda given: given, Plain())).run(world.interpreter)
        texts.append(world.transcript())
    assert texts[0] == texts[1]
    assert texts[0].splitlines()[1:] == [
        "     0.000  Delay(seconds=1.0, rung=20) -> None",
        texts[0]
        .splitlines()[0]
        .replace("0.000", "1.000")
        .replace("raised NotReady('busy')", f"<{__name__}.Plain object>"),
    ]


def test_nothing_performed_is_an_empty_text() -> None:
    assert Virtual(Call.handled_by(answers())).transcript() == ""
    assert VirtualAsync(Call.awaited_by(awaited)).transcript() == ""


def test_many_lines_are_all_in_the_text_and_few_in_a_report() -> None:
    world = Virtual(Call.handled_by(always(0)))
    program: Any = at(N0)
    for _ in range(1000):
        program = program.do(call(here))
    program.run(world.interpreter)
    assert len(world.transcript().splitlines()) == 1000
    assert "... 960 more ..." in world.performed()
    assert len(world.performed().splitlines()) == 41
