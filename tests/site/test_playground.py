"""The playground: what it says of programs, and the page in a browser, where the wheel runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from ..support.browsers import CHROMIUM, Browser, browser, served
from ..support.checkers.checked import ROOT, programs

SITE = ROOT / "docs" / "_site"
[PROGRAM] = programs(ROOT / "docs" / "playground.md")
PATIENCE = 180.0
"""Seconds in which Python has to start, also on a busy machine."""


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that runs in the page."""
    monkeypatch.syspath_prepend(SITE / "playground")
    return import_module("inside")


def test_the_program_of_the_page_has_a_plan_and_a_fleet(inside: Any) -> None:
    plan = json.loads(inside.planned(PROGRAM, 2, 30))
    assert plan["text"].startswith("program: at most 6 tries, 5 waits and 27.5 s in all")
    assert plan["picture"].startswith("<svg")
    fleet = json.loads(inside.fleet(PROGRAM, 300, 20))
    yours, hasty = (line.split() for line in fleet["text"].splitlines()[2:])
    assert float(yours[3]) > 25
    assert float(hasty[4]) == 0
    assert "With your waits the service recovers; 0.1 s each keeps it down" in fleet["picture"]


SENTENCES = {
    "a wait too many": "Line 5: .backoff() goes one rung down, but no wait is left at N0",
    "a retry inside a retry": "Line 5: A program cannot be tried inside a program",
    "up the ladder": "Line 5: A program that ends at N0 cannot continue with one that starts at N3",
    "one that asks twice": None,
}


def test_each_example_shows_something(inside: Any) -> None:
    examples = json.loads(inside.examples())
    assert examples.keys() == SENTENCES.keys()
    for name, source in examples.items():
        sentence = SENTENCES[name]
        for answer in (inside.planned(source, 1, 10), inside.fleet(source, 50, 10)):
            said = json.loads(answer)
            if sentence:
                assert said["wrong"].startswith(sentence)
            else:
                assert said["picture"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("", "There is no program yet: write program = at(N3).retry(...)."),
        ("at(N3", "Line 1: SyntaxError: '(' was never closed"),
        ("\nat(N3)", "Line 2: NameError: name 'at' is not defined"),
        ("raise SystemExit(3)", "Line 1: SystemExit: 3"),
        (
            "from ixbackoff import N3, at\nprogram = at(N3)\nschedule = 3",
            "argument --schedule: program:schedule is not a schedule, but 3; --help tells more.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(inside: Any, source: str, sentence: str) -> None:
    assert json.loads(inside.planned(source, 1, 10)) == {"wrong": sentence}


def test_without_npm_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(SITE)
    playground = import_module("playground")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(playground.Missing, match="npm is not installed"):
        playground.build(tmp_path / "site")


@pytest.fixture
def page(site: Path, tmp_path: Path) -> Iterator[Browser]:
    """The page, in a browser, with Python started."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    with served(site) as url, browser(tmp_path) as opened:
        opened.open(f"{url}/playground.html", width=400)
        opened.evaluate("document.getElementById('start').click()")
        end = monotonic() + PATIENCE
        while "Loading" in (state := text(opened, "#state")) and monotonic() < end:
            sleep(0.2)
        assert re.fullmatch(r"Python 3\.14\.\d+, ixbackoff [\d.]+", state), state
        yield opened
        assert opened.errors == []
        resources = "performance.getEntriesByType('resource').map(one => one.name)"
        assert all(one.startswith((url, "data:")) for one in opened.evaluate(resources))


def text(page: Browser, selector: str) -> str:
    found: str = page.evaluate(f"document.querySelector({selector!r}).textContent")
    return found


def write(page: Browser, selector: str, value: str, event: str = "input") -> None:
    element = f"document.querySelector({selector!r})"
    page.evaluate(f"{element}.value = {json.dumps(value)}")
    page.evaluate(f"{element}.dispatchEvent(new Event({event!r}, {{ bubbles: true }}))")


def shown(page: Browser, selector: str) -> bool:
    """Whether a picture is drawn, and says what it shows."""
    image = f"document.querySelector({selector!r})"
    wide: int = page.evaluate(f"{image}.decode().then(() => {image}.naturalWidth)")
    alternative: str = page.evaluate(f"{image}.alt")
    return wide > 100 and alternative != ""


@pytest.mark.slow
def test_the_page_runs_programs(page: Browser) -> None:
    assert "at most 6 tries, 5 waits and 27.5 s" in text(page, "#ladder pre")
    assert shown(page, "#ladder img")
    write(page, "#limit", "20")
    assert "no   does not fit 20 s" in text(page, "#ladder pre")
    assert text(page, "output[for=limit]") == "20"
    before = text(page, "#ladder pre")
    write(page, "#takes", "0.5")
    assert text(page, "#ladder pre") != before

    assert shown(page, "#fleet img")
    before = text(page, "#fleet pre")
    write(page, "#clients", "100", "change")
    assert text(page, "#fleet pre") != before

    write(page, "#program", PROGRAM.replace("do(page)", "at(N5).retry(page)"))
    assert text(page, "#wrong").startswith("Line 5: ")
    write(page, "#program", "from ixbackoff import N1, at\nprogram = at(N1).backoff().backoff()\n")
    assert text(page, "#wrong") == (
        "Line 2: .backoff() goes one rung down, but no wait is left at N0: start the program on a "
        "higher rung, or leave the step out."
    )
    assert page.evaluate("document.querySelector('#ladder .picture').hidden")
    write(page, "#example", "one that asks twice", "change")
    assert text(page, "#wrong") == ""
    assert shown(page, "#ladder img")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
