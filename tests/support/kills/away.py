"""Durable runs whose PostgreSQL server goes away.

`python -m tests.support.kills.away` does it for long, and `make kill` does that. With the URL of a
database it counts in a durable run until its standard input ends.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from typing import Any

from ixbackoff import N5, Constant, at, call
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live

from ..servers.postgresql import Server, running

LONG = 10.0  # seconds
NUMBERS = count(1)


def tick(pause: float) -> int:
    """Count, and say so."""
    number = next(NUMBERS)
    print("one more", flush=True)
    time.sleep(pause)
    return number


@durable(name="ticks", schedule=Constant(0.3))
def ticks(pause: float) -> Any:
    program: Any = at(N5).do(call(tick, pause))
    for _ in range(5):
        program = program.wait().do(call(tick, pause))
    return program


def away(server: Server, database: str, seconds: float) -> float:
    """Stop a server in mid-run, for so many seconds; return those until the run has ended.

    It goes on by itself, and each command is performed once, or twice if it could not be recorded.
    """
    with Engine(live(), ticks, database=database) as engine:
        before = next(NUMBERS)
        run = engine.start(ticks, 0.1)
        while len(engine.store.steps(run.id)) < 4:
            time.sleep(0.01)
        server.stop()
        stopped = time.monotonic()
        time.sleep(seconds)
        server.start()
        assert before + 6 <= run.result() <= before + 7
        return time.monotonic() - stopped


def main() -> None:
    with running(max_connections="80") as server:
        url = f"postgresql://{server.address.rpartition('/')[0]}/runs"
        took = away(server, url, LONG)
    print(f"PostgreSQL, away for {LONG:g} s: the run has ended after {took:.1f} s")


def count_until_told() -> None:
    with Engine(live(), ticks, database=sys.argv[1]) as engine:
        engine.start(ticks, 0.5)
        sys.stdin.read()


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else count_until_told()
