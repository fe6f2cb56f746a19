"""A disk that gets full: its producers and its consumer."""

from __future__ import annotations

from random import Random
from statistics import mean, median

import pytest

from benchmarks.experiments.buffer import buffered, sensed
from benchmarks.experiments.services.disk import Disk, DiskFull, FreeSpace, Space, WriteFile
from ixbackoff import FOREVER, N20, Constant, at, do
from ixbackoff.fleet import Outcome, simulate
from ixbackoff.testing import Virtual, always, answers

pytestmark = pytest.mark.slow


def stored(disk: Disk, files: int, seconds: float = 99.0, schedule: float = 1000.0) -> Outcome:
    return simulate(
        at(FOREVER).retry(WriteFile()),
        disk.serves(WriteFile) | disk.serves(FreeSpace),
        clients=files,
        seconds=seconds,
        schedule=Constant(schedule),
        trace=True,
    )


def test_all_that_is_written_is_consumed_in_order() -> None:
    sizes: list[float] = []
    outcome = stored(Disk(speed=20.0, creates=0.1, consumed=sizes.append), files=50)
    assert outcome.total(lambda one: one.well) == 50 == len(sizes)
    assert all(0 < size < 1 for size in sizes)
    assert mean(sizes) == pytest.approx(0.5, abs=0.1)
    loads = [second.load for second in outcome.seconds]
    assert loads[-1] == pytest.approx(0, abs=1e-9)
    for second in range(5, 21):  # when nobody writes any more it reads 1 MB/s
        assert loads[4] - loads[second] == pytest.approx(second - 4, abs=1)


def test_the_disk_is_shared_and_the_consumer_takes_what_it_reads() -> None:
    fast = Disk(speed=10.0, creates=0.0, reads=1.0)
    assert fast.share(4, reading=False) == 2.5
    assert fast.share(4, reading=True) == 2.25  # the consumer is content with 1
    assert fast.share(19, reading=True) == 0.5  # as is the consumer
    sizes: list[float] = []
    outcome = stored(Disk(speed=1.0, creates=0.5, reads=1e-6, consumed=sizes.append), files=1)
    alone = Random(0).uniform(0.0, 1.0)  # noqa: S311
    assert outcome.ended == pytest.approx(0.5 + alone)


def test_who_finds_no_room_fails_and_its_file_is_gone() -> None:
    tiny = Disk(capacity=0.2, reads=1e-6)
    outcome = stored(tiny, files=20)
    failures = [one.failure for one in outcome.trace if one.failure is not None]
    assert failures
    assert all(isinstance(failure, DiskFull) for failure in failures)
    assert outcome.total(lambda one: one.well) + len(failures) == 20
    assert 0 <= outcome.seconds[-1].load <= 0.2


def test_a_disk_is_never_more_than_full() -> None:
    for one in buffered([30], seconds=200):
        loads = [second.load for second in one.outcome.seconds]
        assert max(loads) <= 120.0 + 1e-6
        assert loads[-1] > 100.0
        assert one.megabytes <= 200.0


def test_a_file_keeps_its_size_until_it_is_written() -> None:
    sizes: list[float] = []
    disk = Disk(capacity=1.0, consumed=sizes.append)
    outcome = stored(disk, files=10, seconds=300, schedule=0.1)
    assert outcome.total(lambda one: one.failed) > 0
    assert len(sizes) == outcome.total(lambda one: one.well) == 10
    free: list[float] = []
    stored(Disk(consumed=free.append), files=10)
    assert sorted(sizes) == pytest.approx(sorted(free))  # as without a collision


def test_a_look_tells_what_is_free_and_unfinished() -> None:
    slow = Disk(speed=1.0, creates=0.0, reads=1e-6)
    outcome = simulate(
        lambda number: (
            at(N20).wait().do(FreeSpace()).end() if number == 4 else at(N20).retry(WriteFile())
        ),
        slow.serves(WriteFile) | slow.serves(FreeSpace),
        clients=5,
        seconds=9,
        schedule=Constant(0.1),
        trace=True,
    )
    [space] = [one.answer for one in outcome.trace if isinstance(one.command, FreeSpace)]
    assert isinstance(space, Space)
    assert (space.unfinished, space.mean) == (4, 0.5)
    assert space.free == pytest.approx(120 - 0.1)


def test_who_gives_up_a_file_leaves_nothing() -> None:
    slow = Disk(speed=0.1)
    outcome = simulate(
        at(N20).retry(do(WriteFile()).limit(2.0)),
        slow.serves(WriteFile),
        clients=3,
        seconds=9,
        schedule=Constant(1000),
    )
    assert outcome.total(lambda one: one.late) == 3
    assert outcome.seconds[-1].load == 0


PAPER = {"ethernet": 19, "aloha": 36, "fixed": 77}
"""Per cent by which less is consumed with 50 producers than with 5."""


def test_producers_slow_the_consumer_as_in_the_paper() -> None:
    seeds = range(6)
    results = [one for seed in seeds for one in buffered([5, 50], seed=seed)]
    for kind, drop in PAPER.items():
        few, many = (
            sum(one.files for one in results if (one.producers, one.kind) == (number, kind))
            for number in (5, 50)
        )
        assert 100 * (1 - many / few) == pytest.approx(drop, abs=5)


def test_collisions_fall_from_kind_to_kind() -> None:
    for seed in range(3):
        fixed, aloha, ethernet = buffered([50], seed=seed)
        assert fixed.collisions > 1.5 * aloha.collisions > 15 * ethernet.collisions


COLLISIONS = {"fixed": 358, "aloha": 232, "ethernet": 5}
"""With 50 producers, in the paper; of Ethernet there are at most so many."""


def test_collisions_are_within_a_factor_of_two_of_the_paper() -> None:
    runs = [buffered([50], seed=seed) for seed in range(8)]
    for kinds in zip(*runs, strict=True):
        published, here = COLLISIONS[kinds[0].kind], median(one.collisions for one in kinds)
        assert here <= 2 * published
        assert here >= published / 2 or kinds[0].kind == "ethernet"


def test_a_quick_disk_is_not_held_up() -> None:
    fixed, aloha, _ = buffered([40], seconds=200, speed=40.0)
    assert fixed.collisions > 10 * aloha.collisions
    assert fixed.megabytes == pytest.approx(200, rel=0.02)


@pytest.mark.parametrize(("free", "waits"), [(2.5, []), (2.49, [1.0])])
def test_the_ethernet_producer_gives_way_for_what_others_write(
    free: float, waits: list[float]
) -> None:
    spaces = answers(Space(free, unfinished=3, mean=0.5), Space(9.0, unfinished=3, mean=0.5))
    world = Virtual(FreeSpace.handled_by(spaces) | WriteFile.handled_by(always(None)))
    at(N20).retry(sensed()).run(world.interpreter)
    assert world.waits == waits
