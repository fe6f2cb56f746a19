"""A service is fitted to the tries of its clients: the queue is undone, and doubts are said."""

from __future__ import annotations

import json
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import isclose
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff.fleet.fit_command import main
from ixbackoff.fleet.fits.choosing import fitted
from ixbackoff.fleet.fits.recorded_tries import Try, recorded
from ixbackoff.fleet.fits.undoing import in_order, shared_evenly
from ixbackoff.fleet.simulate_command import main as simulate_main

REFUSED, LEFT = ["503"], ["TimeoutError"]
RATES = (15, 30, 45, 60, 20, 20)
drawn = st.lists(st.tuples(st.floats(0.001, 0.3), st.floats(0.01, 1.0)), min_size=5, max_size=60)


def served_in_order(arrivals: list[float], works: list[float], workers: int) -> list[Try]:
    free, tries = [0.0] * workers, list[Try]()
    for time, work in zip(arrivals, works, strict=True):
        end = max(heappop(free), time) + work
        heappush(free, end)
        tries.append(Try("run", time, end))
    return tries


def served_evenly(arrivals: list[float], works: list[float], cores: int) -> list[Try]:
    left, ends, now = dict[int, float](), dict[int, float](), 0.0
    times = [*arrivals, float("inf")]
    for index, time in enumerate(times):
        while left:
            rate = min(1.0, cores / len(left))
            first = min(left, key=left.__getitem__)
            if now + left[first] / rate > time:
                break
            now, step = now + left[first] / rate, left[first]
            left = {one: rest - step for one, rest in left.items() if one != first}
            ends[first] = now
        rate = min(1.0, cores / max(1, len(left)))
        left = {one: rest - (time - now) * rate for one, rest in left.items()}
        now = time
        if index < len(works):
            left[index] = works[index]
    return [Try("run", time, ends[index]) for index, time in enumerate(arrivals)]


@pytest.mark.parametrize(
    ("serve", "undo"), [(served_in_order, in_order), (served_evenly, shared_evenly)]
)
@given(pairs=drawn, workers=st.integers(1, 8))
def test_undoing_is_exact(
    serve: Callable[..., list[Try]], undo: Any, pairs: list[tuple[float, float]], workers: int
) -> None:
    time, arrivals = 0.0, list[float]()
    for gap, _ in pairs:
        arrivals.append(time := time + gap)
    works = [work for _, work in pairs]
    found, _ = undo(serve(arrivals, works, workers), workers, {})
    assert all(isclose(one, work, abs_tol=1e-9) for one, work in zip(found, works, strict=True))


def test_another_number_of_workers_undoes_it_wrongly() -> None:
    tries = served_in_order([0.0, 0.01, 0.02, 0.03], [1.0] * 4, 2)
    assert in_order(tries, 2, {})[0] != in_order(tries, 3, {})[0]


def clients(seed: int = 1, workers: int = 4, rates: tuple[int, ...] = RATES) -> list[Try]:
    """Clients of a queue that refuses from 16 at once; they retry after 0.1, 0.2, 0.4 s."""
    draw = Random(seed)  # noqa: S311
    time, agenda = 0.0, list[tuple[float, int, str]]()
    for number, rate in enumerate(rates):
        while (time := time + draw.expovariate(rate)) < (number + 1) * 12:
            agenda.append((time, 0, str(len(agenda))))
        time = (number + 1) * 12.0
    heapify(agenda)
    free, ends, tries = [0.0] * workers, list[float](), list[Try]()
    while agenda:
        now, retries, run = heappop(agenda)
        while ends and ends[0] <= now:
            heappop(ends)
        if len(ends) >= 16:
            tries.append(Try(run, now, now + 0.001, "ServerError", 503))
            if retries < 3:
                heappush(agenda, (now + 0.1 * 2**retries, retries + 1, run))
            continue
        end = max(heappop(free), now) + draw.lognormvariate(-2.7, 0.6)
        heappush(free, end)
        heappush(ends, end)
        tries.append(Try(run, now, end + 0.001))
    return sorted(tries, key=lambda one: one.begun)


@pytest.mark.parametrize("seed", range(3))
def test_the_discipline_the_workers_and_the_limit_are_found(seed: int) -> None:
    model = fitted(clients(seed), REFUSED, LEFT)
    [found] = model.near
    assert (found.kind, found.workers, model.limit) == ("fifo", 4, 16)
    assert isclose(fmean(found.works), 0.0805, rel_tol=0.05)
    assert model.fails < 0.01


def saved(folder: Path, tries: list[Try], began: bool = True) -> str:
    lines = list[dict[str, Any]]()
    for one in tries:
        both = {"process": "p", "run": one.run, "name": "get"}
        if began:
            lines.append({"event": "Began", "t": one.begun, **both})
        more = {"seconds": one.ended - one.begun, "failure": one.failure, "status": one.status}
        lines.append({"event": "Answered", "t": one.ended, **both, **more})
    file = folder / "trace.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def doubts(folder: Path, tries: list[Try], capsys: Any, began: bool = True) -> tuple[int, str]:
    status = main([saved(folder, tries, began), "--seeds", "4", "--jobs", "1"])
    return status, capsys.readouterr().out


def half(tries: list[Try]) -> list[Try]:
    return [one for one in tries if int(one.run) % 2]


def skewed(tries: list[Try]) -> list[Try]:
    """Twenty processes, whose clocks are 40 ms apart in the standard deviation."""
    clocks = [1 + Random(number).gauss(0, 0.04) for number in range(20)]  # noqa: S311
    moved = [
        one._replace(begun=one.begun + by, ended=one.ended + by)
        for one in tries
        for by in [clocks[int(one.run) % 20]]
    ]
    return sorted(moved, key=lambda one: one.begun)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tries", "began", "said"),
    [
        (half(clients()), True, "wrong side of the limit"),
        (skewed(clients()), True, "wrong side of the limit"),
        (clients(rates=(10, 15, 15, 10)), True, "No try was refused"),
        (clients(), False, "sampled spans cannot be fitted"),
        (clients(rates=(15,)), True, "Too little"),
    ],
)
def test_a_bad_trace_is_refused(
    tries: list[Try], began: bool, said: str, tmp_path: Path, capsys: Any
) -> None:
    status, out = doubts(tmp_path, tries, capsys, began)
    assert status == 1
    assert said in out


@pytest.mark.slow
def test_a_model_is_saved_and_simulated_in_bands(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fitpages.py").write_text(
        "from ixbackoff import N3, Download, Exponential, at\n"
        "get = at(N3).retry(Download('http://localhost/a', 'a'))\n"
        "waits = Exponential(0.1)\n"
    )
    trace = saved(tmp_path, clients())
    assert main([trace, "--save", "books.json", "--jobs", "1"]) == 0
    words = ["fitpages:get", "--model", "books.json", "--schedule", "fitpages:waits", "--jobs", "1"]
    capsys.readouterr()
    assert simulate_main([*words, "--replay"]) == 0
    rows = {line[:44].strip(): line[44:].split() for line in capsys.readouterr().out.splitlines()}
    least, most = map(float, rows["goodput, runs/s"])
    assert least <= 30.2 <= most
    assert simulate_main([*words, "--load", "2", "--budget", "grpc", "--shared"]) == 0
    Path("books.json").write_text('{"version": 0}')
    with pytest.raises(SystemExit) as ended:
        simulate_main(words)
    assert ended.value.code == 2
    assert "was fitted by another version: fit again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            '{"event": "Answered", "t": 1, "process": "p", "run": 1}',
            ':1: no "seconds" in this event.',
        ),
        ("nonsense", ":1: not a line of JSON"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]}', ':1: no "spanId" in this span.'),
    ],
)
def test_a_wrong_line_is_named(line: str, said: str, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(line + "\n")
    assert main([str(file)]) == 2
    assert f"{file}{said}" in capsys.readouterr().err


def test_spans_of_any_http_client_give_the_same_tries(tmp_path: Path) -> None:
    tries = clients(rates=(30, 60))
    spans = [
        {
            "spanId": f"try{number}",
            "parentSpanId": one.run,
            "startTimeUnixNano": str(round(one.begun * 1e9)),
            "endTimeUnixNano": str(round(one.ended * 1e9)),
            "attributes": [
                {"key": "http.request.method", "value": {"stringValue": "GET"}},
                {"key": "http.response.status_code", "value": {"intValue": str(one.status or 200)}},
            ],
        }
        for number, one in enumerate(tries)
    ]
    spans += [
        {"spanId": run, "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
        for run in {one.run for one in tries}
    ]
    file = tmp_path / "spans.json"
    file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) + "\n")
    read, lines = recorded([file]), recorded([Path(saved(tmp_path, tries))])
    assert (read.alone, lines.alone) == (0, 0)
    assert [one.begun for one in read.tries] == pytest.approx([one.begun for one in lines.tries])
    both = [fitted(one.tries, REFUSED, LEFT) for one in (read, lines)]
    assert both[0].limit == both[1].limit
    assert both[0].near[0].workers == both[1].near[0].workers
