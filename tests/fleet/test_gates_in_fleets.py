"""Gates in fleets: limiters against a quota, throttles under overload and after an outage."""

from __future__ import annotations

from functools import partial
from statistics import fmean

import pytest

from benchmarks.gated_models import (
    Book,
    Bucket,
    Get,
    Guards,
    Quota,
    overload,
    recovered,
    recovery,
    well,
)
from benchmarks.gates import quotas
from ixbackoff import (
    N0,
    N2,
    Call,
    Command,
    Limiter,
    Misuse,
    RetryBudget,
    Throttle,
    all_of,
    at,
    backoff,
    do,
)
from ixbackoff.fleet import BoundedQueue, instantly, simulate, simulate_many

SEEDS = range(8)  # of the 40 of the tables


class Fail(Command[None]):
    """A request that fails."""

    __slots__ = ()


def failing(_: Fail) -> None:
    raise ValueError


def test_clients_stand_in_line_and_leave_it_when_their_branch_ends() -> None:
    limiter = Limiter(1, line=60)
    together = all_of(do(Get()).through(limiter), do(Get()).through(limiter), Fail())
    services = BoundedQueue(length=9, work=0.1).serves(Get) | instantly(Fail.handled_by(failing))
    outcome = simulate(at(N0).do(together), services, clients=1, seconds=9, trace=True)
    assert outcome.total(lambda second: second.gave_up) == 1
    assert [str(performed.command) for performed in outcome.trace if performed.at > 0.2] == []


def test_the_gates_of_a_backoff_hold_for_its_programs() -> None:
    program = backoff(N2, through=Limiter(8, line=60)).program(int)
    services = instantly(Call.handled_by(lambda _: 0))
    outcome = simulate(program, services, clients=20, seconds=5)
    assert [second.well for second in outcome.seconds] == [8, 8, 4, 0, 0]


@pytest.mark.parametrize("shared", [Limiter(1, line=1), Throttle()])
def test_seeds_share_no_gate(shared: Limiter | Throttle) -> None:
    services = BoundedQueue(length=100, work=0.001).serves(Get)
    program = at(N2).retry(do(Get()).through(shared))
    with pytest.raises(Misuse, match="which all seeds would share"):
        simulate_many(program, services, clients=1, seconds=1, seeds=range(2))


def test_a_deadline_and_a_budget_do_not_change_the_line() -> None:
    lines: list[list[int]] = []
    for limited in (False, True):
        limiter = Limiter(2, line=60)
        outcome = simulate(
            at(N2).retry(do(Get()).through(limiter)),
            BoundedQueue(length=100, work=0.001).serves(Get),
            clients=8,
            seconds=6,
            within=60 if limited else None,
            budget=(lambda _: RetryBudget(10)) if limited else None,
        )
        lines.append([second.asked for second in outcome.seconds])
    assert lines[0] == lines[1] == [2, 2, 2, 2, 0, 0]


@pytest.mark.slow
class TestTables:
    """The goals of the tables in docs/limiters.md and docs/throttles.md."""

    @pytest.mark.parametrize("rate", [8, 10, 11, 15, 30, 100, 1000, 1e6, None])
    def test_one_limiter_of_any_rate_asks_hardly_in_vain(self, rate: float | None) -> None:
        rows = [
            row
            for seed in SEEDS
            for row in quotas(Quota(), seed, [(lambda: Limiter(rate, line=20), 1)])
        ]
        assert max(row["in vain, %"] for row in rows) <= 5
        assert min(row["succeed/s"] for row in rows) >= (7.9 if rate == 8 else 9.9)
        assert max(row["gave up/s"] for row in rows) <= 0.1

    def test_ladders_alone_ask_mostly_in_vain_and_ten_limiters_hardly(self) -> None:
        ways = [(None, 1), (lambda: Limiter(10, line=20), 10)]
        rows = [quotas(Quota(), seed, ways) for seed in SEEDS]
        assert min(alone["in vain, %"] for alone, _ in rows) >= 50
        assert fmean(alone["most in 1 s"] for alone, _ in rows) >= 100
        assert max(ten["in vain, %"] for _, ten in rows) <= 10
        assert min(ten["succeed/s"] for _, ten in rows) >= 9.9

    def test_learning_limiters_need_no_retry_after(self) -> None:
        ways = [(lambda: Limiter.learning(line=20), 10)]
        rows = [row for seed in SEEDS for row in quotas(Bucket(), seed, ways)]
        assert max(row["in vain, %"] for row in rows) <= 16
        assert min(row["succeed/s"] for row in rows) >= 9.7

    @pytest.mark.parametrize(("load", "least"), [(1.2, 70), (4, 75), (8, 75)])
    def test_under_overload_a_throttle_leaves_three_quarters(
        self, load: float, least: float
    ) -> None:
        assert min(well(overload(Guards(Throttle), load, seed)) for seed in range(2)) >= least

    def test_under_overload_neither_ladders_nor_a_budget_help(self) -> None:
        for guards in (Guards(), Guards(budget=partial(RetryBudget, 10))):
            assert well(overload(guards, 4, seed=0)) == 0

    def test_after_an_outage_runs_succeed_at_once(self) -> None:
        outcomes = [recovery(Guards(Throttle), seed) for seed in SEEDS]
        assert max(map(recovered, outcomes)) <= 20
        assert max(outcome.rate(lambda one: one.asked, 70, 120) for outcome in outcomes) <= 5

    def test_the_throttle_of_the_book_takes_longer(self) -> None:
        assert recovered(recovery(Guards(partial(Book, 2, 120)), 0)) > 20
        assert recovered(recovery(Guards(partial(Book, 1.1, 30)), 0)) == 180
