"""Jobs, a disk and a black hole: three clients of what runs out, and the services behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N20, Constant, Exponential, at, do
from ixbackoff.fleet import Outcome, simulate
from ixbackoff.fleet.__main__ import main as fleet
from ixbackoff.fleet.disks import Disk, DiskFull, Look, Space, WriteFile
from ixbackoff.fleet.events import Events
from ixbackoff.fleet.experiments import buffer, readers, submissions
from ixbackoff.fleet.experiments.buffer import buffered
from ixbackoff.fleet.experiments.readers import black_hole
from ixbackoff.fleet.schedulers import FreeDescriptors, Scheduler, Submit
from ixbackoff.fleet.servers import Fetch, Probe, SingleThreaded
from ixbackoff.fleet.sharing import Sharing
from ixbackoff.testing import Virtual, always, answers

PAGE = (Path(__file__).parent.parent.parent / "docs" / "ethernet.md").read_text()
FULL = 7545 // 19  # so many submitters have their descriptors
ALONE = Scheduler(job=1.0, spread=0.0)  # without chance


# What is shared.


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.1, 9)), min_size=1, max_size=8))
def test_sharing_is_what_small_steps_give(works: list[tuple[float, float]]) -> None:
    events = Events(seed=1)
    ends: dict[int, float] = {}

    def ended(number: int) -> None:
        ends[number] = events.now

    shared: Sharing[int] = Sharing(events, lambda many: 2.0 / many, ended)
    for number, (begin, work) in enumerate(works):
        events.at(begin, lambda given: shared.begin(*given), (number, work))
    events.run(until=999)
    step, now = 0.005, 0.0
    left = dict(enumerate(work for _, work in works))
    while left:
        there = [number for number in left if works[number][0] <= now]
        for number in there:
            left[number] -= 2.0 * step / len(there)
            if left[number] <= 0:
                del left[number]
                assert ends[number] == pytest.approx(now, abs=0.1)
        now += step
    assert len(shared) == 0


def test_who_leaves_is_never_done_and_the_rest_is_sooner() -> None:
    events, done = Events(seed=1), list[tuple[str, float]]()
    shared: Sharing[str] = Sharing(
        events, lambda many: 1.0 / many, lambda name: done.append((name, events.now))
    )
    shared.begin("a", 4.0)
    shared.begin("b", 1.0)
    events.run(until=1.0)
    assert shared.total() == 1.0
    shared.leave("b")
    shared.leave("b")  # it is not there any more
    assert ([*shared], shared.total()) == (["a"], 0.5)
    shared.begin("b", 9.0)  # what it had is lost
    events.run(until=8.0)
    assert done == []
    events.run(until=8.1)
    assert done == [("a", 8.0)]
    assert shared.clear() == ["b"]
    events.run(until=99.0)
    assert done == [("a", 8.0)]


def test_who_comes_again_is_not_done_when_it_would_have_been() -> None:
    events, done = Events(seed=1), list[tuple[str, float]]()
    shared: Sharing[str] = Sharing(
        events, lambda many: 1.0 / many, lambda name: done.append((name, events.now))
    )
    shared.begin("a", 1.0)
    shared.begin("b", 2.0)
    shared.leave("b")
    shared.begin("b", 3.0)
    events.run(until=99.0)
    assert done == [("a", 2.0), ("b", 4.0)]


# Jobs.


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
        *[(9.0, "the scheduler broke down")] * 2,
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
    assert (first.client, str(first.failure)) == (0, "the scheduler broke down")
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
            at(N20).wait().do(FreeDescriptors()).give_up()
            if number == 9
            else at(N20).retry(Submit())
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
    found = submissions.submissions([25, 375, 400, 450])
    return {(one.submitters, one.kind): one.jobs for one in found}


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
    [_, aloha, ethernet] = submissions.submissions([400], seconds=100)
    most = 7545 - 1000 + 19
    assert max(second.load for second in ethernet.outcome.seconds) <= most
    assert max(second.load for second in aloha.outcome.seconds) > most


# A disk.


def stored(disk: Disk, files: int, seconds: float = 99.0, schedule: float = 1000.0) -> Outcome:
    return simulate(
        at(N20).retry(WriteFile()),
        disk.serves(WriteFile) | disk.serves(Look),
        clients=files,
        seconds=seconds,
        schedule=Constant(schedule),
        persistent=True,
        trace=True,
    )


def test_all_that_is_written_is_consumed_in_order() -> None:
    sizes: list[float] = []
    outcome = stored(Disk(consumed=sizes.append), files=50)
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
            at(N20).wait().do(Look()).give_up() if number == 4 else at(N20).retry(WriteFile())
        ),
        slow.serves(WriteFile) | slow.serves(Look),
        clients=5,
        seconds=9,
        schedule=Constant(0.1),
        trace=True,
    )
    [space] = [one.answer for one in outcome.trace if isinstance(one.command, Look)]
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


def test_collisions_fall_from_kind_to_kind_and_fixed_ones_hold_up_the_consumer() -> None:
    fixed, aloha, ethernet = buffered([40])
    assert fixed.collisions > 10 * aloha.collisions > 20 * ethernet.collisions > 0
    assert fixed.megabytes < 0.7 * aloha.megabytes
    for one in aloha, ethernet:
        assert one.megabytes == pytest.approx(300, rel=0.02)


def test_a_quick_disk_is_not_held_up() -> None:
    fixed, aloha, _ = buffered([40], seconds=200, disk=Disk(speed=40.0))
    assert fixed.collisions > 10 * aloha.collisions
    assert fixed.megabytes == pytest.approx(200, rel=0.02)


@pytest.mark.parametrize(("free", "waits"), [(2.0, []), (1.99, [1.0])])
def test_the_ethernet_producer_gives_way_for_what_others_write(
    free: float, waits: list[float]
) -> None:
    spaces = answers(Space(free, unfinished=3, mean=0.5), Space(9.0, unfinished=3, mean=0.5))
    world = Virtual(Look.handled_by(spaces) | WriteFile.handled_by(always(None)))
    at(N20).retry(buffer.sensed()).run(world.interpreter)
    assert world.waits == waits


@pytest.mark.parametrize(("free", "waits"), [(1000, []), (999, [1.0])])
def test_the_ethernet_submitter_gives_way_below_a_thousand(free: int, waits: list[float]) -> None:
    looks = FreeDescriptors.handled_by(answers(free, 5000))
    world = Virtual(looks | Submit.handled_by(always(None)))
    at(N20).retry(submissions.sensed()).run(world.interpreter)
    assert world.waits == waits


# A black hole.


def fetched(program: Callable[[int], Any], clients: int, seconds: float = 99.0) -> Outcome:
    servers = SingleThreaded()
    return simulate(
        program,
        servers.serves(Fetch) | servers.serves(Probe),
        clients=clients,
        seconds=seconds,
        schedule=Exponential(),
        trace=True,
    )


def test_a_server_does_one_thing_at_a_time() -> None:
    outcome = fetched(lambda number: at(N20).retry(Fetch(1 + number // 2)), clients=4)
    ends = sorted(second for second, one in enumerate(outcome.seconds) for _ in range(one.well))
    assert ends == [10, 10, 20, 20]  # two servers, two readers each


def test_a_black_hole_never_answers() -> None:
    outcome = fetched(lambda number: at(N20).retry(Fetch(0)), clients=1)
    assert outcome.total(lambda one: one.well + one.failed) == 0


def test_who_gives_up_at_a_busy_server_is_not_served_any_more() -> None:
    outcome = fetched(
        lambda number: at(N20).retry(do(Fetch(1)).limit(15 if number else 60)), clients=3
    )
    fetches = [one for one in outcome.trace if isinstance(one.command, Fetch)]
    assert [(one.client, one.failure is None) for one in fetches][:3] == [
        (0, True),
        (1, False),
        (2, False),
    ]
    assert outcome.ended < 60


def test_the_server_goes_on_when_whom_it_serves_has_gone() -> None:
    outcome = fetched(
        lambda number: at(N20).retry(do(Fetch(1)).limit(60 if number else 4)), clients=2, seconds=15
    )
    assert outcome.total(lambda one: one.well) == 1
    assert outcome.seconds[14].well == 1  # from 4 s to 14 s


@pytest.mark.parametrize("seed", range(3))
def test_looking_first_reads_most(seed: int) -> None:
    fixed, aloha, ethernet = black_hole(seed=seed)
    assert 180 >= ethernet.reads > 1.4 * aloha.reads > 2 * fixed.reads
    assert (fixed.late, aloha.late > 0, ethernet.late > 0) == (0, True, True)


def test_without_a_black_hole_nothing_is_lost() -> None:
    for one in black_hole(300, readers=2, servers=SingleThreaded(black_holes=())):
        assert one.reads > 40


# The commands.


EXPERIMENTS = {
    "submissions": (submissions.main, ["--submitters", "3", "--seconds", "5"]),
    "buffer": (buffer.main, ["--producers", "3", "--seconds", "5"]),
    "blackhole": (readers.main, ["--seconds", "40"]),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_prints_a_table_always_the_same_and_draws(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main, words = EXPERIMENTS[name]
    assert main(words) == 0
    table = capsys.readouterr().out
    assert len(table.splitlines()) in (2, 3, 4)
    assert fleet([name, *words, "--picture", f"{tmp_path}/new"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(table)
    files = [Path(line) for line in out.removeprefix(table).splitlines()]
    assert [file.name for file in files] == [f"{name}.png", f"{name}.svg"]
    assert all(file.stat().st_size > 5000 for file in files)


@pytest.mark.parametrize(
    ("number", "name", "words"),
    [
        (0, "submissions", ["--submitters", "400"]),
        (1, "buffer", ["--producers", "5", "--producers", "50"]),
        (2, "blackhole", []),
    ],
)
def test_the_page_says_what_is_printed(
    number: int, name: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = re.findall(r"^```text printed by the first\n(.*?)^```$", PAGE, re.M | re.S)[number]
    main, _ = EXPERIMENTS[name]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert [line for line in printed.splitlines() if line in lines] == lines


WHOLE = "give a whole number"


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("submissions", ["--submitters", "0"], f"argument --submitters: 0: {WHOLE}, 1 to 10000"),
        ("submissions", ["--seconds", "1.5"], f"argument --seconds: 1.5: {WHOLE}, 1 to 86400"),
        ("submissions", ["--seed", "x"], f"argument --seed: x: {WHOLE}, 0 to 4294967296"),
        ("buffer", ["--producers", "1001"], f"argument --producers: 1001: {WHOLE}, 1 to 1000"),
        ("buffer", ["--speed", "nan"], "argument --speed: nan: give a number, 0.1 to 1e+06"),
        ("buffer", ["--speed", "0"], "argument --speed: 0: give a number, 0.1 to 1e+06"),
        ("blackhole", ["--readers", "-3"], f"argument --readers: -3: {WHOLE}, 1 to 1000"),
        ("blackhole", ["--hole", "1"], "unrecognized arguments: --hole 1"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    name: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main, _ = EXPERIMENTS[name]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{said}; --help tells more.\n"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_cannot_be_drawn_is_told(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main, words = EXPERIMENTS[name]
    (tmp_path / "file").touch()
    assert main([*words, "--picture", f"{tmp_path}/file"]) == 2
    assert capsys.readouterr().err.endswith("file cannot be used: File exists.\n")
    with patch.dict("sys.modules", {"matplotlib": None}):
        assert main([*words, "--picture", f"{tmp_path}"]) == 2
    assert "ixbackoff[plot]" in capsys.readouterr().err
