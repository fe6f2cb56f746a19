"""Circuit breakers, while a service is down: the table of their page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.experiments.__main__ import main as experiments

PAGE = Path(__file__).parents[2] / "docs" / "breakers.md"
pytestmark = pytest.mark.slow


def test_the_page_has_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["breakers"]) == 0
    [block] = re.findall(
        r"^```text printed by the first\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    assert capsys.readouterr().out == block


def test_it_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "breakers --clients 50 --processes 2 --outage 12 --watch 10 --picture"
    assert experiments([*words.split(), str(tmp_path)]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["breakers.png", "breakers.svg"]
    assert len(capsys.readouterr().out.splitlines()) >= 7
