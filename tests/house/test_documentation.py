"""The documentation is true: its programs run, print what it says, and fail as it says."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    words: str
    text: str


README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path = README) -> Iterator[Block]:
    for language, words, text in BLOCK.findall(page.read_text()):
        yield Block(language, words.strip(), text)


@pytest.fixture
def level_of_the_log() -> Iterator[None]:
    """Take back what a page does to the log."""
    logger = logging.getLogger("ixbackoff")
    before = logger.level
    yield
    logger.setLevel(before)


@each_page
@pytest.mark.usefixtures("level_of_the_log")
def test_its_programs_run_and_print_what_it_says(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    printed = ""
    ran = 0
    for block in blocks(page):
        if block.language == "python" and block.words not in ("wrong", "mistake"):
            out = StringIO()
            with redirect_stdout(out):
                exec(compile(block.text, page.name, "exec", dont_inherit=True), names)  # noqa: S102
            printed = out.getvalue()
            ran += 1
        elif block.language == "text" and not block.words:
            assert printed == block.text
    assert ran >= 1


def right(page: Path) -> str:
    """The right programs of a page, which are one program."""
    texts = [
        block.text
        for block in blocks(page)
        if block.language == "python" and block.words not in ("wrong", "mistake")
    ]
    return "\n".join(texts)


def wrong(page: Path) -> list[str]:
    return [block.text for block in blocks(page) if block.words == "wrong"]


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The errors of mypy in each program of all pages: one run, since most of its time is ours."""
    texts = {f"right_{number}.py": right(page) for number, page in enumerate(PAGES)}
    for number, page in enumerate(PAGES):
        texts |= {f"wrong_{number}_{place}.py": text for place, text in enumerate(wrong(page))}
    folder = tmp_path_factory.mktemp("programs")
    for name, text in texts.items():
        (folder / name).write_text(text)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache", *texts],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert f"checked {len(texts)} source files" in done.stdout
    found: dict[str, list[str]] = {name: [] for name in texts}
    for line in done.stdout.splitlines():
        name, _, said = line.partition(":")
        if "error:" in line:
            found[name].append(said)
    return found


@each_page
def test_its_programs_pass_the_type_checker(page: Path, errors: dict[str, list[str]]) -> None:
    assert errors[f"right_{PAGES.index(page)}.py"] == []


@each_page
def test_its_wrong_programs_are_rejected_in_the_words_that_it_says(
    page: Path, errors: dict[str, list[str]]
) -> None:
    said = [block.text.splitlines() for block in blocks(page) if block.words == "mypy"]
    assert wrong(page) or page != README
    for place, (_, lines) in enumerate(zip(wrong(page), said, strict=True)):
        told = errors[f"wrong_{PAGES.index(page)}_{place}.py"]
        assert len(told) == len(lines)
        for error, abridged in zip(told, lines, strict=True):
            pattern = ".*".join(re.escape(part) for part in abridged.split("..."))
            assert re.fullmatch(pattern, f"wrong.py:{error}"), error


def test_each_line_of_its_wrong_program_is_refused_at_run_time() -> None:
    [program] = wrong(README)
    start, middle, *rest = program.split("\n\n")
    lines = rest[0].splitlines()
    names: dict[str, Any] = {}
    exec(start + "\n" + middle, names)  # noqa: S102
    for line in lines:
        try:
            exec(line, names)  # noqa: S102
        except TypeError:
            continue
        raise AssertionError(f"Not refused: {line}")


@each_page
def test_its_commands_are_targets_of_the_makefile(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for block in blocks(page):
        for target in re.findall(r"^make ([a-z-]+)", block.text, re.MULTILINE):
            assert target in targets
