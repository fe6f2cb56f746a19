"""Functions of a seed, at the top of a module, so that they can be sent to workers."""

from __future__ import annotations

import os
import signal
import struct
import time
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ixbackoff import N3, CircuitBreaker, Command, Exponential, RetryBudget, at, do
from ixbackoff.fleet import BoundedQueue, Outage, Outcome, simulate, simulate_many


class Get(Command[None]):
    __slots__ = ()

    def __repr__(self) -> str:
        return "Get()"


PAGE = at(N3).retry(do(Get()).limit(0.5))
QUEUE = BoundedQueue(length=5, work=0.05, workers=2)


SEEDS = range(3, 7)
HOW: dict[str, Any] = {
    "clients": 60,
    "seconds": 20,
    "think": 3,
    "outages": [Outage(5, 5)],
    "trace": True,
}


def many(**where: Any) -> list[str]:
    """The digests of what `simulate_many` gives."""
    sample = simulate_many(PAGE, QUEUE.serves(Get), seeds=SEEDS, **HOW, **where)
    assert sample.seeds == tuple(SEEDS)
    return [digest(outcome) for outcome in sample.results]


def digest(outcome: Outcome) -> str:
    """A digest of all that happened: each command, in order, with its times, answer and failure."""
    lines = [repr(outcome.seconds), *map(repr, outcome.trace)]
    return sha256("\n".join(lines).encode()).hexdigest()


def digested(seed: int) -> str:
    """The digest of a simulation whose clients share a budget and a breaker."""
    budget, breaker = RetryBudget.finagle(), CircuitBreaker(failures=20, within=5, open_for=2)
    outcome = simulate(
        PAGE,
        QUEUE.serves(Get),
        clients=100,
        seconds=30,
        schedule=Exponential(0.1).jittered(),
        think=3,
        budget=lambda _: budget,
        breaker=lambda _: breaker,
        outages=[Outage(5, 10)],
        seed=seed,
        trace=True,
    )
    assert len(outcome.trace) > 500
    return digest(outcome)


class Odd(Exception):
    """An error that pickle can write, and cannot read."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fails_at_2(seed: int) -> int:
    if seed == 2:
        raise ZeroDivisionError("it cannot be divided")
    return seed


def fails_oddly(seed: int) -> int:
    raise Odd(seed, 2)


def is_killed_at_1(seed: int) -> int:
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return seed


def gives_a_lambda(seed: int) -> object:
    return lambda: seed


def gives_oddly(seed: int) -> object:
    return Odd(seed, 2)


def fails_or_sends_much(seed: int) -> bytes:
    if seed == 0:
        time.sleep(0.2)
        raise ZeroDivisionError
    return bytes(3 * 10**7)


def fails_or_touches(path: Path, seed: int) -> None:
    if seed == 0:
        raise ZeroDivisionError
    time.sleep(1)
    path.touch()


def is_killed_at_1_while_sending(seed: int) -> bytes:
    """Send half of a large result, and kill this worker."""

    def half(to: Connection, whole: bytes) -> None:
        os.write(to.fileno(), struct.pack("!i", len(whole)) + bytes(whole[: len(whole) // 2]))
        os.kill(os.getpid(), signal.SIGKILL)

    if seed == 1:
        sending: Any = Connection
        sending._send_bytes = half
    return bytes(100_000)
