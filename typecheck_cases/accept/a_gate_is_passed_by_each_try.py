"""A gate is a value that programs can be run with; an effect that goes through one may wait."""

from typing import assert_type

from typing_extensions import override

from ixbackoff import (
    N0,
    N3,
    Attempt,
    Crowded,
    Delay,
    Download,
    Gate,
    Interpreter,
    Limiter,
    Log,
    Now,
    Program,
    Reserve,
    Throttle,
    Z,
    at,
    backoff,
    do,
)


class Closed(Gate):
    @override
    def enter(self, now: float, came: float, until: float) -> float:
        raise Crowded(until - now)


limiter = Limiter(10, per=1.5, line=5, burst=3)
hearing = Limiter(line=20)
learning = Limiter.learning(line=20, most=100)
throttle = Throttle(1.5, ttl=10, most=0.9)
gated = do(Download("http://localhost/a", "a")).through(limiter)

assert_type(gated, Attempt[Download | Now | Delay, None])
assert_type(at(N3).retry(gated), Program[N3, Z, None, Download | Now | Delay])
assert_type(at(N0).do(gated), Program[N0, N0, None, Download | Now | Delay])
assert_type(learning, Limiter)
gated.through(throttle).limit(5)
reserved = do(Download("http://localhost/a", "a")).through(Reserve("api", 10, line=5))
assert_type(reserved, Attempt[Download | Now | Delay | Reserve, None])
assert_type(at(N0).do(reserved), Program[N0, N0, None, Download | Now | Delay | Reserve])


@backoff(N3, through=limiter)
def price(item: str) -> int:
    return len(item)


assert_type(price("apple"), int)
backoff(N3).replace(through=[limiter, Closed()])


def run(interpreter: Interpreter[Log | Now | Delay], gate: Gate | None) -> None:
    at(N3).do(Log("first")).end().run(interpreter, through=gate)
    at(N3).do(Log("first")).end().run(interpreter, through=(limiter, throttle))


async def run_async(interpreter: Interpreter[Log | Now | Delay], gates: list[Gate]) -> None:
    await at(N3).do(Log("second")).end().run_async(interpreter, through=gates)


def run_reserved(interpreter: Interpreter[Download | Now | Delay | Reserve]) -> None:
    at(N3).retry(reserved.through(limiter)).run(interpreter)
    at(N3).retry(gated).run(interpreter)
