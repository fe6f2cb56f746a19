"""The playground: what it says of programs, and the page in a browser, where the wheel runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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
READY = r"Python 3\.14\.\d+, ixbackoff [\d.]+"
WIDTH = 390
"""Pixels of a phone."""
DECORATED = """\
from ixbackoff import N3, backoff

@backoff(N3)
def program() -> None:
    pass
"""


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
            DECORATED,
            "program is a function that is decorated with @backoff, and no program: leave the "
            "decorator out, and write program = backoff(N3).program(program).",
        ),
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


@contextmanager
def opening(site: Path, profile: Path) -> Iterator[Browser]:
    """Open the page, in the window of a phone."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    with served(site) as url, browser(profile) as page:
        page.open(f"{url}/playground.html", width=WIDTH)
        yield page


def check(page: Browser) -> None:
    """Check that the page had no error, and nothing from elsewhere."""
    errors, page.errors = page.errors, []
    assert errors == []
    origin = page.evaluate("location.origin")
    resources = "performance.getEntriesByType('resource').map(one => one.name)"
    assert all(one.startswith((origin, "data:")) for one in page.evaluate(resources))


@pytest.fixture
def opened(site: Path, tmp_path: Path) -> Iterator[Browser]:
    """The page, before Python is started."""
    with opening(site, tmp_path) as page:
        yield page
        check(page)


@pytest.fixture(scope="module")
def started(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The page, with Python started, which takes several seconds, and the first pictures drawn."""
    with opening(site, tmp_path_factory.mktemp("started")) as page:
        assert text(page, "#state") == ""
        page.evaluate("document.getElementById('start').click()")
        until(page, "#state", READY, PATIENCE)
        until(page, "#fleet pre", r"(?s).*your waits.*")
        yield page


@pytest.fixture
def page(started: Browser) -> Iterator[Browser]:
    """The page with Python, with the program and the numbers that it has at first."""
    inputs = "document.querySelectorAll('#playground input')"
    started.evaluate(f"{inputs}.forEach(one => one.value = one.defaultValue)")
    write(started, "#example", "the first one", "change")
    end = monotonic() + PATIENCE
    while started.evaluate("document.querySelector('[aria-busy=true]') !== null"):
        assert monotonic() < end, text(started, "#state")
        sleep(0.05)
    until(started, "#state", READY)
    yield started
    check(started)


def text(page: Browser, selector: str) -> str:
    found: str = page.evaluate(f"document.querySelector({selector!r}).textContent")
    return found


def until(page: Browser, selector: str, pattern: str, seconds: float = 30.0) -> str:
    """Wait until the text of an element is as the pattern says; return it."""
    end = monotonic() + seconds
    while not re.fullmatch(pattern, found := text(page, selector)):
        assert monotonic() < end, (selector, pattern, found)
        sleep(0.05)
    return found


def write(page: Browser, selector: str, value: str, event: str = "input") -> None:
    element = f"document.querySelector({selector!r})"
    page.evaluate(f"{element}.value = {json.dumps(value)}")
    page.evaluate(f"{element}.dispatchEvent(new Event({event!r}, {{ bubbles: true }}))")


def shown(page: Browser, selector: str) -> bool:
    """Whether a picture is drawn as a whole, and says what it shows."""
    image = f"document.querySelector({selector!r})"
    if page.evaluate(f"{image}.alt === '' || {image}.offsetParent === null"):
        return False
    wide: int = page.evaluate(f"{image}.decode().then(() => {image}.naturalWidth)")
    place = page.evaluate(f"{image}.getBoundingClientRect().toJSON()")
    assert 0 <= place["left"] <= place["right"] <= WIDTH, place
    return wide > 100


@pytest.mark.slow
def test_the_page_runs_programs(page: Browser) -> None:
    assert "at most 6 tries, 5 waits and 27.5 s" in text(page, "#ladder pre")
    assert shown(page, "#ladder img")
    write(page, "#limit", "20")
    before = until(page, "#ladder pre", r"(?s).*no   does not fit 20 s.*")
    assert text(page, "output[for=limit]") == "20"
    write(page, "#takes", "0.5")
    until(page, "#ladder pre", f"(?s)(?!{re.escape(before)}).*")

    assert shown(page, "#fleet img")
    before = text(page, "#fleet pre")
    write(page, "#clients", "100", "change")
    until(page, "#fleet pre", f"(?s)(?!{re.escape(before)}).*your waits.*")
    before = text(page, "#fleet pre")
    write(page, "#program", PROGRAM.replace("N5", "N2"))
    until(page, "#ladder pre", r"(?s).*at most 3 tries.*")
    until(page, "#fleet pre", f"(?s)(?!{re.escape(before)}).*your waits.*")  # without a click

    write(page, "#example", "one that asks twice", "change")
    until(page, "#ladder pre", r"(?s).*at most 5 tries.*")
    assert shown(page, "#ladder img")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH


@pytest.mark.slow
def test_a_mistake_takes_the_pictures_away(page: Browser) -> None:
    for wrong, sentence in [
        (PROGRAM.replace("do(page)", "at(N5).retry(page)"), "Line 5: .*"),
        (
            "from ixbackoff import N1, at\nprogram = at(N1).backoff().backoff()\n",
            "Line 2: .backoff\\(\\) goes one rung down, but no wait is left at N0: start the "
            "program on a higher rung, or leave the step out.",
        ),
        (DECORATED, "program is a function that is decorated with @backoff, and no program: .*"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ]:
        write(page, "#program", PROGRAM)
        until(page, "#fleet pre", r"(?s).*your waits.*")
        assert shown(page, "#ladder img")
        assert shown(page, "#fleet img")
        write(page, "#program", wrong)
        until(page, "#wrong", sentence)
        sleep(1)  # as long as a fleet is waited for
        assert not shown(page, "#ladder img")
        assert not shown(page, "#fleet img")
        assert text(page, "#ladder pre") == text(page, "#fleet pre") == ""


@pytest.mark.slow
def test_what_does_not_end_is_stopped(page: Browser) -> None:
    stop = "document.getElementById('stop')"
    assert page.evaluate(f"{stop}.disabled")
    write(page, "#program", "while True: pass")
    until(page, "#state", r"Running \.\.\.")
    assert page.evaluate("1 + 1") == 2  # the page answers meanwhile
    page.evaluate(f"{stop}.click()")
    assert text(page, "#wrong") == "Stopped. Change the program, and it runs again."
    assert not shown(page, "#fleet img")
    until(page, "#state", r"Python 3.*", PATIENCE)
    assert page.evaluate(f"{stop}.disabled")

    write(page, "#program", PROGRAM)
    until(page, "#fleet pre", r"(?s).*your waits.*")
    assert text(page, "#wrong") == ""
    assert shown(page, "#ladder img")

    write(page, "#program", "while True: pass")
    until(page, "#state", r"Running \.\.\.")
    write(page, "#program", PROGRAM.replace("N5", "N3"))  # which was changed before the stop
    page.evaluate(f"{stop}.click()")
    until(page, "#ladder pre", r"(?s).*at most 4 tries.*", PATIENCE)
    until(page, "#fleet pre", r"(?s).*your waits.*")
    assert text(page, "#wrong") == ""


HELP = (
    r"(?s)Python starts if .* run python -m http\.server .*open http://localhost:8000/playground.*"
)


@pytest.mark.slow
def test_where_python_cannot_start_the_page_says_what_to_do(
    opened: Browser, site: Path, tmp_path: Path
) -> None:
    disabled = "document.getElementById('start').disabled"
    url = opened.evaluate("location.href")
    assert not opened.evaluate(disabled)
    opened.ask("Emulation.setScriptExecutionDisabled", value=True)
    opened.open(url, width=WIDTH)
    until(opened, "#state", HELP)
    assert opened.evaluate(disabled)
    with browser(tmp_path / "other") as local:
        local.open((site / "playground.html").as_uri(), width=WIDTH)
        until(local, "#state", HELP)
        assert local.evaluate(disabled)
