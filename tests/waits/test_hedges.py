"""Hedges: when a request is slow, and whether there may be a copy."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N3,
    Call,
    CircuitOpen,
    ClientError,
    Hedge,
    Limiter,
    Misuse,
    NotReady,
    RetryBudget,
    ServerError,
    Throttled,
    at,
    do,
    read,
)
from ixbackoff.testing import Virtual, always, answers, takes

from ..support.ways.hedges import Get, hedged, slow_after

FAILURES = st.sampled_from([ServerError(503), ConnectionError(), Throttled(3.0), ClientError(404)])
COPIES = st.tuples(st.sampled_from([1.0, 2.0, 3.0, 20.0]), st.just(1) | FAILURES)


class TestWhatIsSlow:
    def test_it_is_known_after_some_answers(self) -> None:
        hedge = Hedge(known=3)
        for seconds in (1.0, 2.0):
            hedge.hear(None, seconds, 0.0)
        assert hedge.begin() is None
        hedge.hear(None, 3.0, 0.0)
        assert hedge.begin() == 3.0

    @given(st.lists(st.floats(0.01, 100), min_size=1, max_size=300), st.floats(0.001, 0.25))
    def test_at_most_the_share_takes_longer(self, took: list[float], extra: float) -> None:
        hedge = Hedge(extra, known=1)
        for seconds in took:
            hedge.hear(None, seconds, 0.0)
        after = hedge.after
        assert after is not None
        assert sum(seconds > after for seconds in took) <= extra * len(took)
        assert sum(seconds >= after for seconds in took) >= extra * len(took)

    def test_the_last_thousand_count(self) -> None:
        hedge = slow_after(9.0)
        for _ in range(1000):
            hedge.hear(None, 1.0, 0.0)
        assert hedge.after == 1.0

    def test_nothing_is_slow_below_least(self) -> None:
        assert slow_after(1e-6, least=timedelta(milliseconds=2)).after == 0.002

    def test_an_answer_is_one_whatever_it_says(self) -> None:
        hedge = Hedge(known=2)
        hedge.hear(ClientError(404), 1.0, 0.0)
        hedge.hear(NotReady(), 1.0, 0.0)
        assert hedge.after == 1.0

    @pytest.mark.parametrize("failure", [ServerError(503), CircuitOpen(1.0), Misuse("a mistake")])
    def test_a_failure_is_none(self, failure: Exception) -> None:
        hedge = Hedge(known=1)
        hedge.hear(failure, 1.0, 0.0)
        assert hedge.after is None


class TestTheBucket:
    def test_a_request_gives_a_share_and_a_copy_takes_one(self) -> None:
        hedge = Hedge(0.25)
        assert [hedge.copy(0.0), hedge.copy(0.0)] == [True, False]
        copies = 0
        for _ in range(40):
            hedge.begin()
            copies += hedge.copy(0.0)
        assert copies == 10

    def test_no_more_than_ten_are_saved(self) -> None:
        hedge = Hedge(0.25)
        for _ in range(1000):
            hedge.begin()
        assert sum(hedge.copy(0.0) for _ in range(100)) == 10

    def test_a_transient_failure_takes_one(self) -> None:
        hedge = slow_after()
        hedge.hear(ServerError(503), 1.0, 0.0)
        assert not hedge.copy(1.0)

    @pytest.mark.parametrize("failure", [NotReady(60.0), ClientError(404), CircuitOpen(60.0)])
    def test_an_answer_or_a_refusal_takes_none(self, failure: Exception) -> None:
        hedge = slow_after()
        hedge.hear(failure, 1.0, 0.0)
        assert hedge.copy(1.0)

    def test_there_is_none_before_retry_after(self) -> None:
        hedge = Hedge(0.25)
        for _ in range(100):
            hedge.begin()
        hedge.hear(Throttled(30.0), 1.0, 0.0)
        assert [hedge.copy(30.9), hedge.copy(31.0)] == [False, True]

    def test_a_thread_that_was_given_up_holds_a_token(self) -> None:
        hedge = Hedge(0.25)
        for _ in range(100):
            hedge.begin()
        hedge.lose(10)
        assert not hedge.copy(0.0)
        hedge.lose(-1)
        assert [hedge.copy(0.0), hedge.copy(0.0)] == [True, False]

    def test_a_budget_pays_too(self) -> None:
        budget = RetryBudget(1, returned=0)
        hedge = Hedge(0.25, budget=budget)
        for _ in range(100):
            hedge.begin()
        assert [hedge.copy(0.0), hedge.copy(0.0)] == [True, False]
        assert budget.left == 0

    def test_a_timed_budget_pays_by_the_time(self) -> None:
        budget = RetryBudget.finagle(ttl=1, min_retries_per_second=1, percent_can_retry=0)
        hedge = Hedge(0.25, budget=budget)
        for _ in range(100):
            hedge.begin()
        assert [hedge.copy(0.0), hedge.copy(0.1), hedge.copy(5.0)] == [True, False, True]

    def test_threads_take_no_token_twice(self) -> None:
        hedge = Hedge(0.25)
        for _ in range(100):
            hedge.begin()
        copies: list[bool] = []
        threads = [
            Thread(target=lambda: copies.extend(hedge.copy(0.0) for _ in range(20)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(copies) == 10


@given(st.lists(COPIES, min_size=1, max_size=60), st.sampled_from([0.05, 0.25]))
def test_copies_are_at_most_their_share_and_none_follows_a_failure(
    script: list[tuple[float, Any]], extra: float
) -> None:
    hedge = slow_after(4.0, extra=extra)
    world = Virtual(Get.handled_by(answers(*[takes(*copy) for copy in script], 1, 1)))
    requests = 0
    while len(world.commands) < len(script):
        requests += 1
        begun = len(world.commands)
        before = world.now
        with suppress(ServerError, ConnectionError, Throttled, ClientError):
            hedged(hedge, Get()).run(world.interpreter)
        asked = world.trace[begun:]
        assert len(asked) <= 2
        if len(asked) == 2:
            assert asked[0].at == before
            assert asked[1].at == before + (hedge.after or 0) or asked[1].at > before
    copies = len(world.commands) - requests
    assert copies <= extra * requests + 1


def test_a_failure_before_it_is_slow_is_the_ladders() -> None:
    world = Virtual(Get.handled_by(answers(takes(1, ServerError(503)), takes(1, 7))))
    asked = do(Get()).hedged(slow_after())
    assert at(N3).retry(asked).run(world.interpreter) == 7
    assert [one.at for one in world.trace] == [0.0, 1.0, 2.0]
    assert world.waits == [1.0]


@given(st.lists(FAILURES.filter(lambda one: not isinstance(one, ClientError)), max_size=3))
def test_the_waits_of_the_ladder_are_those_without_a_hedge(failures: list[Exception]) -> None:
    waits = []
    for effect in (do(Get()), do(Get()).hedged(slow_after())):
        world = Virtual(Get.handled_by(answers(*failures, 1)))
        at(N3).retry(effect).run(world.interpreter)
        waits.append(world.waits)
    assert waits[0] == waits[1]


def test_a_limit_and_a_gate_around_it_see_one_try() -> None:
    limiter = Limiter(0.1, line=100)
    world = Virtual(Get.handled_by(answers(takes(30, 1), takes(1, 2), takes(1, 3))))
    asked = do(Get()).hedged(slow_after()).limit(20).through(limiter)
    assert at(N0).do(asked).do(asked).run(world.interpreter) == 3
    assert world.lines == [5.0]


def test_it_says_what_it_knows() -> None:
    hedge = Hedge()
    assert repr(hedge) == "<Hedge: not known yet what is slow, 0 copies, 0 of them faster>"
    world = Virtual(Get.handled_by(answers(takes(30, 1), takes(1, 2))))
    hedge = slow_after()
    assert hedged(hedge, Get()).run(world.interpreter) == 2
    assert repr(hedge) == "<Hedge: slow after 4 s, 1 copy, 1 of them faster>"


@pytest.mark.parametrize(
    "how",
    [{"extra": 0}, {"extra": 0.3}, {"least": -1}, {"known": 0}, {"known": 1001}],
)
def test_numbers_out_of_bounds_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give a number of"):
        Hedge(**how)


def test_other_arguments_are_refused() -> None:
    wrong: Any = 5
    with pytest.raises(Misuse, match=r"budget=5 is not a budget: give a RetryBudget"):
        Hedge(budget=wrong)
    with pytest.raises(Misuse, match=r"hedged\(5\): give a Hedge\(\.\.\.\), one for each service"):
        do(Get()).hedged(wrong)


def test_a_handler_of_call_answers_a_read() -> None:
    world = Virtual(Call.handled_by(always("page")))
    assert hedged(Hedge(), read(len, "a")).run(world.interpreter) == "page"
