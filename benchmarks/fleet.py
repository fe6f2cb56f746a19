"""The speed of simulated fleets, and their memory, beside SimPy.

Both simulate the same clients and the same service (`fleet_models`). The rates of both count the
events of SimPy: the ends of thinking, requests, waits and limits. Each is charged for the
collection of its own garbage: ours frees its clients when it ends, SimPy leaves them behind.
"""

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from subprocess import run
from time import process_time

from ixbackoff.fleet import Outage

from .fleet_models import MODELS, ours, their_events, theirs
from .measuring import Target, interleaved

PEER = "SimPy 4.1.1"
SIZES = ((1_000, 60.0, 15), (10_000, 20.0, 7), (100_000, 12.0, 3))
"""Clients, seconds of virtual time, and rounds."""
FASTER, SMALLER = {"nested": 0.95}, {"within": 1.0, "attempt_within": 1.0}
"""The models that may miss the usual targets, 1.2 of SimPy's speed and half of its memory."""
MOST = 1_000_000


def speed(name: str, clients: int, seconds: float, rounds: int) -> Target:
    """Measure the speed of this number of clients of one kind."""
    model = MODELS[name]
    simulations: list[Callable[[], object]] = [
        partial(freed, partial(ours, model, clients, seconds)),
        partial(freed, partial(theirs, model, clients, seconds)),
    ]
    events = their_events(model, clients, seconds)
    gc.collect()
    gc.freeze()  # collections skip older objects
    taken = [interleaved(simulations, 1) for _ in range(rounds)]
    gc.unfreeze()
    own, peer = (median(column) for column in zip(*taken, strict=True))
    return Target(
        f"{clients} clients, {model.name}, events/CPU s",
        median(its / mine for mine, its in taken),
        FASTER.get(name, 1.2),
        True,
        f"{events / own / 1e3:.0f} k/s, {PEER} {events / peer / 1e3:.0f} k/s; {events} events",
    )


def freed(simulated: Callable[[], object]) -> None:
    """Simulate, and collect the garbage that is left."""
    simulated()
    gc.collect()


def taken_by(who: str, name: str, clients: int, seconds: float) -> int:
    """Measure memory in a process of its own; see `take`."""
    words = [who, name, str(clients), str(seconds)]
    command = [sys.executable, "-m", "benchmarks.fleet", *words]
    return int(run(command, check=True, capture_output=True).stdout)  # noqa: S603


def take(who: str, name: str, clients: int, seconds: float) -> int:
    """Measure the peak of memory in bytes: of the process, or as tracemalloc sees it."""
    model = MODELS[name]
    if who == "process":
        ours(model, clients, seconds)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tracemalloc.start()
    (ours if who == "ours" else theirs)(model, clients, seconds)
    return tracemalloc.get_traced_memory()[1]


def memory(name: str) -> Target:
    """Measure the memory of one kind of client, with the largest number of clients."""
    clients, seconds, _ = SIZES[-1]
    own, peer = (taken_by(who, name, clients, seconds) / clients for who in ("ours", "theirs"))
    return Target(
        f"{clients} clients, {MODELS[name].name}, bytes a client",
        own / peer,
        SMALLER.get(name, 0.5),
        False,
        f"{own:.0f} B, {PEER} {peer:.0f} B",
    )


def million() -> Target:
    taken = taken_by("process", "attempt", MOST, SIZES[-1][1])
    name = f"{MOST} clients, {MODELS['attempt'].name}, GiB"
    return Target(name, taken / 2**30, 1.0, False, "the whole process, at its peak")


def outage() -> Target:
    clients = SIZES[-1][0]
    begun = process_time()
    outcome = ours(MODELS["command"], clients, 660.0, outages=[Outage(30.0, 600.0)])
    taken = process_time() - begun
    return Target(
        f"{clients} clients, an outage of 10 min, beside real time",
        660 / taken,
        1.0,
        True,
        f"660 s in {taken:.0f} CPU s; {outcome.events} events",
    )


def targets() -> Iterator[Target]:
    for size in SIZES:
        for name in MODELS:
            yield speed(name, *size)
    yield from map(memory, MODELS)
    yield million()
    yield outage()


def main(words: list[str]) -> None:
    if words:
        who, name, clients, seconds = words
        print(take(who, name, int(clients), float(seconds)))
        return
    for target in targets():
        print(target, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
