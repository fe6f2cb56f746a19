"""The documentation is true: its programs run, print what it says, and fail as it says."""

from __future__ import annotations

import logging
import os
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
DOCS = ROOT / "docs"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
PROSE = {"changelog.md", "frameworks.md", "install.md", "tutorial.md"}
"""Pages without a program that runs here: others do so for the tutorial and the frameworks."""

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


def runs(block: Block) -> bool:
    """Whether it is a program that belongs to its page: neither wrong nor a file of its own."""
    others = block.words in ("wrong", "mistake") or block.words.endswith(".py")
    return block.language == "python" and not others


@each_page
@pytest.mark.usefixtures("level_of_the_log")
def test_its_programs_run_and_print_what_it_says(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(DOCS)
    names: dict[str, Any] = {"__name__": "page"}
    printed = ""
    ran = 0
    for block in blocks(page):
        if runs(block):
            out = StringIO()
            with redirect_stdout(out):
                exec(compile(block.text, page.name, "exec", dont_inherit=True), names)  # noqa: S102
            printed = out.getvalue()
            ran += 1
        elif block.language == "text" and not block.words:
            assert printed == block.text
    assert ran >= 1 or page.name in PROSE


def stem(page: Path) -> str:
    """The name of a page as that of a module."""
    return re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of the programs of all pages, by file: it is fast if asked once."""
    folder = tmp_path_factory.mktemp("programs")
    for page in PAGES:
        right = [block.text for block in blocks(page) if runs(block)]
        (folder / f"{stem(page)}.py").write_text("\n".join(right))
        wrong = [block.text for block in blocks(page) if block.words == "wrong"]
        for number, program in enumerate(wrong):
            (folder / f"{stem(page)}_wrong_{number}.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "."],
        cwd=folder,
        env=os.environ | {"MYPYPATH": f"{DOCS}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        file, _, rest = line.partition(".py:")
        if "error:" in rest:
            said.setdefault(file, []).append(rest)
    return said


@each_page
def test_its_programs_pass_the_type_checker(page: Path, mypy: dict[str, list[str]]) -> None:
    assert mypy.get(stem(page), []) == []


@each_page
def test_its_wrong_programs_are_rejected_in_the_words_that_it_says(
    page: Path, mypy: dict[str, list[str]]
) -> None:
    wrong = [block.text for block in blocks(page) if block.words == "wrong"]
    said = [block.text.splitlines() for block in blocks(page) if block.words == "mypy"]
    assert wrong or page != README
    assert len(wrong) == len(said)
    for number, lines in enumerate(said):
        errors = mypy[f"{stem(page)}_wrong_{number}"]
        assert len(errors) == len(lines)
        for error, abridged in zip(errors, lines, strict=True):
            shown = abridged.removeprefix("wrong.py:")
            pattern = ".*".join(re.escape(part) for part in shown.split("..."))
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
