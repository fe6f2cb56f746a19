"""The laws of budgets: retries are paid for, whatever happens, and in any order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N5, ClientError, NotReady, RetryBudget, ServerError, Throttled, at
from ixbackoff._limits.budgets import Account

from ..support.ways.budgets import ASK, world_of

costs = st.integers(1, 400).map(lambda thousandths: thousandths / 100)
failures = st.sampled_from([NotReady(), Throttled(), ServerError(503), ClientError(400)])
scripts = st.lists(st.integers(0, 5) | failures, min_size=6, max_size=6)


@st.composite
def token_budgets(draw: st.DrawFn) -> tuple[RetryBudget, float, float, float]:
    """A budget, its tokens, the least that a retry costs, and the most that a success gives."""
    cost, throttled = draw(costs), draw(costs)
    capacity = max(cost, throttled) + draw(st.floats(0, 20))
    returned = draw(st.floats(0, 1).map(lambda part: part * capacity))
    after = draw(st.none() | st.floats(0, 1).map(lambda part: part * capacity))
    budget = RetryBudget(
        capacity,
        cost=cost,
        throttled_cost=throttled,
        returned=returned,
        returned_after_retry=after,
    )
    given_after = max(cost, throttled) if after is None else after
    return budget, budget.left, min(cost, throttled), max(returned, given_after)


def counted(budget: RetryBudget, runs: list[list[Any]]) -> tuple[int, int]:
    """Run each script with one budget; count the retries, and the runs that ended well."""
    capacity = budget.left
    retries = successes = 0
    for script in runs:
        world = world_of(*script)
        try:
            at(N5).retry(ASK).run(world.interpreter, budget=budget)
            successes += 1
        except Exception:
            assert len(world.waits) <= 5
        retries += len(world.waits)
        assert 0 <= budget.left <= capacity
    return retries, successes


@given(token_budgets(), st.lists(scripts, max_size=12))
def test_retries_are_paid_for(drawn: Any, runs: list[list[Any]]) -> None:
    budget, capacity, cost, most = drawn
    retries, successes = counted(budget, runs)
    assert retries * cost <= capacity + successes * (most + 0.001) + 1e-6


@given(st.floats(3, 40), st.floats(0.001, 2), st.lists(scripts, max_size=30))
def test_grpc_retries_are_paid_for(most: float, ratio: float, runs: list[list[Any]]) -> None:
    budget = RetryBudget.grpc(most, ratio)
    capacity = budget.left
    retries, successes = counted(budget, runs)
    assert retries <= capacity / 2 + successes * (ratio + 0.001) + 1e-6


moments = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 4)), max_size=60)


@given(st.integers(1, 60), st.integers(0, 3), st.floats(0.05, 3), moments)
def test_finagle_retries_are_paid_for(
    ttl: int, least: int, percent: float, steps: list[tuple[float, int]]
) -> None:
    budget = RetryBudget.finagle(ttl, least, percent)
    now = 0.0
    begun: list[float] = []
    made: list[float] = []
    for passed, asked in steps:
        now += passed
        account = budget.open(now)
        begun.append(now)
        made += [now] * sum(account.afford(NotReady(), now) for _ in range(asked))
        assert budget.left >= 0
        recent = [moment for moment in made if moment > now - 0.9 * ttl]  # none is forgotten yet
        lately = [
            moment for moment in begun if moment >= now - 3 * ttl
        ]  # others are long forgotten
        cost = int(1000 / percent) / 1000
        assert len(recent) * cost <= least * ttl * cost + len(lately) + 1e-6


Deed = Callable[[Account], object]
DEEDS: list[Deed] = [
    lambda account: account.close(None, 0.0),
    lambda account: account.close(NotReady(), 0.0),
    lambda account: account.afford(NotReady(), 0.0),
    lambda account: account.afford(Throttled(), 0.0),
]


@given(st.lists(st.sampled_from(DEEDS), max_size=5))
def test_the_order_does_not_matter_for_the_total(deeds: list[Deed]) -> None:
    totals = set()
    for order in permutations(deeds):
        budget = RetryBudget(100, cost=0.7, throttled_cost=1.1, returned=0.1)
        for account in [budget.open(0.0) for _ in range(40)]:
            account.afford(ServerError(500), 0.0)  # far from empty and from full
        for deed in order:
            deed(budget.open(0.0))
        totals.add(budget.left)
    assert len(totals) == 1
