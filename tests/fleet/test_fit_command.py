"""`fleet fit` saves models, and `fleet simulate --model` foretells in bands."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks.fitted_services import Truth as Real
from benchmarks.fitted_services import load, policies, serve
from ixbackoff.fleet.fit_command import main
from ixbackoff.fleet.fits.choosing import Model, fitted
from ixbackoff.fleet.fits.fitted_service import saved_model
from ixbackoff.fleet.fits.recorded_tries import recorded
from ixbackoff.fleet.simulate_command import main as simulate_main
from ixbackoff.fleet.simulate_command import scaled

from ..support.fleets.truths import STEPS, Truth, events, tries_of, written
from ..support.servers.ports import free_port

PAGES = """
from ixbackoff import N3, Constant, Download, Exponential, at
get = at(N3).retry(Download('http://localhost/a', 'a'))
waits = Exponential(0.1)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fitpages.py").write_text(PAGES)
    return tmp_path


def foretold(capsys: Any, model: str, *words: str) -> dict[str, tuple[float, float]]:
    """Simulate the clients of the truths; return the band of each number."""
    common = ["--model", model, "--schedule", "fitpages:waits", "--jobs", "1"]
    assert simulate_main(["fitpages:get", *common, *words]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    doubts = [f"doubt: {doubt}" for doubt in saved_model(model).doubts]  # of a busy machine
    assert rows[len(rows) - len(doubts) :] == doubts
    del rows[len(rows) - len(doubts) :]
    cells = {row[:44].strip(): row[44:].split() for row in rows}
    return {name: (float(least), float(most)) for name, (least, most) in cells.items()}


def test_a_trace_of_a_second_has_no_part_to_hold_back(here: Path, capsys: Any) -> None:
    lines = [
        {
            "event": event,
            "process": "a",
            "run": run,
            "name": "get",
            "t": run / 200,
            "seconds": 0.001,
        }
        for run in range(100)
        for event in ("Began", "Answered")
    ]
    (here / "short.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["short.jsonl"]) == 2
    assert "within 1 s: give a longer trace" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["nowhere/books.json", ".", "/dev/null", "nothing.jsonl"])
def test_a_file_that_cannot_be_written_is_told_first(here: Path, path: str, capsys: Any) -> None:
    assert main(["nothing.jsonl", "--save", path]) == 2
    assert [*here.iterdir()] == [here / "fitpages.py"]
    assert capsys.readouterr().err == f"{path} cannot be written: give another file with --save.\n"


@contextmanager
def limited_files(size: int) -> Generator[None]:
    """Let no file of this process grow over `size` bytes in this block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
def test_a_model_is_saved_and_foretells_the_trace_and_other_loads(here: Path, capsys: Any) -> None:
    tries = tries_of(Truth())
    file = str(written(here / "trace.jsonl", events(tries)))
    assert main([file, "--save", "books.json", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "a queue in order, 4 workers, at most 16 requests at once" in out
    assert "no other within 10 nats" in out
    assert "held back  goodput/s" in out
    model = saved_model("books.json")
    assert model.doubts == []
    with limited_files(1000):
        assert main([file, "--save", "books.json", "--jobs", "1", "--seeds", "4"]) == 2
    assert "books.json cannot be written: File too large" in capsys.readouterr().err
    assert saved_model("books.json") == model
    assert not [*here.glob("*.part")]
    assert model.arrivals == pytest.approx(recorded([Path(file)]).arrivals)

    again = foretold(capsys, "books.json", "--replay")
    well = sum(one.failure is None for one in tries) / 120
    least, most = again["goodput/s"]
    assert least <= well <= most
    assert most - least < 3
    least, most = again["requests/s"]
    assert least <= len(tries) / 120 <= most

    real = tries_of(Truth(), 5, [(seconds, 2 * rate) for seconds, rate in STEPS])
    few = "--load", "2", "--seeds", "12"  # whose bands are no wider than those of 40
    twice = foretold(capsys, "books.json", *few)
    least, most = twice["goodput/s"]
    assert least * 0.98 <= sum(one.failure is None for one in real) / 120 <= most * 1.02
    least, most = twice["requests/s"]
    assert least * 0.95 <= len(real) / 120 <= most * 1.05

    budget = foretold(capsys, "books.json", *few, "--budget", "grpc", "--shared")
    assert budget["requests/s"][1] < twice["requests/s"][0]
    calm = foretold(capsys, "books.json", "--arrivals", "10", "--seconds", "20", "--seeds", "8")
    assert calm["failed, %"] == (0.0, 0.0)
    assert calm["most at once"][1] < 16


def model_of(tries: Any) -> Model:
    return fitted(tries, ["503"], ["TimeoutError"])


def kept(model: Model, file: str = "books.json") -> None:
    Path(file).write_text(json.dumps(model._asdict()))


def test_more_at_once_than_the_trace_had_is_refused_without_a_limit(
    here: Path, capsys: Any
) -> None:
    tries = tries_of(Truth(limit=999), load=((10.0, 30.0),))
    model = model_of(tries)._replace(arrivals=[one.begun for one in tries])
    assert model.limit is None
    kept(model)
    words = ["fitpages:get", "--model", "books.json", "--jobs", "1", "--seeds", "4"]
    assert simulate_main([*words, "--load", "3"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("--load 3 brings ")
    assert error.endswith(f" at once, but the trace had only {model.seen}.\n")
    assert simulate_main([*words, "--arrivals", "200", "--seconds", "20"]) == 1
    assert capsys.readouterr().err.startswith("This load brings ")
    assert simulate_main([*words, "--load", "0.5"]) == 0
    none = model.near[0]._replace(kind="none", workers=0)
    kept(model._replace(near=[none], limit=20, seen=1))
    assert simulate_main(words) == 1
    assert capsys.readouterr().err.endswith(" at once, but the trace had only 1.\n")


def test_candidates_that_are_as_likely_share_a_band_and_doubts_are_said(
    here: Path, capsys: Any
) -> None:
    tries = tries_of(Truth(), load=STEPS[:4])
    model = model_of(tries)._replace(arrivals=[one.begun for one in tries], doubts=["Perhaps."])
    [found] = model.near
    words = ["fitpages:get", "--model", "books.json", "--arrivals", "90", "--seconds", "20"]
    highest = list[float]()
    for near in ([found], [found, found._replace(workers=8)]):
        kept(model._replace(near=near))
        assert simulate_main([*words, "--jobs", "1", "--seeds", "4"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == "doubt: Perhaps."
        [row] = [line for line in lines if line.startswith("goodput/s")]
        highest.append(float(row.split()[-1]))
        assert lines[0].startswith(f"{4 * len(near)} seeds")
    assert highest[1] > 1.2 * highest[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "old.json"], "old.json is not a model of this version: fit again"),
        (["--model", "list.json"], "list.json is not a model of this version: fit again"),
        (["--model", "cut.json"], "cut.json is not a model of this version: fit again"),
        (["--model", "nowhere.json"], "nowhere.json"),
        (
            ["--model", "good.json", "--picture", "."],
            "--picture: not allowed with argument --model",
        ),
        (["--replay"], "--replay and --load: give --model"),
        (["--load", "2"], "--replay and --load: give --model"),
    ],
)
def test_a_wrong_model_is_one_sentence(
    words: list[str], said: str, here: Path, capsys: Any
) -> None:
    model = model_of(tries_of(Truth(), load=STEPS[:2]))
    kept(model, "good.json")
    kept(model._replace(version=0), "old.json")
    (here / "list.json").write_text("[]")
    (here / "cut.json").write_text('{"near": [[')
    with pytest.raises(SystemExit) as ended:
        simulate_main(["fitpages:get", *words])
    assert ended.value.code == 2
    [error] = capsys.readouterr().err.splitlines()
    assert said in error


def test_a_load_thins_or_clones_the_arrivals() -> None:
    times = [float(number) for number in range(1000)]
    assert scaled(times, 1.0) == times
    thinned = scaled(times, 0.3)
    assert {*thinned} < {*times}
    assert 250 < len(thinned) < 350
    more = scaled(times, 2.5)
    assert 2400 < len(more) < 2600
    assert more == sorted(more)
    assert {*times} < {*more}


@asynccontextmanager
async def serving(truth: Real) -> AsyncIterator[int]:
    port = free_port()
    task = asyncio.create_task(serve(truth, port))
    await asyncio.sleep(0.2)
    try:
        yield port
    finally:
        task.cancel()


@pytest.mark.slow
def test_a_real_service_is_fitted_and_another_policy_foretold(
    here: Path, capsys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    truth = Real("fifo", 8, 24, 0.2, 0.4)  # long works, for a busy machine wakes sleepers late
    trace, other = here / "trace.jsonl", here / "other.jsonl"

    async def record() -> None:
        async with serving(truth) as port:
            clients = policies(port)
            await load(clients["base"], [(15.0, 3.0), (30.0, 4.0), (60.0, 8.0)], trace, 1)
            await load(clients["none"], [(55.0, 6.0)], other, 2)

    asyncio.run(record())
    main([str(trace), "--hold", "0.05", "--save", "books.json", "--even-so", "--jobs", "1"])
    assert "8 workers, at most 24 requests at once" in capsys.readouterr().out
    model = saved_model("books.json")
    assert 8 / fmean(model.near[0].works) == pytest.approx(40.0, rel=0.1)
    happened = recorded([other]).tries
    well = sum(one.failure is None and one.ended < 6 for one in happened) / 6
    (here / "fitpages.py").write_text(PAGES.replace("N3", "N0"))
    least, most = foretold(capsys, "books.json", "--arrivals", "55", "--seconds", "6")["goodput/s"]
    assert (least + most) / 2 == pytest.approx(well, rel=0.1)
