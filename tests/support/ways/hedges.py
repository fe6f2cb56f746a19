"""Hedged reads whose copies are scripted, and the ways to run them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import trio

from ixbackoff import N0, Hedge, Program, Repeatable, at, do, read, read_async
from ixbackoff.fleet import simulate
from ixbackoff.live import live, live_async
from ixbackoff.testing import Virtual, VirtualAsync, answers, takes
from ixbackoff.testing.scripts import Answers

from ..fleets.scripted import Scripted

SLOW = 4.0
"""The seconds after which `slow_after` makes a request slow, unless told otherwise."""

UNIT = 0.02
"""The seconds of real time for one of a script."""


class Get(Repeatable[Any]):
    """A command that only reads."""

    __slots__ = ()


class Copy(NamedTuple):
    """What happens to a request: after some seconds, an answer or a failure."""

    seconds: float
    outcome: Any


def slow_after(seconds: float = SLOW, **how: Any) -> Hedge:
    """Return a hedge that has learned that a request is slow after these seconds."""
    hedge = Hedge(**how)
    for _ in range(200):
        hedge.hear(None, seconds, 0.0)
    return hedge


def hedged(hedge: Hedge, effect: Any) -> Program[Any, Any, Any, Any]:
    return at(N0).do(do(effect).hedged(hedge))


def played(outcome: Any) -> Any:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def sleeping(script: list[Copy]) -> Callable[[], Any]:
    left = iter(script)

    def function() -> Any:
        copy = next(left)
        time.sleep(copy.seconds * UNIT)
        return played(copy.outcome)

    return function


def awaiting(script: list[Copy], sleep: Any) -> Callable[[], Coroutine[Any, Any, Any]]:
    left = iter(script)

    async def function() -> Any:
        copy = next(left)
        await sleep(copy.seconds * UNIT)
        return played(copy.outcome)

    return function


def scripted(script: list[Copy]) -> Answers[Any]:
    return answers(*[takes(*copy) for copy in script])


def virtual(script: list[Copy]) -> Any:
    return hedged(slow_after(), Get()).run(Virtual(Get.handled_by(scripted(script))).interpreter)


def virtual_async(script: list[Copy]) -> Any:
    handler = scripted(script)

    async def answered(command: Get) -> Any:
        return handler(command)

    world = VirtualAsync(Get.awaited_by(answered))
    return asyncio.run(hedged(slow_after(), Get()).run_async(world.interpreter))


def simulated(script: list[Copy]) -> Any:
    """The program in a fleet: its answer is logged, its failure raised."""
    ended: list[Any] = []

    def take(failure: Exception) -> bool:
        ended.append(failure)
        return True

    program = (
        hedged(slow_after(), Get()).map(ended.append).or_else(do(Get()).map(ended.append), on=take)
    )
    simulate(program, Scripted([[*script, Copy(0, 0)]]).serves(Get), clients=1, seconds=30)
    return played(ended[0])


def in_threads(script: list[Copy]) -> Any:
    return hedged(slow_after(SLOW * UNIT), read(sleeping(script))).run(live())


def in_asyncio(script: list[Copy]) -> Any:
    program = hedged(slow_after(SLOW * UNIT), read_async(awaiting(script, asyncio.sleep)))
    return asyncio.run(program.run_async(live_async()))


def in_trio(script: list[Copy]) -> Any:
    program = hedged(slow_after(SLOW * UNIT), read_async(awaiting(script, trio.sleep)))
    return trio.run(program.run_async, live_async())


MODELLED: dict[str, Callable[[list[Copy]], Any]] = {
    "virtual": virtual,
    "virtual, async": virtual_async,
    "fleet": simulated,
}
REAL: dict[str, Callable[[list[Copy]], Any]] = {
    "threads": in_threads,
    "asyncio": in_asyncio,
    "trio": in_trio,
}
