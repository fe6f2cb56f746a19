"""A ladder without end must pause: a schedule whose waits stay at 0 is refused at FOREVER."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N20,
    Computed,
    Constant,
    Listed,
    Misuse,
    NotReady,
    at,
    backoff,
    unroll,
)
from ixbackoff.durable import durable
from ixbackoff.testing import Virtual, answers

from ..support.durable.engines import Said, Say, working
from ..support.ways.programs import Ask

ZEROS: dict[str, Any] = {
    "constant": Constant(0),
    "jittered": Constant(0).jittered(),
    "listed": Listed([0.0] * 20),
    "computed": Computed(lambda _: 0.0),
}


def well_after(failures: int) -> Any:
    return Virtual(Ask.handled_by(answers(*[NotReady()] * failures, 7)))


def program(schedule: Any) -> Any:
    return at(FOREVER).retry(Ask("a")).run(well_after(30).interpreter, schedule=schedule)


def awaited(schedule: Any) -> Any:
    return asyncio.run(
        at(FOREVER).retry(Ask("a")).run_async(well_after(30).interpreter, schedule=schedule)
    )


def decorated(schedule: Any) -> Any:
    return backoff(FOREVER, schedule=schedule)(print)


def replaced(schedule: Any) -> Any:
    return backoff(FOREVER).replace(schedule=schedule)


def block(schedule: Any) -> Any:
    for one_try in backoff(FOREVER, schedule=schedule):
        with one_try:
            return


def stream(schedule: Any) -> Any:
    commands = unroll(at(FOREVER).retry(Ask("a")), schedule)
    next(commands)
    for _ in range(30):
        commands.throw(NotReady())
        next(commands)


WAYS: list[Callable[[Any], Any]] = [program, awaited, decorated, replaced, block, stream]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("schedule", ZEROS.values(), ids=ZEROS)
def test_waits_that_stay_at_0_are_refused(way: Callable[[Any], Any], schedule: Any) -> None:
    with pytest.raises(Misuse, match=r"At FOREVER, .*stay at 0: give one whose waits grow"):
        way(schedule)


def test_a_durable_run_is_refused_before_it_begins(tmp_path: Path) -> None:
    @durable(name="restless", schedule=Constant(0))
    def restless() -> Any:
        return at(FOREVER).retry(Say("busy"))

    said = Said()
    with (
        working(tmp_path, said.interpreter, restless) as engine,
        pytest.raises(Misuse, match=r"At FOREVER, schedule=Constant\(every=0.0\) would retry"),
    ):
        engine.start_with_id("one", restless)
    assert said.what == []


def test_waits_that_begin_at_0_pass_and_so_does_a_ladder_with_an_end() -> None:
    assert program(Listed([0.0, 0.0, *[0.001] * 18])) == 7
    assert program(Listed([*[0.0] * 19, 0.001])) == 7
    assert backoff(N20, schedule=Constant(0)).call(abs, -7) == 7
