"""Effects at the same time, in virtual time."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    DeadlineExceeded,
    Do,
    NotReady,
    ServerError,
    all_of,
    at,
    attempt,
    call,
    do,
    time_limit,
)
from ixbackoff.live import live, live_async
from ixbackoff.testing import Virtual, VirtualAsync, always, answers, by_command, takes, waited

from ..support.ways.attempts import Failed, a, b, c, clean_up, fail, guarded
from ..support.ways.programs import Ask, calling

ROOT = Path(__file__).parents[2]


def test_effects_at_once_take_the_time_of_the_longest() -> None:
    scripts = {a: answers(takes(3, 1)), b: answers(takes(1, 2)), c: answers(takes(2, 3))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    assert at(N0).do(all_of([a, b, c])).run(world.interpreter) == [1, 2, 3]
    world.expect(a, b, c)
    assert world.now == 3


def test_effects_at_once_are_interleaved_by_their_times() -> None:
    @attempt
    def twice(ask: Ask) -> Do[Ask, int]:
        yield from ask
        return (yield from ask)

    scripts = {a: always(takes(2, 1)), b: always(takes(3, 2))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    assert at(N0).do(all_of([twice(a), twice(b)])).run(world.interpreter) == [1, 2]
    assert [(one.at, one.command) for one in world.trace] == [(0, a), (0, b), (2, a), (3, b)]
    assert world.now == 6


def test_the_first_failure_ends_the_rest_and_is_that_of_all() -> None:
    scripts = {
        a: answers(takes(5, ServerError(500))),
        b: answers(takes(2, ServerError(501))),
        c: always(takes(1, 3)),
        clean_up: always(0),
    }
    world = Virtual(Ask.handled_by(by_command(scripts)))

    @attempt
    def long() -> Do[Ask, int]:
        for _ in range(10):
            yield from c
        return 0

    with pytest.raises(ServerError) as raised:
        at(N0).do(all_of([guarded(a), do(b), guarded(long())])).run(world.interpreter)
    assert raised.value.status == 501
    assert world.now == 2
    world.expect(a, b, c, c, clean_up, clean_up)


def test_effects_at_once_fail_as_one_and_are_tried_again() -> None:
    scripts = {a: answers(1, 2), b: answers(NotReady(), 3)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    assert at(N1).retry(all_of([a, b])).run(world.interpreter) == [2, 3]
    world.expect(a, b, waited(1), a, b)


def test_resumed_effects_at_once_are_performed_again_when_they_failed_and_not_otherwise() -> None:
    scripts = {a: answers(1, 2), b: answers(NotReady(), 3), c: answers(NotReady(), 4)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N2).resume(
        do(all_of([a, b])).then(lambda numbers: do(c).map(lambda n: (numbers, n)))
    )
    assert program.run(world.interpreter) == ([2, 3], 4)
    world.expect(a, b, waited(1), a, b, c, waited(2), c)


def test_each_effect_has_what_is_left_of_the_time() -> None:
    told: dict[str, float | None] = {}

    def answer(command: Ask) -> int:
        told[command.name] = time_limit()
        return takes(1, 0)

    @attempt
    def two(first: Ask, second: Ask) -> Do[Ask, int]:
        yield from first
        return (yield from second)

    world = Virtual(Ask.handled_by(answer))
    at(N0).do(do(all_of([two(a, b), do(c).limit(2)])).limit(5)).run(world.interpreter)
    assert told == {"a": 5, "b": 4, "c": 2}


def test_effects_at_once_are_ended_at_a_limit_around_them() -> None:
    scripts = {a: always(takes(60, 1)), b: always(takes(1, 2)), clean_up: always(0)}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N1).retry(do(all_of([guarded(a), guarded(b)])).limit(5))
    with pytest.raises(DeadlineExceeded, match="not done within 5 s"):
        program.run(world.interpreter)
    assert world.now == 11
    assert world.commands == [a, b, clean_up, clean_up, waited(1), a, b, clean_up, clean_up]


def test_a_limit_of_one_effect_is_not_that_of_another() -> None:
    scripts = {a: always(takes(4, 1)), b: always(takes(5, 2)), c: always(takes(2, 3))}
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N0).do(all_of([do(c).limit(3), do(a).limit(4.5), do(b).limit(60)]))
    assert program.run(world.interpreter) == [3, 1, 2]
    assert time_limit() is None


durations = st.floats(0, 100)


@given(st.lists(durations, max_size=6), st.floats(0.01, 200))
def test_effects_at_once_are_done_within_a_deadline_if_the_longest_is(
    seconds: list[float], within: float
) -> None:
    asks = [Ask(str(place)) for place in range(len(seconds))]
    scripts: dict[Ask, Any] = {
        ask: answers(takes(each, place))
        for place, (ask, each) in enumerate(zip(asks, seconds, strict=True))
    }
    world = Virtual(Ask.handled_by(by_command(scripts)))
    program = at(N0).do(all_of(asks))
    if max(seconds, default=0) < within:
        assert program.run(world.interpreter, within=within) == list(range(len(seconds)))
        assert world.now == max(seconds, default=0)
    else:
        with pytest.raises(DeadlineExceeded, match=r"not done within"):
            program.run(world.interpreter, within=within)
        assert world.now == pytest.approx(within, rel=1e-15)


def added(seconds: list[float]) -> float:
    """Add as the clock of a world does; `sum` makes up for rounding from Python 3.12 on."""
    total = 0.0
    for each in seconds:
        total += each
    return total


@given(st.lists(st.lists(durations, max_size=4), max_size=4))
def test_effects_at_once_are_traced_in_the_order_of_their_times(
    branches: list[list[float]],
) -> None:
    @attempt
    def several(place: int, seconds: list[float]) -> Do[Ask, int]:
        for each in seconds:
            yield from Ask(f"{place} {each}")
        return place

    world = Virtual(Ask.handled_by(lambda command: takes(float(command.name.split()[1]), 0)))
    program = at(N0).do(all_of([several(*branch) for branch in enumerate(branches)]))
    assert program.run(world.interpreter) == list(range(len(branches)))
    times = [one.at for one in world.trace]
    assert times == sorted(times)
    assert world.now == max(map(added, branches), default=0.0)


def test_no_effects_at_once_answer_nothing() -> None:
    program: Any = at(N0).do(all_of([]))
    assert program.run(Virtual(Ask.handled_by(answers())).interpreter) == []
    assert program.run(live()) == []
    assert asyncio.run(program.run_async(live_async())) == []

    async def main() -> Any:
        return await program.run_async(live_async())

    assert trio.run(main) == []


def test_effects_at_once_may_be_awaited_in_virtual_time() -> None:
    async def answer(command: Ask) -> int:
        await asyncio.sleep(0)
        return takes(ord(command.name) - ord("a") + 1, 0)

    world = VirtualAsync(Ask.awaited_by(answer))
    effects: list[Any] = [a, b, all_of([c, a])]
    program = at(N0).do(all_of(effects))
    assert asyncio.run(program.run_async(world.interpreter, within=5)) == [0, 0, [0, 0]]
    assert world.now == 3


def test_what_the_test_did_not_script_is_told_also_at_once() -> None:
    world = Virtual(Ask.handled_by(by_command({a: always(1)})))
    with pytest.raises(BaseException, match="not among the scripted"):
        at(N3).retry(all_of([a, b]), on=Exception).run(world.interpreter)


@pytest.mark.parametrize("started", [False, True])
def test_a_world_whose_effects_at_once_are_closed_is_left(started: bool) -> None:
    ended: list[str] = []

    @attempt
    def watched() -> Do[Ask, int]:
        try:
            return (yield from guarded(a))
        finally:
            ended.append("finally")

    async def main() -> None:
        never = asyncio.get_running_loop().create_future()

        async def answer(command: Ask) -> int:
            await never
            return 0

        world = VirtualAsync(Ask.awaited_by(answer))
        coroutine = at(N0).do(all_of([watched(), watched()])).run_async(world.interpreter)
        if started:
            coroutine.send(None)
        coroutine.close()

    asyncio.run(main())
    assert ended == (["finally"] if started else [])


def test_a_world_keeps_no_failure_of_effects_at_once() -> None:
    """In a process of its own: here, other threads may leave something, such as those of xdist."""
    code = f"from {__name__} import keep_no_failure; keep_no_failure()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)  # noqa: S603


def keep_no_failure() -> None:
    kept: list[weakref.ref[BaseException]] = []
    world = Virtual(calling | Ask.handled_by(lambda command: 0))
    program = at(N1).retry(all_of([guarded(call(fail)), guarded(call(fail))]))
    gc.collect()
    gc.disable()
    try:
        program.run(world.interpreter)
    except Failed as error:
        kept.append(weakref.ref(error))
    world.trace.clear()
    assert gc.collect() == 0
    assert [failure() for failure in kept] == [None]
