"""The server that gets slower: its delay, its ticks, the queue before it, and those who left."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import Command
from ixbackoff.fleet import Events, Request, SlowingServer

PRINTED = {1040: 2.671444385, 1599: 16.458895305, 1925: 47.524196455, 2231: 128.580906589}
HORIZON = 30.0


class Ask(Command[None]):
    __slots__ = ()


class Sender:
    """The sender of requests; it remembers the results and their times.

    Attributes:
        told: the time, and the number of the client.
    """

    def __init__(self, events: Events) -> None:
        self.events = events
        self.told: list[tuple[float, int]] = []

    def settled(self, request: Request, value: object, failure: Exception | None) -> None:  # noqa: ARG002
        assert failure is None
        self.told.append((self.events.now, request.client))

    def expired(self, request: Request) -> None:
        raise AssertionError(request)

    def request(self, number: int) -> Request:
        made = Request()
        made.command, made.client, made.begun, made.limit = Ask(), number, self.events.now, None
        made.over, made._sender = False, self
        return made


def ended(
    model: SlowingServer, arrivals: list[float], stops: tuple[float, float] | None
) -> list[Any]:
    """The end of each request, in the model: (time, number of the arrival), until the horizon."""
    events = Events(seed=0)
    serving = model.begin(events)
    sender = Sender(events)

    def ask(number: int) -> None:
        serving.ask(sender.request(number))

    for number, arrival in enumerate(arrivals):
        events.at(arrival, ask, number)
    if stops:
        events.at(stops[0], lambda _: serving.set_speed(0))
        events.at(stops[0] + stops[1], lambda _: serving.set_speed(1))
    events.run(HORIZON)
    return sender.told


def reference(
    model: SlowingServer, arrivals: list[float], stops: tuple[float, float] | None
) -> list[Any]:
    """The same, as the post's server has it: everyone wakes at every tick and looks."""
    stopped, resumed = (stops[0], stops[0] + stops[1]) if stops else (2e9, 2e9)
    come = 0  # at the same time: the resumption, then ticks by number, then arrivals
    queue: list[tuple[float, int, int, float, float, int]] = []
    for number, arrival in enumerate(arrivals):
        start = resumed if stopped < arrival < resumed else arrival
        heappush(queue, (start, 1, number, start, 0.0, 0))
    concurrency, done = 0, []
    while queue:
        now, _, number, anchor, age, ticks = heappop(queue)
        if now >= HORIZON:
            break
        if stopped < now < resumed:  # its sleep is over when the process goes on
            age = age + ticks * model.tick + (resumed - now)
            heappush(queue, (resumed, 0, number, resumed, age, 0))
            continue
        if ticks == 0 and age == 0.0:
            concurrency += 1
            come += 1
        elif age + ticks * model.tick >= model.delay(concurrency):
            concurrency -= 1
            done.append((now, number))
            continue
        following = anchor + (ticks + 1) * model.tick
        heappush(queue, (following, 0, number, anchor, age, ticks + 1))
    return done


def assert_same(model: SlowingServer, arrivals: list[float], stops: Any) -> None:
    model_ended, right = ended(model, arrivals, stops), reference(model, arrivals, stops)
    assert [number for _, number in model_ended] == [number for _, number in right]
    for (when, _), (expected, _) in zip(model_ended, right, strict=True):
        assert when == pytest.approx(expected, abs=1e-6)


# On this grid no tick is at the time of an arrival, unless both have come at the same time.
GRID = 0.0137
times = st.integers(0, 400).map(lambda place: place * GRID)
bursts = st.lists(st.tuples(times, st.integers(1, 40)), max_size=12).map(
    lambda some: sorted(time for time, count in some for _ in range(count))
)
models = st.builds(
    SlowingServer,
    limit=st.integers(0, 30),
    factor=st.sampled_from([1.0, 1.05, 1.5, 2.0, 4.0]),
    base=st.sampled_from([0.03, 0.1, 0.13]),
)


@given(models, bursts)
def test_it_is_what_looking_at_each_request_at_each_tick_gives(
    model: SlowingServer, arrivals: list[float]
) -> None:
    assert_same(model, arrivals, None)


@given(models, bursts, st.tuples(times, st.floats(0.01, 5)))
def test_and_when_it_is_stopped_in_between(
    model: SlowingServer, arrivals: list[float], stops: tuple[float, float]
) -> None:
    assert_same(model, arrivals, (stops[0] + 0.00101, stops[1]))


@pytest.mark.parametrize("concurrency", PRINTED)
def test_the_posts_four_delays(concurrency: int) -> None:
    assert (
        f"{PRINTED[concurrency]:.9f}"
        == f"{int(SlowingServer().delay(concurrency) * 1e9) / 1e9:.9f}"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"base": 0.0},
        {"tick": -1.0},
        {"knocks": float("inf")},
        {"lingering": -1.0},
        {"factor": 0.9},
        {"limit": -1},
        {"backlog": -1},
    ],
)
def test_numbers_out_of_bounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SlowingServer(**wrong)


def test_the_delay_is_endless_where_no_float_can_hold_it() -> None:
    assert SlowingServer().delay(10**7) == float("inf")


class Recorded:
    """A server with requests that end when they are told to."""

    def __init__(self, model: SlowingServer) -> None:
        self.events = Events(seed=0)
        self.serving = model.begin(self.events)
        self.sender = Sender(self.events)
        self.requests: list[Request] = []

    def asks(self, when: float, count: int = 1) -> None:
        """So many ask at this time."""

        def ask(_: object) -> None:
            for _number in range(count):
                number = len(self.requests)
                self.requests.append(self.sender.request(number))
                self.serving.ask(self.requests[-1])

        self.events.at(when, ask)

    def stops(self, begin: float, end: float) -> None:
        self.events.at(begin, lambda _: self.serving.set_speed(0))
        self.events.at(end, lambda _: self.serving.set_speed(1))

    def load(self, when: float) -> float:
        self.events.run(when)
        return self.serving.load()


def test_a_request_takes_the_base_and_ends_at_a_tick() -> None:
    assert ended(SlowingServer(), [1.0], None) == [(1.1, 0)]
    assert ended(SlowingServer(base=0.11), [1.0], None) == [(pytest.approx(1.15), 0)]


def test_who_has_gone_keeps_the_place() -> None:
    world = Recorded(SlowingServer(base=3.0))
    world.asks(0.0, 20)
    world.events.run(1.0)
    for request in world.requests:
        request.over = True
        world.serving.abandoned(request)
    assert world.load(2.99) == 20
    assert world.load(3.1) == 0
    assert world.sender.told == []


def test_the_accept_queue_holds_one_more_than_its_length_and_all_of_it_is_served() -> None:
    world = Recorded(SlowingServer(backlog=128, base=1.0, limit=1000))
    world.stops(1.0, 9.0)
    world.asks(2.0, 400)
    world.events.run(8.0)
    for request in world.requests:  # all have given up
        request.over = True
    assert world.load(9.01) == 129
    assert world.load(9.9) == 129


@pytest.mark.parametrize("knocks", [0.5, 1.02])
def test_who_finds_the_queue_full_and_still_waits_is_admitted_at_its_next_knock(
    knocks: float,
) -> None:
    world = Recorded(SlowingServer(backlog=0, base=100.0, limit=1000, knocks=knocks))
    world.stops(1.0, 5.0)
    world.asks(4.0)  # the one place
    for number in range(10):
        world.asks(4.01 + 0.1 * number)
    assert world.load(4.999) == 0
    assert world.load(5.0 + 1e-6) == 1
    assert world.load(5.0 + knocks) == 11


def test_who_gives_up_before_the_next_knock_is_never_admitted() -> None:
    world = Recorded(SlowingServer(backlog=0, base=100.0, limit=1000))
    world.stops(1.0, 5.0)
    world.asks(4.0, 2)
    world.events.run(5.01)
    world.requests[1].over = True
    assert world.load(9.0) == 1


def test_a_dial_that_was_given_up_admits_the_request_that_has_waited_longest() -> None:
    world = Recorded(SlowingServer(backlog=0, base=100.0, limit=1000, lingering=3.0))
    world.stops(1.0, 9.0)
    world.asks(2.0)  # the one place
    world.asks(3.0)  # its dial has ended at 9
    world.asks(7.9)  # its dial knocks next at 9.94 - 1.02 = 8.92, and at 9.94
    world.asks(8.8, 2)  # their own dials knock at 9.82
    world.events.run(8.9)
    for request in world.requests[:3]:
        request.over = True
    assert world.load(9.81) == 1
    assert world.load(9.83) == 3
    assert world.load(20.0) == 3


def test_a_long_outage_keeps_only_the_dials_that_go_on() -> None:
    world = Recorded(SlowingServer(backlog=0, lingering=5.0))
    world.stops(0.5, 90.0)
    for second in range(1, 80):
        world.asks(float(second))
        world.events.run(second + 0.5)
        world.requests[-1].over = True
    assert len(world.serving.outside) <= 6  # type: ignore[attr-defined]


def test_what_was_in_its_place_before_the_stop_ends_when_it_goes_on() -> None:
    world = Recorded(SlowingServer())
    world.asks(0.95, 10)
    world.stops(1.0, 21.0)
    world.asks(15.0, 100)
    assert world.load(20.9) == 10
    assert world.load(21.0 + 1e-6) == 100
    assert [when for when, _ in world.sender.told] == [21.0] * 10


def test_a_stop_within_a_tick_changes_nothing() -> None:
    stopped = ended(SlowingServer(), [1.0], (1.01, 0.02))
    assert stopped == ended(SlowingServer(), [1.0], None)
