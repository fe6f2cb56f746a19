"""A fit that explains nothing is refused: a bad one looks as sure as a good one."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from ixbackoff.fleet.fit_command import main
from ixbackoff.fleet.fits.doubts import FOLLOWS, following
from ixbackoff.fleet.fits.recorded_tries import Try

from ..support.fleets.truths import Truth, arriving, events, otlp, spans, tries_of, written

CALM = ((60.0, 15.0),)  # 30 % of what 4 workers can do
FEW = "Too little"
BLUR = "contradict the limit"
REPLICAS = Truth(workers=2, limit=8, replicas=2)
OUTSIDE = [
    *[(REPLICAS, seed) for seed in (1, 3, 4, 5, 6, 7)],  # 0 and 2 are among the spoiled traces
    *[(Truth("lifo"), seed) for seed in range(8)],
    *[(Truth("lifo", 8, 24, 0.15, 0.4), seed) for seed in range(8)],
]


def refusal(file: Path, capsys: Any, *words: str) -> str:
    """Return what is printed for a fit that is refused, and not saved."""
    saved = file.with_suffix(".model")
    save = ["--save", str(saved), "--seeds", "8", "--jobs", "1"]
    assert main([str(file), *save, *words]) == 1
    assert not saved.exists()
    return str(capsys.readouterr().out)


def half(tries: list[Try]) -> list[Try]:
    return [one for one in tries if int(one.run) % 2]


def skewed(tries: list[Try], seconds: float = 0.02, processes: int = 20) -> list[Try]:
    """Give each process a clock of its own, so many seconds off in the standard deviation."""
    clocks = [1 + Random(number).gauss(0, seconds) for number in range(processes)]  # noqa: S311
    moved = [
        one._replace(begun=one.begun + by, ended=one.ended + by)
        for one in tries
        for by in [clocks[int(one.run) % processes]]
    ]
    return sorted(moved, key=lambda one: one.begun)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        (lambda seed: half(tries_of(Truth(), seed)), [BLUR]),
        (lambda seed: skewed(tries_of(Truth(), seed)), [BLUR]),
        (lambda seed: tries_of(Truth(), seed, CALM), ["No try was refused", "Too little: "]),
        (lambda seed: tries_of(REPLICAS, seed), [BLUR]),
    ],
    ids=["half of the clients", "clocks", "calm", "replicas"],
)
def test_a_spoiled_trace_is_refused(
    spoiled: Any, said: list[str], seed: int, tmp_path: Path, capsys: Any
) -> None:
    file = written(tmp_path / "trace.jsonl", events(spoiled(seed)))
    out = refusal(file, capsys)
    assert [sentence for sentence in said if sentence not in out] == []


@pytest.mark.slow
@pytest.mark.parametrize(("truth", "seed"), OUTSIDE)
def test_a_service_outside_of_the_family_is_refused(
    truth: Truth, seed: int, tmp_path: Path, capsys: Any
) -> None:
    slow = (10.0 * seed, 10.0 * seed + 9.0, 1.8 if seed % 2 else 1.0)
    file = written(tmp_path / "trace.jsonl", events(tries_of(truth._replace(slow=slow), seed)))
    assert "doubt " in refusal(file, capsys)


@pytest.mark.slow
def test_sampled_spans_are_refused(tmp_path: Path, capsys: Any) -> None:
    draw = Random(1)  # noqa: S311
    kept = [one for one in spans(tries_of(Truth())) if draw.random() < 0.5]
    out = refusal(written(tmp_path / "spans.json", [otlp(kept)]), capsys)
    assert "sampled spans cannot be fitted" in out


@pytest.mark.slow
def test_a_trace_of_few_tries_is_refused(tmp_path: Path, capsys: Any) -> None:
    file = written(tmp_path / "trace.jsonl", events(tries_of(Truth(), load=((12.0, 45.0),))))
    assert FEW in refusal(file, capsys)


@pytest.mark.slow
def test_a_service_that_became_slower_does_not_predict_what_was_held_back(
    tmp_path: Path, capsys: Any
) -> None:
    slow = tries_of(Truth(slow=(92.0, 130.0, 1.8)))
    out = refusal(written(tmp_path / "trace.jsonl", events(slow)), capsys)
    assert "The model does not predict its own trace: held back, goodput/s" in out
    assert "trace: fitted" not in out


@pytest.mark.slow
def test_failures_of_another_kind_are_refused(tmp_path: Path, capsys: Any) -> None:
    tries = [
        one._replace(failure="ServerError", status=500) if index % 10 == 0 else one
        for index, one in enumerate(tries_of(Truth()))
    ]
    out = refusal(written(tmp_path / "trace.jsonl", events(tries)), capsys)
    assert "of the tries failed, but were neither refused nor abandoned" in out


def test_phases_are_doubtful_only_if_they_follow_the_load() -> None:
    steps = tuple((15.0, float(rate)) for rate in (15, 30, 45, 60, 20, 20))
    arrivals = arriving(steps, Random(1))  # noqa: S311
    assert following([], arrivals) == 0.0
    for begin in range(0, 80, 2):  # at the steps of the load, too
        assert abs(following([(begin, begin + 9.0, 1.8)], arrivals)) < FOLLOWS - 0.05
    assert following([(0.0, 15.0, 0.5), (15.0, 30.0, 0.7), (60.0, 90.0, 0.6)], arrivals) > 0.8
    assert following([(45.0, 60.0, 0.5)], arrivals) < -FOLLOWS
    assert following([(1.0, 2.0, 2.0)], [float(number) for number in range(101)]) == 0.0
