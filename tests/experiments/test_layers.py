"""Retries in nested layers: the closed form, who recovers, and the command."""

from __future__ import annotations

import re
from math import isclose
from pathlib import Path

import pytest

from benchmarks.experiments.__main__ import main as experiments
from benchmarks.experiments.layered import Layering, layered, layerings, nested

PAGE = Path(__file__).parents[2] / "docs" / "layers.md"
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(2))
def test_while_it_is_down_as_much_is_asked_as_the_closed_form_says(seed: int) -> None:
    for way in layerings(3)[:3]:
        one = nested(way, 0.3, 300, 30, 10, seed)
        assert isclose(one.rate / one.runs, 3**way.layers, rel_tol=0.07)
        assert isclose(one.rate, way.asked(300), rel_tol=0.15)


@pytest.mark.parametrize("seed", range(2))
def test_who_recovers(seed: int) -> None:
    some = layered(2, clients=300, outage=20, watch=40, seed=seed)
    recovers = {(one.queue, one.way.name): one.watched.recovered is not None for one in some}
    assert recovers.pop((6.0, "2 layers")) is False
    recovers.pop((6.0, "2 layers, finagle"))  # 10 retries a second are many for so few clients
    assert all(recovers.values())
    lost = [one.watched.well[-10:] for one in some if one.way.name == "2 layers"][1]
    assert not any(lost)
    for one in some:
        if one.way.budget is not None:
            assert one.rate <= 1.2 * one.way.asked(300)
            assert one.rate < Layering("", one.way.layers).asked(300)


def test_the_page_has_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["layers", "--layers", "2"]) == 0
    [block] = re.findall(
        r"^```text printed by the first\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    printed, told = capsys.readouterr().out.splitlines(), block.splitlines()
    same = [line for line in printed if "2 layers, " not in line]
    assert len(same) == 10
    assert [line for line in told if line in same] == same


def test_it_is_drawn(tmp_path: Path) -> None:
    words = "--layers 1 --clients 5 --outage 2 --watch 10 --queue 1"
    assert experiments(["layers", *words.split(), "--picture", str(tmp_path)]) == 0
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["layers.png", "layers.svg"]
    assert "1 layer, grpc" in files[1].read_text()


@pytest.mark.parametrize("words", ["--layers 0", "--clients 0", "--outage 1", "--queue -1", "up"])
def test_a_wrong_command_is_one_line(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        experiments(["layers", *words.split()])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
