"""`backoff` is what its program is, in each of its forms: the law, and what follows from it."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    N20,
    Exponential,
    Misuse,
    NotReady,
    RetryBudget,
    Schedule,
    ServerError,
    Throttled,
    Transient,
    backoff,
    reflect,
)
from ixbackoff._running.sleeping import LONGEST_SLEEP
from ixbackoff._words.failure_classes import On
from ixbackoff.schedules import Chance, Computed, Constant, Fibonacci, Listed, WaitFunction

from ..support.ways.functions import (
    WAYS,
    Outcome,
    Seen,
    Way,
    decorated,
    decorated_async,
    in_asyncio,
    program,
    seen,
    sleeps,
)

RUNGS: list[Any] = [N0, N1, N2, N3, N5, N20]
YEARS = 1e13  # seconds
NAN = float("nan")


class Unnotable(ConnectionError):
    """A failure that takes no notes."""

    def add_note(self, note: str, /) -> None:  # noqa: ARG002
        raise RuntimeError("no notes, please")


class Empty(ConnectionError):
    """A failure that is false."""

    def __len__(self) -> int:
        return 0


class Renamed(Misuse):
    """A misuse, whatever `on` says."""


the_same_again = NotReady("the same object each time")

FAILURES: list[Outcome] = [
    NotReady,
    lambda: Throttled(7.5),
    lambda: Throttled(2),
    lambda: Throttled(1e12),
    lambda: ServerError(503, retry_after=0.25),
    ConnectionError,
    ConnectionRefusedError,
    TimeoutError,
    Unnotable,
    Empty,
    lambda: the_same_again,
    lambda: ExceptionGroup("several", [ConnectionError()]),
    ValueError,
    TypeError,
    Misuse,
    Renamed,
]
failures = st.sampled_from(FAILURES)
scripts: st.SearchStrategy[list[Outcome]] = st.lists(
    failures | failures | failures | st.integers(0, 9), min_size=1, max_size=8
)


class Broken(Exception):
    """A failure of the predicate itself."""


def breaks_on_value_errors(failure: Exception) -> bool:
    if isinstance(failure, ValueError):
        raise Broken
    return isinstance(failure, ConnectionError)


ON: list[On] = [
    (Transient, ConnectionError, TimeoutError),
    ConnectionError,
    Exception,
    (ValueError, NotReady),
    TypeError,
    Misuse,
    Renamed,
    (Renamed, ConnectionError),
    lambda failure: True,
    lambda failure: not isinstance(failure, NotReady),
    breaks_on_value_errors,
]


class Careless(Schedule):
    """A schedule that breaks its promise."""

    __slots__ = ("waits", "known")

    def __init__(self, waits: list[float], known: bool) -> None:
        self.waits = waits
        self.known = known

    @property
    def deterministic(self) -> bool:
        return self.known

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return lambda k: self.waits[k % len(self.waits)]


class Unbegun(Schedule):
    """A schedule that fails before its first wait."""

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        raise ValueError("this schedule does not even begin")


seconds = st.floats(0, 100)
deterministic = (
    st.builds(Exponential, st.floats(0.001, 10), st.floats(1, 3))
    | st.builds(Constant, seconds)
    | st.builds(Fibonacci, st.floats(0.001, 10))
    | st.builds(lambda waits: Listed(sorted(waits)), st.lists(seconds, min_size=1))
    | st.builds(Careless, st.lists(seconds, min_size=1), st.just(True))
    | st.just(Constant(2e9))
)
same_by_chance = st.builds(
    lambda schedule, spread, seed: schedule.jittered(spread).seeded(seed),
    deterministic,
    st.floats(1, 3),
    st.integers(),
)
nonsense: st.SearchStrategy[Any] = st.sampled_from([NAN, -1.0, float("inf"), None, "1"])
careless = st.builds(Careless, st.lists(seconds | nonsense, min_size=1), st.just(False))
schedules = deterministic | same_by_chance | careless | st.just(Unbegun())

NO_LIMITS: list[dict[str, Any]] = [{}, {"within": 1e15}, {"budget": RetryBudget(10**9)}]
"""Limits that no script comes near to, so that they change nothing."""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@given(data=st.data())
def test_every_form_is_the_program(way: Way, data: st.DataObject) -> None:
    """Compare the calls, the waits, and the value or the failure object with its notes."""
    made = backoff(
        data.draw(st.sampled_from(RUNGS), "rung"),
        on=data.draw(st.sampled_from(ON), "on"),
        schedule=data.draw(schedules, "schedule"),
        **data.draw(st.sampled_from(NO_LIMITS), "limits"),
    )
    script = data.draw(scripts, "script")
    expected = seen(program, made, script)
    assert seen(way, made, script) == expected
    assert seen(way, made, script) == expected, "a second call is as the first"


@pytest.mark.parametrize("way", [decorated, in_asyncio(decorated_async)], ids=["sync", "async"])
def test_every_choice_of_failures_is_that_of_the_program(way: Way) -> None:
    for on, failure in product(ON, FAILURES):
        made = backoff(N1, on=on)
        assert seen(way, made, [failure]) == seen(program, made, [failure])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@given(
    st.sampled_from([Exponential(0.5), Constant(3), Listed([1, 5]), Constant(1e300)]),
    st.sampled_from([1.0, 1.5, 2.0, 1e9]),
    scripts,
    st.integers(0, 99),
)
def test_jitter_draws_what_the_program_draws(
    way: Way, schedule: Schedule, spread: float, script: list[Outcome], seed: int
) -> None:
    def drawn(way: Way) -> Seen:
        random.seed(seed)
        return seen(way, backoff(N5, schedule=schedule.jittered(spread)), script)

    assert drawn(way) == drawn(program)


@pytest.mark.parametrize("way", [decorated, in_asyncio(decorated_async)], ids=["sync", "async"])
@given(deterministic, st.floats(1, 3), st.integers())
def test_a_call_waits_as_previewed(way: Way, schedule: Schedule, spread: float, seed: int) -> None:
    spread_out = schedule.jittered(spread)
    for one in (schedule, spread_out.seeded(seed)):
        waits = [min(seconds, LONGEST_SLEEP) for seconds in one.preview(5)]
        assert seen(way, backoff(N5, schedule=one), [NotReady]).waits == waits
    random.seed(seed)
    waits = seen(way, backoff(N5, schedule=spread_out), [NotReady]).waits
    assert waits == [min(seconds, LONGEST_SLEEP) for seconds in spread_out.preview(5, seed=seed)]


@given(
    st.lists(seconds, min_size=1).map(lambda waits: Careless(waits, known=True)),
    st.floats(1, 3),
    st.integers(0, 4),
)
def test_jitter_is_never_below_the_wait_before_nor_what_the_service_asks(
    schedule: Schedule, spread: float, place: int
) -> None:
    """This also holds if the schedule falls, or if the service asks for longer waits midway."""
    script: list[Outcome] = [NotReady] * 5
    script[place] = lambda: Throttled(120)
    waits = seen(decorated, backoff(N5, schedule=schedule.jittered(spread)), script).waits
    assert waits == sorted(waits)
    assert all(120 <= wait <= 300 for wait in waits[place:])
    plain = schedule.preview(5)
    longest = [spread * wait * (1 + 1e-12) for wait in plain]
    assert all(a <= b <= c for a, b, c in zip(plain[:place], waits, longest, strict=False))


@given(st.sampled_from(RUNGS), schedules, scripts)
def test_waits_are_never_shorter_than_the_one_before_and_no_more_than_rungs(
    rung: Any, schedule: Schedule, script: list[Outcome]
) -> None:
    waits = seen(decorated, backoff(rung, schedule=schedule), script).waits
    assert waits == sorted(waits)
    assert len(waits) <= reflect(rung)


def test_a_predicate_is_asked_once_for_each_failure_that_can_be_tried_again() -> None:
    asked: list[Exception] = []

    def memorable(failure: Exception) -> bool:
        asked.append(failure)
        return True

    for rung in RUNGS:
        asked.clear()
        assert seen(decorated, backoff(rung, on=memorable), [ConnectionError]).which is not None
        assert len(asked) == reflect(rung)


def test_what_breaks_in_a_predicate_says_for_which_failure() -> None:
    @backoff(N3, on=breaks_on_value_errors)
    def fail() -> None:
        raise ValueError("the cause")

    with pytest.raises(Broken) as caught:
        fail()
    assert isinstance(caught.value.__context__, ValueError)


def test_the_last_failure_is_raised_itself_with_a_note() -> None:
    last = ConnectionError("down")

    @backoff(N2, schedule=Constant(3))
    def fail() -> None:
        raise last

    with sleeps() as waits, pytest.raises(ConnectionError) as caught:
        fail()
    assert caught.value is last
    assert last.__notes__ == ["ixbackoff: tries: 3, waits: 2, 6 s in all"]
    assert waits == [3, 3]


@pytest.mark.parametrize("waits", [[1.0, -1.0], [NAN]])
def test_a_deterministic_schedule_that_gives_nonsense_is_refused_at_once(
    waits: list[float],
) -> None:
    for schedule in (Careless(waits, known=True), Computed(lambda k: waits[k % len(waits)])):
        with pytest.raises(ValueError, match="has to give a finite number of seconds"):
            backoff(N3, schedule=schedule)
