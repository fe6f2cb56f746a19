"""Random runs while somebody observes: `python -m tests.support.ways.observed_runs TIMES SEED`.

Programs with effects at the same time, decorated functions and blocks, sync in threads and async in
tasks, that end in every way: well, with failures, cancelled, by Ctrl-C, by a Misuse, out of time or
of budget. Whatever happens, each run that began has ended once, and each command was answered once.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import Any

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    CallAsync,
    Misuse,
    NotReady,
    RetryBudget,
    all_of,
    at,
    attempt,
    backoff,
    call,
    call_async,
    do,
)
from ixbackoff.live import live
from ixbackoff.observing import (
    Answered,
    Began,
    BreakerChanged,
    Ended,
    Event,
    Issued,
    WaitBegan,
    observed,
)
from ixbackoff.schedules import Constant

AT_ONCE = Constant(0)
RUNGS: tuple[Any, ...] = (N0, N1, N2, N3)
calls_async: type[CallAsync[Any]] = CallAsync


class Recorder:
    """An observer that records and checks its events.

    It keeps no failure: the frames in its traceback would keep the loop around a block alive, which
    ends when it is collected if it was left by `break`.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        kept = without_failure(event)
        with self.lock:
            self.events.append(kept)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def check(self) -> Counter[str]:
        """Check that all that began has ended once, and count the reasons."""
        began, ended = self.of(Began), self.of(Ended)
        numbers = [event.run.id for event in began]
        assert len(set(numbers)) == len(numbers)
        assert sorted(numbers) == sorted(event.run.id for event in ended)
        issued, answered = self.of(Issued), self.of(Answered)
        assert sorted(map(id, issued)) == sorted(id(event.issued) for event in answered)
        assert all(event.run is event.issued.run for event in answered)
        waits = Counter(event.run.id for event in self.of(WaitBegan))
        for event in ended:
            broken_off = waits[event.run.id] - event.run.wait_count
            assert broken_off in (0, 1), "each wait that was told was waited, or broken off"
            assert not broken_off or event.reason != "well"
        open_runs: set[int | str] = set()
        for event in self.events:
            if isinstance(event, Began):
                open_runs.add(event.run.id)
            assert not isinstance(event, BreakerChanged)
            assert event.run.id in open_runs, "nothing is told of a run before it or after it"
            if isinstance(event, Ended):
                open_runs.discard(event.run.id)
        return Counter(event.reason for event in ended)


def without_failure(event: Event) -> Event:
    match event:
        case Answered(_, issued, seconds):
            return Answered(issued, seconds, None)
        case WaitBegan(run, seconds, rung):
            return WaitBegan(run, seconds, rung, None)
        case Ended(run, reason, seconds):
            return Ended(run, reason, seconds, None)
        case _:
            return event


ENDINGS: tuple[Callable[[], BaseException], ...] = (
    NotReady,
    ConnectionError,
    lambda: KeyError("id"),
    lambda: StopIteration("odd"),
    KeyboardInterrupt,
    lambda: Misuse("a mistake"),
    SystemExit,
)


class Chance:
    """Functions, effects and runs that are drawn at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311

    def asked(self) -> int:
        """Answer, or fail in one of many ways, most often as a service does."""
        draw = self.random.random()
        if draw < 0.6:
            return 1
        raise (NotReady() if draw < 0.85 else self.random.choice(ENDINGS)())

    async def asked_async(self) -> int:
        if self.random.random() < 0.5:
            await asyncio.sleep(0)
        return self.asked()

    def effect(self, depth: int, awaited: bool) -> Any:
        draw = self.random.random()
        command = call_async(self.asked_async) if awaited else call(self.asked)
        if depth == 0 or draw < 0.5:
            return command
        if draw < 0.7:
            return all_of(
                [self.effect(depth - 1, awaited) for _ in range(self.random.randint(1, 3))]
            )
        if draw < 0.85:
            following = self.effect(depth - 1, awaited)
            return do(self.effect(depth - 1, awaited)).then(lambda _: following)

        @attempt
        def cleaned_up() -> Any:
            try:
                yield from command
            finally:
                yield from call(int)

        return cleaned_up()

    def program(self, awaited: bool) -> Any:
        effect = self.effect(2, awaited)
        begun = at(self.random.choice(RUNGS))
        draw = self.random.random()
        if draw < 0.6:
            return begun.retry(effect)
        return begun.resume(effect) if draw < 0.8 else begun.do(effect).end()

    def how(self) -> dict[str, Any]:
        draw = self.random.random()
        limits = {"budget": RetryBudget(1, returned=0)} if draw < 0.1 else {}
        return {"schedule": AT_ONCE, **limits, **({"within": 1e-9} if 0.1 < draw < 0.15 else {})}

    def patiently(self) -> Any:
        return backoff(self.random.choice(RUNGS), **self.how())

    def run(self) -> None:
        """Run one program, function or block in this thread."""
        draw = self.random.random()
        if draw < 0.4:
            self.program(awaited=False).run(live(), **self.how())
        elif draw < 0.8:
            self.patiently()(self.asked)()
        else:
            for one_try in self.patiently():
                if self.random.random() < 0.05:
                    break
                with one_try:
                    self.asked()

    async def run_async(self) -> None:
        """Run one program, function or block in this task."""
        draw = self.random.random()
        if draw < 0.4:
            answering = live() | calls_async.awaited_by(lambda command: command())
            await self.program(awaited=True).run_async(answering, **self.how())
        elif draw < 0.8:
            await self.patiently()(self.asked_async)()
        else:
            async for one_try in self.patiently():
                with one_try:
                    await self.asked_async()


def run_all(times: int, seed: int) -> None:
    chance = Chance(seed)
    for _ in range(times):
        with suppress(BaseException):
            chance.run()


async def run_all_async(times: int, seed: int) -> None:
    chance = Chance(seed)

    async def one() -> None:
        with suppress(Exception, KeyboardInterrupt, SystemExit, asyncio.CancelledError):
            await chance.run_async()

    for _ in range(times // 4):
        tasks = [asyncio.create_task(one()) for _ in range(4)]
        await asyncio.sleep(0)
        for task in tasks:
            if chance.random.random() < 0.2:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def observe_all(times: int, seed: int) -> Counter[str]:
    """Make `times` random runs, in four threads and in an event loop, and check all of them."""
    recorder, other = Recorder(), Recorder()
    with observed(recorder):
        threads = [
            Thread(target=run_all, args=(times // 8, seed * 10 + number)) for number in range(4)
        ]
        for thread in threads:
            thread.start()
        with observed(other):
            asyncio.run(run_all_async(times // 2, seed * 10 + 9))
        for thread in threads:
            thread.join()
    other.check()
    return recorder.check()


if __name__ == "__main__":
    import logging

    logging.getLogger("ixbackoff").setLevel(logging.CRITICAL)
    total: Counter[str] = Counter()
    for part in range(max(int(sys.argv[1]) // 1000, 1)):
        total += observe_all(1000, int(sys.argv[2]) + part)
    print(f"{total.total()} runs were observed, and each has ended once: {dict(total)}")
