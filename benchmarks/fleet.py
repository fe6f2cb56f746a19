"""Events per CPU second of a simulated fleet, and memory per client, beside SimPy.

Both simulate the same clients and service. A client thinks, asks, and while that fails, waits and
asks again. The service takes its time and fails half of the requests. Our clients run real
programs; SimPy's are the smallest processes that do the same, with timeouts only. The end of each
thinking, request and wait is counted as an event, for both.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from functools import partial
from importlib import import_module
from multiprocessing import Process
from random import Random
from statistics import median
from subprocess import run
from time import monotonic, process_time
from typing import Any

from ixbackoff import N20, Command, Do, Exponential, at, attempt
from ixbackoff.fleet import Outage, Outcome, Request, Service, Serving, each_seed, simulate
from ixbackoff.fleet.engine import seldom_collected
from ixbackoff.fleet.events import Events
from ixbackoff.fleet.seeds import SEEDS

from .measuring import Target, interleaved

SIZES = ((1_000, 300.0, 9), (10_000, 60.0, 7), (100_000, 20.0, 3))
"""Clients, seconds of virtual time, and rounds."""
THINK, TAKES, SHARE = 10.0, 0.1, 0.5
TRIES = 21
WAITS = Exponential(1.0, 2.0, cap=30.0)
SPREAD = 2.0


class Ask(Command[None]):
    __slots__ = ()


class Flaky(Service):
    """A service whose requests all take the same time; some fail, and all while it is stopped."""

    def begin(self, events: Events) -> Serving:
        return FlakyServing(events)


class FlakyServing(Serving):
    def __init__(self, events: Events) -> None:
        self.events = events
        self.share = SHARE

    def ask(self, request: Request) -> None:
        self.events.after(TAKES, self.end, request)

    def end(self, request: Request) -> None:
        if self.events.random.random() < self.share:
            request.fail(ConnectionError())
        else:
            request.answer()

    def stop(self) -> None:
        self.share = 1.0

    def resume(self) -> None:
        self.share = SHARE


@attempt
def asking() -> Do[Ask, None]:
    yield from Ask()


RETRY = at(N20).retry(Ask())
GENERAL = at(N20).retry(asking())


def ours(program: Any, clients: int, seconds: float, **how: Any) -> Outcome:
    return simulate(
        program,
        Flaky().serves(Ask),
        clients=clients,
        seconds=seconds,
        schedule=WAITS.jittered(SPREAD),
        think=THINK,
        **how,
    )


def theirs(clients: int, seconds: float) -> object:
    """Simulate the same in SimPy, with the garbage collector running as rarely."""
    environment, random = import_module("simpy").Environment(), Random(0)  # noqa: S311
    with seldom_collected():
        for _ in range(clients):
            environment.process(client(environment, random))
        environment.run(until=seconds)
    return environment


def client(environment: Any, random: Random) -> Generator[Any]:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        for k in range(TRIES):
            yield environment.timeout(TAKES)
            if random.random() >= SHARE or k == TRIES - 1:
                break
            yield environment.timeout(WAITS.seconds(k) * random.uniform(1.0, SPREAD))


def their_events(clients: int, seconds: float) -> int:
    """Count SimPy's events, without those that begin the processes."""
    environment, random = import_module("simpy").Environment(), Random(0)  # noqa: S311
    for _ in range(clients):
        environment.process(client(environment, random))
    steps = 0
    while environment.peek() < seconds:
        environment.step()
        steps += 1
    return steps - clients


def speed(clients: int, seconds: float, rounds: int) -> Target:
    """Measure one size; the detail also has the speed of a retried attempt, which is slower."""
    events, peer_events = ours(RETRY, clients, seconds).events, their_events(clients, seconds)
    functions: list[Callable[[], object]] = [
        partial(ours, RETRY, clients, seconds),
        partial(ours, GENERAL, clients, seconds),  # a law says that it has the same events
        partial(theirs, clients, seconds),
    ]
    taken = [interleaved(functions, 1) for _ in range(rounds)]
    retry, general, peer = (median(column) for column in zip(*taken, strict=True))
    own, other, its = events / retry / 1e3, events / general / 1e3, peer_events / peer / 1e3
    return Target(
        f"fleet of {clients}, events/CPU s beside SimPy 4.1.1",
        median(events / peer_events * each[2] / each[0] for each in taken),
        1.0,
        True,
        f"{own:.0f} k/s and {its:.0f} k/s; {events} and {peer_events} events; "
        f"with a do-notation attempt {other:.0f} k/s",
    )


def taken_by(name: str) -> int:
    """Measure the bytes per client at the peak, by tracemalloc, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.fleet", name]
    return int(run(command, check=True, capture_output=True).stdout)  # noqa: S603


def take(name: str) -> int:
    """Measure the bytes per client at the peak, in this process."""
    simulations: dict[str, Callable[[int, float], object]] = {
        "ours": partial(ours, RETRY),
        "general": partial(ours, GENERAL),
        "theirs": theirs,
    }
    clients, seconds, _ = SIZES[1]
    tracemalloc.start()
    simulations[name](clients, seconds)
    return tracemalloc.get_traced_memory()[1] // clients


def memory() -> Target:
    """Measure the memory per client."""
    own, general, peer = taken_by("ours"), taken_by("general"), taken_by("theirs")
    detail = f"{own} B and {peer} B; with a do-notation attempt {general} B"
    return Target("fleet, memory per client beside SimPy 4.1.1", own / peer, 1.0, False, detail)


def outage() -> Target:
    """Measure an outage of ten minutes, on one core."""
    clients, _, _ = SIZES[-1]
    begun = process_time()
    outcome = ours(RETRY, clients, 660.0, outages=[Outage(30.0, 600.0)])
    taken = process_time() - begun
    return Target(
        f"fleet of {clients}, an outage of 10 min, beside real time",
        660 / taken,
        1.0,
        True,
        f"660 s in {taken:.0f} CPU s; {outcome.events} events",
    )


def with_seed(seed: int) -> Outcome:
    clients, seconds, _ = SIZES[0]
    return ours(RETRY, clients, seconds, seed=seed)


def some(seeds: range) -> None:
    for seed in seeds:
        with_seed(seed)


def by_hand() -> None:
    """Simulate half of the seeds in each of two processes."""
    halves = [range(SEEDS // 2), range(SEEDS // 2, SEEDS)]
    both = [Process(target=some, args=(half,)) for half in halves]
    for process in both:
        process.start()
    for process in both:
        process.join()


def real_seconds(function: Callable[[], object]) -> float:
    begun = monotonic()
    function()
    return monotonic() - begun


def seeds() -> Target:
    """Measure two workers beside one process, in real time: it needs two idle processors."""
    ways: list[Callable[[], object]] = [
        partial(each_seed, with_seed, SEEDS, jobs=1),
        partial(each_seed, with_seed, SEEDS, jobs=2),
        by_hand,
    ]
    times = [[real_seconds(way) for way in ways] for _ in range(5)]
    one, two, hand = (median(column) for column in zip(*times, strict=True))
    return Target(
        f"fleet, {SEEDS} seeds on two workers beside one, real time",
        median(first / second for first, second, _ in times),
        1.7,
        True,
        f"{one:.2f} s and {two:.2f} s; {hand:.2f} s in two processes that are given half each",
    )


def targets() -> Iterator[Target]:
    for size in SIZES:
        yield speed(*size)
    yield memory()
    yield outage()
    yield seeds()


if __name__ == "__main__":
    print(take(sys.argv[1]))
