"""Real signals at random moments of runs: `python -m tests.support.ways.signalled TIMES`.

Each signal raises KeyboardInterrupt, as Ctrl-C does. No mark may be left, and each run that began
has ended once. The observer is `list.append`: one that is written in Python might be struck where
it begins, and then it counts as called.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from random import Random

from ixbackoff import NotReady
from ixbackoff._limits.nesting import RUNNING, this_thread
from ixbackoff.observing import Began, Ended, Event, observed

from .interrupted import IN_A_LOOP, SYNC, Failing

LEAST, MOST = 5e-6, 1e-4  # seconds until a signal


class Alarm:
    """A handler of SIGALRM that raises KeyboardInterrupt once each time that it is armed."""

    def __init__(self) -> None:
        self.armed = False

    def __call__(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt


def struck(way: Callable[[Failing], object], always: bool, alarm: Alarm, seconds: float) -> None:
    """Run something again and again until the signal comes."""
    alarm.armed = True
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while alarm.armed:  # a loop that ends also if a `__del__` has swallowed the interrupt
            with suppress(NotReady):
                way(Failing(always))
    except KeyboardInterrupt:
        pass


def release(events: list[Event]) -> None:
    """Forget the tracebacks of failures: their frames keep an abandoned `for` loop alive."""
    for event in events[:]:
        failure = getattr(event, "failure", None)
        if failure is not None:
            failure.__traceback__ = failure.__context__ = None


def mistakes(events: list[Event]) -> int:
    """Return the number of runs that did not begin and end once."""
    ends: dict[int, list[type[Event]]] = {}
    for event in events:
        if isinstance(event, Began | Ended):
            ends.setdefault(id(event.run), []).append(type(event))
    return sum(kinds != [Began, Ended] for kinds in ends.values())


def strike(times: int, ways: tuple[Callable[[Failing], object], ...], seed: int) -> None:
    """Interrupt runs so many times, three out of four of them observed, and check each."""
    random, alarm = Random(seed), Alarm()  # noqa: S311
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        for number in range(times):
            way, always = random.choice(ways), random.random() < 0.5
            events: list[Event] = []
            with observed(*[events.append][: number % 4]):
                struck(way, always, alarm, random.uniform(LEAST, MOST))
            release(events)
            assert RUNNING.get()[0] is None, way
            assert not this_thread().notifying, way
            assert not mistakes(events), (way, always, events)
            way(Failing())
    finally:
        signal.signal(signal.SIGALRM, before)


async def in_a_loop(times: int) -> None:
    strike(times, IN_A_LOOP, seed=2)


if __name__ == "__main__":
    logging.getLogger("ixbackoff").setLevel(logging.CRITICAL)
    sys.setswitchinterval(1)
    times = int(sys.argv[1])
    strike(times // 2, SYNC, seed=1)
    asyncio.run(in_a_loop(times - times // 2))
    print(f"{times} signals: no mark is left, and each run has ended once")
