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


def mypy(text: str, name: str, folder: Path) -> list[str]:
    (folder / name).write_text(text)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache", name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "error:" in line]


@pytest.mark.slow
@each_page
def test_its_programs_pass_the_type_checker(page: Path, tmp_path: Path) -> None:
    right = [
        block.text
        for block in blocks(page)
        if block.language == "python" and block.words not in ("wrong", "mistake")
    ]
    assert mypy("\n".join(right), "right.py", tmp_path) == []


@pytest.mark.slow
@each_page
def test_its_wrong_programs_are_rejected_in_the_words_that_it_says(
    page: Path, tmp_path: Path
) -> None:
    wrong = [block.text for block in blocks(page) if block.words == "wrong"]
    said = [block.text.splitlines() for block in blocks(page) if block.words == "mypy"]
    assert wrong or page != README
    for program, lines in zip(wrong, said, strict=True):
        errors = mypy(program, "wrong.py", tmp_path)
        assert len(errors) == len(lines)
        for error, abridged in zip(errors, lines, strict=True):
            pattern = ".*".join(re.escape(part) for part in abridged.split("..."))
            assert re.fullmatch(pattern, error), error


def test_each_line_of_its_wrong_program_is_refused_at_run_time() -> None:
    [wrong] = [block.text for block in blocks() if block.words == "wrong"]
    start, *lines = wrong.split("\n\n")[0], *wrong.split("\n\n")[2].splitlines()
    names: dict[str, Any] = {}
    exec(start + "\n" + wrong.split("\n\n")[1], names)  # noqa: S102
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
