"""Rate limiters side by side: the cost of a call, a burst, and what becomes of a `Retry-After`.

The cost is measured in CPU time, in turns, with a rate that no call exceeds. The burst is the
number of calls in the first second, if 100 come at once and 10 a second are allowed. For the last
column a call comes each 50 ms, and the fifth one fails with `Throttled(2)`: the column counts the
calls that reach the service in the two seconds after that. Each library has its defaults, but waits
for up to a minute if it can wait. They are imported by name at run time: type checkers and tests do
without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial, wraps
from importlib import import_module
from importlib.metadata import version
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

from ixbackoff import N0, Limiter, Throttled, backoff

from .measuring import interleaved

Function: TypeAlias = Callable[[], Any]
Limits: TypeAlias = Callable[[Function], Function]
"""A decorator."""

FREE = 10**9
"""A number of calls per second that no measurement exceeds."""

RATE, CALLS, ROUNDS = 10, 2000, 41


class Peer(NamedTuple):
    """A library: its name, and decorators that limit the rate of plain and coroutine functions."""

    name: str
    sync: Callable[[int], Limits] | None
    awaited: Callable[[int], Limits]


def ours(rate: int) -> Limits:
    return backoff(N0, through=Limiter(rate, line=60))


def aiolimiter(rate: int) -> Limits:
    return entered(import_module("aiolimiter").AsyncLimiter(rate, 1))


def entered(limiter: Any) -> Limits:
    """Make a decorator that enters an async context manager around each call."""

    def limits(function: Function) -> Function:
        @wraps(function)
        async def limited() -> Any:
            async with limiter:
                return await function()

        return limited

    return limits


def pyrate(rate: int) -> Limits:
    it = import_module("pyrate_limiter")
    limiter = it.Limiter(it.Rate(rate, it.Duration.SECOND))

    def limits(function: Function) -> Function:
        @wraps(function)
        def limited() -> Any:
            limiter.try_acquire("api")
            return function()

        return limited

    return limits


def pyrate_async(rate: int) -> Limits:
    it = import_module("pyrate_limiter")
    limiter = it.Limiter(it.Rate(rate, it.Duration.SECOND))

    def limits(function: Function) -> Function:
        @wraps(function)
        async def limited() -> Any:
            await limiter.try_acquire_async("api")
            return await function()

        return limited

    return limits


def throttled(module: str, rate: int) -> Limits:
    it = import_module(module)
    quota = import_module("throttled.rate_limiter").per_duration(timedelta(seconds=1), rate)
    limits: Limits = it.Throttled(key="api", quota=quota, timeout=60, store=it.MemoryStore())
    return limits


def pyresilience(rate: int) -> Limits:
    it = import_module("pyresilience")
    limits: Limits = it.resilient(rate_limiter=it.RateLimiterConfig(rate, 1.0, max_wait=60.0))
    return limits


def hyx(rate: int) -> Limits:
    return entered(import_module("hyx.ratelimit").tokenbucket(rate, 1))


PEERS = [
    Peer("ixbackoff", ours, ours),
    Peer("aiolimiter", None, aiolimiter),
    Peer("hyx", None, hyx),
    Peer("pyrate-limiter", pyrate, pyrate_async),
    Peer("pyresilience", pyresilience, pyresilience),
    Peer("throttled-py", partial(throttled, "throttled"), partial(throttled, "throttled.asyncio")),
]


def works() -> int:
    return 1


async def works_async() -> int:
    return 1


def many(function: Function) -> None:
    for _ in range(CALLS):
        function()


def many_awaited(loop: asyncio.AbstractEventLoop, function: Function) -> None:
    async def calls() -> None:
        for _ in range(CALLS):
            await function()

    loop.run_until_complete(calls())


def costs() -> tuple[list[float], list[float]]:
    """Return the CPU microseconds that each library adds to a call: sync, then awaited ones."""
    plain = [peer.sync(FREE)(works) for peer in PEERS if peer.sync is not None]
    loop = asyncio.new_event_loop()

    async def made() -> list[Function]:
        return [peer.awaited(FREE)(works_async) for peer in PEERS]

    awaited = loop.run_until_complete(made())  # one of them has to be made in a loop
    sync_runs = [partial(many, one) for one in (works, *plain)]
    async_runs = [partial(many_awaited, loop, one) for one in (works_async, *awaited)]
    times = interleaved([*sync_runs, *async_runs], ROUNDS)
    loop.close()
    bare, *sync = [seconds / CALLS * 1e6 for seconds in times[: len(sync_runs)]]
    bare_async, *others = [seconds / CALLS * 1e6 for seconds in times[len(sync_runs) :]]
    return [one - bare for one in sync], [one - bare_async for one in others]


async def arriving(number: int, every: float) -> AsyncGenerator[None]:
    for _ in range(number):
        yield
        await asyncio.sleep(every)


async def counted(limits: Limits, number: int, every: float, throttles: int = 0) -> list[float]:
    """Return the seconds at which calls reach a service; it throttles one of them for 2 s."""
    times: list[float] = []

    @limits
    async def ask() -> None:
        times.append(monotonic())
        if len(times) == throttles:
            raise Throttled(2)

    async def one() -> None:
        with suppress(Exception):  # refused, or throttled
            await ask()

    tasks = [asyncio.ensure_future(one()) async for _ in arriving(number, every)]
    _, late = await asyncio.wait(tasks, timeout=1.5 if every == 0 else 0)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return times


async def behaviour(peer: Peer) -> tuple[int, int]:
    """Return the calls in the first second, and those in two seconds after a `Retry-After`."""
    times = await counted(peer.awaited(RATE), 100, 0.0)
    burst = sum(at < times[0] + 1 for at in times)
    times = await counted(peer.awaited(RATE), 60, 0.05, throttles=5)
    return burst, sum(times[4] < at < times[4] + 2 for at in times)


def main() -> None:
    sync, awaited = costs()
    print("| | sync, µs | awaited, µs | calls in the first second | asked within `Retry-After` |")
    print("|---|---|---|---|---|")
    plain = iter(sync)
    for peer, cost in zip(PEERS, awaited, strict=True):
        burst, asked = asyncio.run(behaviour(peer))
        once = "-" if peer.sync is None else f"{next(plain):.1f}"
        name = peer.name if peer.name == "ixbackoff" else f"{peer.name} {version(peer.name)}"
        print(f"| {name} | {once} | {cost:.1f} | {burst} | {asked} |", flush=True)


if __name__ == "__main__":
    main()
