"""Submitters of jobs: the scheduler and its file descriptors, and three ways to submit."""

from __future__ import annotations

import pytest

from benchmarks.experiments.services.scheduler import FreeDescriptors, Scheduler, Submit
from benchmarks.experiments.submissions import sensed, submissions
from ixbackoff import N20, Constant, at, do
from ixbackoff.fleet import Outcome, simulate
from ixbackoff.testing import Virtual, always, answers

FULL = 7545 // 19  # so many submitters have their descriptors
ALONE = Scheduler(job=1.0, spread=0.0)  # without chance


def submitted(
    scheduler: Scheduler, clients: int, seconds: float, limit: float | None = None
) -> Outcome:
    trying = do(Submit()) if limit is None else do(Submit()).limit(limit)
    return simulate(
        at(N20).retry(trying),
        scheduler.serves(Submit) | scheduler.serves(FreeDescriptors),
        clients=clients,
        seconds=seconds,
        schedule=Constant(1000),
        trace=True,
    )


def test_a_submitter_starts_connects_and_shares_the_scheduler() -> None:
    assert submitted(ALONE, clients=1, seconds=9).ended == 2.0
    outcome = submitted(ALONE, clients=5, seconds=9)
    assert outcome.ended == pytest.approx(6.0)  # 1 s, and then 5 jobs at once
    assert outcome.seconds[3].load == 5 * 19
    assert outcome.seconds[-1].load == 0


def test_the_scheduler_holds_out_until_one_more_than_fits() -> None:
    patient = Scheduler(job=0.001, spread=0.0)
    assert submitted(patient, clients=FULL, seconds=9).total(lambda one: one.failed) == 0
    broken = submitted(patient, clients=FULL + 1, seconds=9)
    assert broken.total(lambda one: one.failed) == FULL + 1


def test_a_breakdown_disconnects_everyone_and_lasts() -> None:
    outcome = simulate(
        at(N20).retry(Submit()),
        Scheduler(descriptors=38, job=5.0, spread=0.0).serves(Submit),
        clients=3,
        seconds=12.5,
        schedule=Constant(2.0),
        trace=True,
    )
    # The third finds no descriptor at 0 s: the scheduler is away for 10 s, and comes back when
    # those who tried at 9 s connect. At 12 s the third tries again, and two are disconnected.
    tries = [one for one in outcome.trace if isinstance(one.command, Submit)]
    away = "the scheduler is away, or no descriptor was left"
    assert [(one.at, str(one.failure)) for one in tries] == [
        *[(0.0, away)] * 3,
        *[(3.0, away)] * 3,
        *[(6.0, away)] * 3,
        (9.0, away),
        *[(9.0, "the scheduler crashed")] * 2,
    ]


def test_what_was_half_submitted_is_lost() -> None:
    small = Scheduler(descriptors=19, job=4.0, spread=0.0)
    outcome = simulate(
        lambda number: at(N20).wait().retry(Submit()) if number else at(N20).retry(Submit()),
        small.serves(Submit),
        clients=2,
        seconds=9,
        schedule=Constant(4.0),
        trace=True,
    )
    [first, second] = [one for one in outcome.trace if isinstance(one.command, Submit)][:2]
    assert (first.client, str(first.failure)) == (0, "the scheduler crashed")
    assert second.client == 1
    assert outcome.total(lambda one: one.well) == 0


def test_the_restart_is_that_of_the_manual() -> None:
    waits = [Scheduler().restart(number) for number in range(9)]
    assert waits == [10, 11, 13, 17, 25, 41, 73, 137, 265]
    assert Scheduler().restart(12) == 3600 == Scheduler().restart(10_000)


def test_who_gives_up_lets_go_of_its_descriptors() -> None:
    for limit in 0.5, 3.0:  # before it is connected, and after
        outcome = submitted(Scheduler(job=50.0, spread=0.0), clients=3, seconds=9, limit=limit)
        assert outcome.total(lambda one: one.late) == 3
        assert (outcome.seconds[0].load > 0, outcome.seconds[4].load) == (limit > 1, 0)


def test_the_scheduler_does_nothing_for_who_has_given_up() -> None:
    scheduler = Scheduler(job=10.0, spread=0.0)
    outcome = simulate(
        lambda number: at(N20).retry(do(Submit()).limit(60 if number else 3)),
        scheduler.serves(Submit),
        clients=2,
        seconds=99,
        schedule=Constant(1000),
    )
    assert outcome.ended == pytest.approx(1.0 + 2.0 + 9.0)  # 2 s shared, then alone


def test_the_carrier_is_what_is_free() -> None:
    scheduler = Scheduler(spread=0.0)
    outcome = simulate(
        lambda number: (
            at(N20).wait().do(FreeDescriptors()).end() if number == 9 else at(N20).retry(Submit())
        ),
        scheduler.serves(Submit) | scheduler.serves(FreeDescriptors),
        clients=10,
        seconds=9,
        schedule=Constant(0.5),
        trace=True,
    )
    [looked] = [one.answer for one in outcome.trace if isinstance(one.command, FreeDescriptors)]
    assert looked == 7545 - 9 * 19


@pytest.fixture(scope="module")
def jobs() -> dict[tuple[int, str], int]:
    found = submissions([25, 375, 400, 450])
    return {(one.submitters, one.kind): one.jobs for one in found}


@pytest.mark.slow
def test_few_submitters_are_all_alike(jobs: dict[tuple[int, str], int]) -> None:
    for kind, published in ("fixed", 807), ("aloha", 801), ("ethernet", 785):
        assert jobs[25, kind] == pytest.approx(published, rel=0.03)


@pytest.mark.parametrize("many", [400, 450])
def test_with_many_ethernet_holds_aloha_lags_and_fixed_collapses(
    jobs: dict[tuple[int, str], int], many: int
) -> None:
    assert jobs[many, "ethernet"] >= 2 * jobs[many, "aloha"] > 200
    assert jobs[many, "ethernet"] > 0.9 * jobs[375, "ethernet"]
    assert jobs[many, "fixed"] < 40 < jobs[375, "fixed"]


def test_ethernet_leaves_a_thousand_free() -> None:
    [_, aloha, ethernet] = submissions([400], seconds=100)
    most = 7545 - 1000 + 19
    assert max(second.load for second in ethernet.outcome.seconds) <= most
    assert max(second.load for second in aloha.outcome.seconds) > most


@pytest.mark.parametrize(("free", "waits"), [(1000, []), (999, [1.0])])
def test_the_ethernet_submitter_gives_way_below_a_thousand(free: int, waits: list[float]) -> None:
    looks = FreeDescriptors.handled_by(answers(free, 5000))
    world = Virtual(looks | Submit.handled_by(always(None)))
    at(N20).retry(sensed()).run(world.interpreter)
    assert world.waits == waits
