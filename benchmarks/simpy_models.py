"""SimPy's side of the fleets that are measured: the same clients, service and rules, as processes.

Clients are nested generators, and a failure of the service is an exception, as in `fleet`. A limit
is `answer | timeout`, once for the whole effect or run. `Tally` counts runs and latencies on both
sides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from importlib import import_module
from math import ceil
from random import Random
from typing import Any, TypeAlias

from ixbackoff import Exponential, First
from ixbackoff.fleet.simulation_outcome import Tally
from ixbackoff.fleet.simulator import simulating

THINK, TAKES, SHARE, LIMIT, WITHIN = 10.0, 0.1, 0.3, 2.0, 60.0
TRIES = 21
WAITS = Exponential(1.0, 2.0, cap=30.0)
SPREAD = 2.0
SECONDS = [WAITS.seconds(k) for k in range(TRIES)]
OPENED_FOR, SPREAD_OVER, GOLDEN = 5.0, 2.0, 0.618033988749895
LINE = 5.0

Process: TypeAlias = Generator[Any, Any, Any]
Effect: TypeAlias = Callable[[Any, Random], Process]


def asked(environment: Any, random: Random) -> Process:
    tally, begun = environment.tally, environment.now
    tally.asked += 1
    yield environment.timeout(TAKES)
    if random.random() < environment.share:
        tally.failed += 1
        raise ConnectionError
    tally.answered += 1
    tally.latency += environment.now - begun


def asked_both(environment: Any, random: Random) -> Process:
    yield from asked(environment, random)
    yield from asked(environment, random)


def asked_deep(environment: Any, random: Random) -> Process:
    yield from asked(environment, random)
    yield from asked_deeper(environment, random)


def asked_deeper(environment: Any, random: Random) -> Process:
    yield from asked(environment, random)
    yield from asked_both(environment, random)


def asked_first(environment: Any, random: Random) -> Process:
    begin = random.randrange(2)
    for turn in range(begin, begin + 2):
        try:
            answer = yield from (asked, asked)[turn % 2](environment, random)
            return First(turn % 2, answer)
        except ConnectionError:
            if turn > begin:
                raise
    return None


def asked_together(environment: Any, random: Random) -> Process:
    some = [environment.process(asked(environment, random)) for _ in range(3)]
    for process in some:
        process.defused = True  # the second failure of an `all_of` ends the simulation otherwise
    try:
        yield environment.all_of(some)
    except ConnectionError:
        for process in some:
            if process.is_alive:
                process.interrupt()
        raise


def asked_in_time(environment: Any, random: Random, late: Any) -> Process:
    tally, begun = environment.tally, environment.now
    tally.asked += 1
    answer = environment.timeout(TAKES)
    yield answer | late
    if not answer.processed:
        tally.failed += 1
        tally.late += 1
        raise TimeoutError
    if random.random() < environment.share:
        tally.failed += 1
        raise ConnectionError
    tally.answered += 1
    tally.latency += environment.now - begun


def asked_limited(environment: Any, random: Random) -> Process:
    yield from asked_in_time(environment, random, environment.timeout(LIMIT))


def asked_both_in_time(environment: Any, random: Random) -> Process:
    late = environment.timeout(LIMIT)
    yield from both_in_time(environment, random, late)


def both_in_time(environment: Any, random: Random, late: Any) -> Process:
    yield from asked_in_time(environment, random, late)
    yield from asked_in_time(environment, random, late)


def asked_both_limited(environment: Any, random: Random) -> Process:
    yield from asked_limited(environment, random)
    yield from asked_limited(environment, random)


class Bucket:
    """The rule of `RetryBudget(capacity)`."""

    def __init__(self, capacity: float) -> None:
        self.left = self.capacity = capacity

    def pay(self) -> bool:
        if self.left < 1:
            return False
        self.left -= 1
        return True

    def succeed(self, retried: bool) -> None:
        self.left = min(self.left + (1 if retried else 0.1), self.capacity)


class Refused(Exception):
    """A refused try; the argument is the seconds until a retry is allowed."""


class Circuit:
    """The rule of `CircuitBreaker(failures=..., within=10, open_for=5)`."""

    def __init__(self, failures: int) -> None:
        self.failed = deque[float](maxlen=failures)
        self.until: float | None = None
        self.probing = False
        self.refused = 0

    def admit(self, now: float) -> bool:
        """Return whether the try is a probe; raise Refused if the circuit is open."""
        if self.until is None:
            return False
        left = self.until - now
        if left > 1e-6:
            if self.probing:
                left += OPENED_FOR * SPREAD_OVER * (self.refused * GOLDEN % 1.0)
                self.refused += 1
            raise Refused(left)
        self.until = now + OPENED_FOR
        self.probing, self.refused = True, 0
        return True

    def fail(self, probe: bool, now: float) -> None:
        failed = self.failed
        if self.until is None:
            failed.append(now)
            if len(failed) < (failed.maxlen or 0) or now - failed[0] > 10:
                return
        elif not probe:
            return
        self.until, self.probing = now + OPENED_FOR, False
        failed.clear()

    def succeed(self, probe: bool) -> None:
        if probe:
            self.until, self.probing = None, False
            self.failed.clear()


class Turns:
    """The rule of `Limiter(tries, line=5)`: a pause after `Refused`, else a turn each."""

    def __init__(self, tries: float) -> None:
        self.each = self.apart = 1 / tries
        self.next = self.opens = 0.0

    def enter(self, now: float, came: float) -> float:
        own = max(self.next, now)
        turn = max(own, self.opens, now)
        if turn - came > LINE:
            raise Refused(turn - now)
        self.next = own + (self.apart if own > now else self.each)
        self.apart = max(self.apart * 0.99, self.each)
        return turn

    def hear(self, failure: Exception | None, now: float) -> None:
        if isinstance(failure, Refused) and now + failure.args[0] > self.opens:
            self.opens = now + failure.args[0]
            self.next = max(self.next, self.opens)
            self.apart = max(self.each, min(failure.args[0] / 100, 1.0))


def asked_in_line(environment: Any, random: Random, turns: Turns) -> Process:
    came = environment.now
    turn = turns.enter(came, came)
    while turn > environment.now:
        yield environment.timeout(turn - environment.now)
        if turn < turns.opens:
            turn = turns.enter(environment.now, came)
    try:
        yield from asked(environment, random)
    except (ConnectionError, Refused) as failure:
        turns.hear(failure, environment.now)
        raise
    turns.hear(None, environment.now)


def ended(environment: Any, number: int, since: float, well: bool) -> None:
    """Count the end of a run."""
    tally = environment.tally
    if well:
        tally.well += 1
        tally.latencies.append(environment.now - since)
    else:
        tally.gave_up += 1
        environment.gave_up.add(number)


def trying(
    environment: Any, random: Random, number: int, effect: Effect, bucket: Bucket | None = None
) -> Process:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        since, well, shortest = environment.now, False, 0.0
        for k in range(TRIES):
            try:
                yield from effect(environment, random)
            except (ConnectionError, TimeoutError):
                if k == TRIES - 1 or (bucket is not None and not bucket.pay()):
                    break
            else:
                if bucket is not None:
                    bucket.succeed(retried=k > 0)
                well = True
                break
            shortest = max(SECONDS[k] * random.uniform(1.0, SPREAD), shortest)
            yield environment.timeout(shortest)
        ended(environment, number, since, well)


def paying(environment: Any, random: Random, number: int, bucket: Bucket) -> Process:
    return trying(environment, random, number, asked, bucket)


def breaking(environment: Any, random: Random, number: int, circuit: Circuit) -> Process:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        since, well, shortest = environment.now, False, 0.0
        for k in range(TRIES):
            least, probe = shortest, False
            try:
                probe = circuit.admit(environment.now)
                yield from asked(environment, random)
            except Refused as refusal:
                least = max(least, refusal.args[0])
            except ConnectionError:
                circuit.fail(probe, environment.now)
            else:
                circuit.succeed(probe)
                well = True
                break
            if k == TRIES - 1:
                break
            shortest = max(SECONDS[k] * random.uniform(1.0, SPREAD), least)
            yield environment.timeout(shortest)
        ended(environment, number, since, well)


def in_line(environment: Any, random: Random, number: int, turns: Turns) -> Process:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        since, well, shortest = environment.now, False, 0.0
        for k in range(TRIES):
            least = shortest
            try:
                yield from asked_in_line(environment, random, turns)
            except Refused as refusal:
                least = max(least, refusal.args[0])
            except ConnectionError:
                pass
            else:
                well = True
                break
            if k == TRIES - 1:
                break
            shortest = max(SECONDS[k] * random.uniform(1.0, SPREAD), least)
            yield environment.timeout(shortest)
        ended(environment, number, since, well)


def within(
    environment: Any, random: Random, number: int, effect: Callable[..., Process]
) -> Process:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        since, well, shortest = environment.now, False, 0.0
        deadline, late = since + WITHIN, environment.timeout(WITHIN)
        for k in range(TRIES):
            try:
                yield from effect(environment, random, late)
            except ConnectionError:
                pass
            except TimeoutError:
                break
            else:
                well = True
                break
            shortest = max(SECONDS[k] * random.uniform(1.0, SPREAD), shortest)
            if k == TRIES - 1 or environment.now + shortest >= deadline:
                break
            yield environment.timeout(shortest)
        ended(environment, number, since, well)


def begun(process: Callable[..., Process], given: Any, clients: int) -> Any:
    environment, random = import_module("simpy").Environment(), Random(0)  # noqa: S311
    environment.tally, environment.gave_up, environment.share = Tally(), set[int](), SHARE
    more = () if given is None else (given,)
    with simulating():
        for number in range(clients):
            environment.process(process(environment, random, number, *more))
    return environment


def run(environment: Any, seconds: float) -> None:
    """Simulate `seconds`, and end the counts of each second, as `simulate` does."""
    with simulating():
        for second in range(ceil(seconds)):
            environment.run(until=min(second + 1, seconds))
            environment.tally.end(0.0)
