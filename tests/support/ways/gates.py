"""A gate that records the calls it gets, and the ways to run programs through it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import trio
from typing_extensions import override

from ixbackoff import N3, Call, Crowded, Gate, Program, at, backoff, call, call_async, do
from ixbackoff.fleet import instantly, simulate
from ixbackoff.live import live, live_async
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, VirtualAsync

APART = 0.002
"""The seconds for which every second try stands in line at a `Recorder`."""

AT_ONCE = Constant(0.0001)

LIVE = live()
"""Made once: tests that interrupt a run at each of its places would spend their time in it."""


class Recorder(Gate):
    """Every second try stands in line; those with numbers in `refused` are refused."""

    def __init__(self, refused: frozenset[int] = frozenset(), bound: bool = True) -> None:
        self.calls: list[str] = []
        self.came = 0
        self.refused = refused
        self.bound = bound
        self.next = float("-inf")
        self.inside = 0

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        self.came += 1
        turn = max(now if self.came % 2 else now + APART, self.next)
        if self.came in self.refused or (self.bound and turn >= until):
            self.calls.append("refuse")
            raise Crowded(0)
        self.calls.append("enter")
        self.inside += 1
        return turn

    @override
    def turn(self, turn: float, now: float, came: float, until: float) -> float:
        self.calls.append("turn")
        return now

    @override
    def hear(self, failure: Exception | None, now: float, began: float) -> None:
        self.calls.append(f"hear {failure!r}")
        self.inside -= 1

    @override
    def leave(self, now: float) -> None:
        self.calls.append("leave")
        self.inside -= 1


Outcomes = list[int | Exception]


def outcomes(script: Outcomes) -> Callable[[], int]:
    left = iter(script)

    def answer() -> int:
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return answer


def decorated(gate: Gate, answer: Callable[[], int]) -> None:
    patiently = backoff(N3, schedule=AT_ONCE, through=gate)
    retried = patiently(answer)
    patiently(lambda: 0)()
    retried()


def block(gate: Gate, answer: Callable[[], int]) -> None:
    patiently = backoff(N3, schedule=AT_ONCE, through=gate)
    for function in (int, answer):
        for one_try in patiently:
            with one_try:
                function()


def of_coroutines(answer: Callable[[], int]) -> Callable[[], Coroutine[Any, Any, int]]:
    async def awaited() -> int:
        await asyncio.sleep(0)
        return answer()

    return awaited


async def decorated_async(gate: Gate, answer: Callable[[], int]) -> None:
    begin = backoff(N3, schedule=AT_ONCE, through=gate)(of_coroutines(int))
    retried = backoff(N3, schedule=AT_ONCE, through=gate)(of_coroutines(answer))
    await begin()
    await retried()


async def block_async(gate: Gate, answer: Callable[[], int]) -> None:
    for function in (int, answer):
        async for one_try in backoff(N3, schedule=AT_ONCE, through=gate):
            with one_try:
                function()


def program(gate: Gate, answer: Callable[[], int]) -> Program[Any, Any, int, Any]:
    """Two steps, the second of which is retried; each try goes through the gate."""
    return at(N3).do(do(call(int)).through(gate)).retry(do(call(answer)).through(gate))


def bare(_: Gate, answer: Callable[[], int]) -> Program[Any, Any, int, Any]:
    return at(N3).do(call(int)).retry(call(answer))


def awaiting(gate: Gate, answer: Callable[[], int]) -> Program[Any, Any, int, Any]:
    function = of_coroutines(answer)
    return at(N3).do(do(call(int)).through(gate)).retry(do(call_async(function)).through(gate))


def calls(command: Call[int]) -> int:
    return command()


async def calls_async(command: Call[int]) -> int:
    return command()


def in_fleet(made: Program[Any, Any, int, Any]) -> None:
    services = instantly(Call.handled_by(calls))
    simulate(made, services, clients=1, seconds=100, schedule=AT_ONCE)


WAYS: dict[str, Callable[[Gate, Callable[[], int]], object]] = {
    "sync": lambda gate, f: program(gate, f).run(LIVE, schedule=AT_ONCE),
    "sync, of the run": lambda gate, f: bare(gate, f).run(LIVE, schedule=AT_ONCE, through=gate),
    "resumed": lambda gate, f: (
        at(N3)
        .do(do(call(int)).through(gate))
        .resume(do(call(int)).then(lambda _: do(call(f)).through(gate)))
        .run(LIVE, schedule=AT_ONCE)
    ),
    "asyncio": lambda gate, f: asyncio.run(
        awaiting(gate, f).run_async(live_async(), schedule=AT_ONCE)
    ),
    "asyncio, of the run": lambda gate, f: asyncio.run(
        bare(gate, f).run_async(live_async(), schedule=AT_ONCE, through=(gate,))
    ),
    "trio": lambda gate, f: trio.run(
        lambda: program(gate, f).run_async(live_async(), schedule=AT_ONCE)
    ),
    "virtual": lambda gate, f: program(gate, f).run(
        Virtual(Call.handled_by(calls)).interpreter, schedule=AT_ONCE
    ),
    "virtual, async": lambda gate, f: asyncio.run(
        program(gate, f).run_async(
            VirtualAsync(Call.awaited_by(calls_async)).interpreter, schedule=AT_ONCE
        )
    ),
    "function": decorated,
    "coroutine function": lambda gate, f: asyncio.run(decorated_async(gate, f)),
    "block": block,
    "async block": lambda gate, f: asyncio.run(block_async(gate, f)),
    "fleet": lambda gate, f: in_fleet(program(gate, f)),
    "fleet, in a deadline": lambda gate, f: simulate(
        program(gate, f),
        instantly(Call.handled_by(calls)),
        clients=1,
        seconds=100,
        schedule=AT_ONCE,
        within=90,
    ),
}
"""Ways to ask once, and then to retry a function; each try goes through the gate."""
