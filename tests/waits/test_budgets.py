"""Retry budgets: what they take and give, and what an empty one does to programs."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N2,
    N3,
    N5,
    Delay,
    Exponential,
    NotReady,
    RetryBudget,
    ServerError,
    Throttled,
    at,
)
from ixbackoff._limits.budgets import REFUSED
from ixbackoff.testing import Virtual, always

from ..support.ids import shown
from ..support.ways.budgets import ASK, approximately, outcome, world_of
from ..support.ways.programs import Ask


class TestTokens:
    """Laws of a budget made by `RetryBudget(...)`."""

    def test_what_it_takes_and_gives(self) -> None:
        budget = RetryBudget(10, cost=3, throttled_cost=4, returned=0.5, returned_after_retry=2)
        assert outcome(at(N3).retry(ASK), budget, Throttled(), ServerError(503), 7) == 7
        assert budget.left == approximately(10 - 4 - 3 + 2)
        assert outcome(at(N3).retry(ASK), budget, 7) == 7
        assert budget.left == approximately(5.5)
        assert outcome(at(N3).retry(ASK), budget, NotReady(), NotReady()) == (NotReady, 1)
        assert budget.left == approximately(2.5)

    def test_it_says_what_is_left(self) -> None:
        budget = RetryBudget(2.5, cost=0.25)
        budget.open(0.0).afford(NotReady(), 0.0)
        assert repr(budget) == "<RetryBudget: 2.25 of 2.5 tokens left, a retry costs 0.25>"
        assert repr(RetryBudget(10**9)).startswith(
            "<RetryBudget: 1000000000 of 1000000000 tokens left"
        )

    def test_it_is_equal_to_itself_only(self) -> None:
        budget = RetryBudget(2)
        assert budget == budget
        assert budget != RetryBudget(2)
        assert len({budget, RetryBudget(2)}) == 2


class TestPrograms:
    def test_an_empty_budget_fails_at_once_with_the_failure_and_a_note(self) -> None:
        budget, failure = RetryBudget(1), NotReady("later")
        world = world_of(NotReady(), failure)
        with pytest.raises(NotReady) as caught:
            at(N3).retry(ASK).run(world.interpreter, budget=budget)
        assert caught.value is failure
        assert world.waits == [1.0]
        assert failure.__notes__ == [
            REFUSED,
            "ixbackoff: tries: 2, waits: 1, 1 s in all",
        ]

    def test_the_note_is_there_once(self) -> None:
        budget, failure = RetryBudget(1), NotReady("later")
        for _ in range(3):
            with pytest.raises(NotReady):
                at(N3).retry(ASK).run(
                    Virtual(Ask.handled_by(always(failure))).interpreter, budget=budget
                )
        assert failure.__notes__.count(REFUSED) == 1

    def test_a_program_that_fails_by_itself_has_no_note_of_the_budget(self) -> None:
        failure = NotReady("later")
        with pytest.raises(NotReady):
            at(N0).do(ASK).run(world_of(failure).interpreter, budget=RetryBudget(1))
        assert REFUSED not in failure.__notes__

    def test_an_exception_that_takes_no_note_is_raised_all_the_same(self) -> None:
        class Bare(NotReady):
            def add_note(self, _note: str) -> None:
                raise RuntimeError

        budget = RetryBudget(1)
        assert outcome(at(N3).retry(ASK), budget, Bare(), Bare()) == (Bare, 1)

    def test_no_step_recovers_where_the_budget_is_empty(self) -> None:
        budget = RetryBudget(1)
        budget.open(0.0).afford(NotReady(), 0.0)
        program = at(N2).do(ASK).backoff().or_else(Ask("b")).backoff().or_else(Ask("c"))
        world = world_of(NotReady())
        with pytest.raises(NotReady):
            program.run(world.interpreter, budget=budget)
        assert world.commands == [ASK]

    def test_a_wait_of_a_program_that_is_well_costs_nothing(self) -> None:
        budget = RetryBudget(1)
        budget.open(0.0).afford(NotReady(), 0.0)
        program = at(N2).do(ASK).wait().do(ASK).wait().do(ASK)
        assert outcome(program, budget, 1, 2, 3) == 3

    def test_programs_share_it(self) -> None:
        budget = RetryBudget(3)
        program = at(N5).retry(ASK)
        failures = [NotReady() for _ in range(6)]
        assert outcome(program, budget, *failures) == (NotReady, 3)
        assert outcome(program, budget, *failures) == (NotReady, 0)
        assert outcome(program, budget, 7) == 7

    def test_a_wait_that_comes_too_late_costs_nothing(self) -> None:
        budget = RetryBudget(3)
        world = Virtual(Ask.handled_by(always(NotReady())))
        with pytest.raises(NotReady):
            at(N5).retry(ASK).run(world.interpreter, budget=budget, within=2)
        assert (world.waits, budget.left) == ([1.0], 2)

    def test_the_async_run_asks_it_too(self) -> None:
        budget = RetryBudget(1)
        world = world_of(NotReady(), NotReady())
        with pytest.raises(NotReady):
            asyncio.run(at(N3).retry(ASK).run_async(world.interpreter, budget=budget))
        assert world.waits == [1.0]

    def test_nothing_is_kept_alive(self) -> None:
        def failing(command: Ask) -> int:
            raise NotReady

        interpreter = Ask.handled_by(failing) | Delay.handled_by(lambda _: None)
        budget = RetryBudget(1)
        for _ in range(2):  # once when the budget becomes empty, and once when it is
            gc.collect()
            gc.disable()
            try:
                with suppress(NotReady):
                    at(N2).retry(ASK).run(interpreter, budget=budget)
                assert gc.collect() == 0
            finally:
                gc.enable()


number: Any = None
IMPOSSIBLE: dict[str, tuple[Callable[[], Any], str]] = {
    "no capacity": (lambda: RetryBudget(0), "capacity=0: give a number of tokens"),
    "a negative capacity": (lambda: RetryBudget(-1), "capacity=-1"),
    "a capacity of nan": (lambda: RetryBudget(float("nan")), "capacity=nan"),
    "an infinite capacity": (lambda: RetryBudget(float("inf")), "capacity=inf"),
    "a huge capacity": (lambda: RetryBudget(10**400), "capacity=1000"),
    "a capacity as text": (lambda: RetryBudget("10"), "capacity='10'"),  # type: ignore[arg-type]
    "no number": (lambda: RetryBudget(number), "capacity=None"),
    "a negative cost": (lambda: RetryBudget(10, cost=-1), "cost=-1"),
    "no cost": (lambda: RetryBudget(10, cost=0), "cost=0"),
    "a cost above the capacity": (
        lambda: RetryBudget(10, cost=11),
        "cost=11: give a number of tokens, so that a retry can be paid for, 0.001 to 10",
    ),
    "a negative cost after throttling": (
        lambda: RetryBudget(10, throttled_cost=-1),
        "throttled_cost=-1",
    ),
    "a cost after throttling above the capacity": (
        lambda: RetryBudget(10, throttled_cost=10.5),
        "throttled_cost=10.5",
    ),
    "less than nothing back": (lambda: RetryBudget(10, returned=-0.1), "returned=-0.1"),
    "more back than there is": (lambda: RetryBudget(10, returned=11), "returned=11"),
    "less than nothing back after a retry": (
        lambda: RetryBudget(10, returned_after_retry=-1),
        "returned_after_retry=-1",
    ),
    "grpc without tokens": (lambda: RetryBudget.grpc(0), "max_tokens=0"),
    "grpc that never tries again": (lambda: RetryBudget.grpc(2), "max_tokens=2: .* 2.001 to"),
    "grpc without a ratio": (lambda: RetryBudget.grpc(token_ratio=0), "token_ratio=0"),
    "grpc with a negative ratio": (lambda: RetryBudget.grpc(token_ratio=-0.1), "token_ratio=-0.1"),
    "grpc with a fine ratio": (lambda: RetryBudget.grpc(token_ratio=0.0004), "token_ratio=0.0004"),
    "grpc with a large ratio": (lambda: RetryBudget.grpc(token_ratio=11), "token_ratio=11"),
    "grpc with a ratio of nan": (
        lambda: RetryBudget.grpc(token_ratio=float("nan")),
        "token_ratio=nan",
    ),
    "finagle with a short window": (
        lambda: RetryBudget.finagle(ttl=0.5),
        "ttl=0.5: .* seconds, 1 to 60",
    ),
    "finagle with a long window": (lambda: RetryBudget.finagle(ttl=61), "ttl=61"),
    "finagle with a negative reserve": (
        lambda: RetryBudget.finagle(min_retries_per_second=-1),
        "min_retries_per_second=-1",
    ),
    "finagle with a broken reserve": (
        lambda: RetryBudget.finagle(min_retries_per_second=1.5),  # type: ignore[arg-type]
        "min_retries_per_second=1.5: give a whole number",
    ),
    "finagle with a negative ratio": (
        lambda: RetryBudget.finagle(percent_can_retry=-0.1),
        "percent_can_retry=-0.1",
    ),
    "finagle with a large ratio": (
        lambda: RetryBudget.finagle(percent_can_retry=1001),
        "percent_can_retry=1001",
    ),
    "finagle with nothing": (
        lambda: RetryBudget.finagle(min_retries_per_second=0, percent_can_retry=0.0),
        "nothing could ever be retried",
    ),
}


@pytest.mark.parametrize(("make", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_budget_that_cannot_be_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("budget", [RetryBudget, RetryBudget.grpc, 5, "botocore"], ids=shown)
def test_what_is_no_budget_is_refused(budget: Any) -> None:
    with pytest.raises(TypeError, match="is not a budget: give a RetryBudget"):
        at(N0).do(ASK).run(world_of(1).interpreter, budget=budget)


def test_the_smallest_ratio_of_finagle_is_as_dear_as_its_numbers_go() -> None:
    assert RetryBudget.finagle(percent_can_retry=5e-324).left == 100 * (2**31 - 1) / 1000


def test_a_schedule_and_a_budget_go_together() -> None:
    world = world_of(NotReady(), NotReady(), NotReady())
    with pytest.raises(NotReady):
        at(N5).retry(ASK).run(
            world.interpreter, schedule=Exponential(base=0.1), budget=RetryBudget(2)
        )
    assert world.waits == [0.1, 0.2]
