"""The tutorial is true: who saves its files and types its commands sees what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
TEXT = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
FILES = {name: text for language, name, text in BLOCKS if language == "python"}
SESSIONS = [text.removeprefix("$ ") for language, _, text in BLOCKS if language == "console"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with its files."""
    made = tmp_path_factory.mktemp("tutorial")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


def printed(line: str, folder: Path) -> str:
    """What a line of the shell prints, in an environment that has our Python and its tools."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", line.replace("ixbackoff", f"{sys.executable} -m ixbackoff", 1)],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return timeless(done.stdout)


def timeless(text: str) -> str:
    """A text without the time that a test took."""
    return re.sub(r"in \d+\.\d\ds", "in time", text)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.partition("\n")[0])
def test_its_commands_print_what_it_shows(session: str, folder: Path) -> None:
    line, _, shown = session.partition("\n")
    assert printed(line, folder) == timeless(shown)


def test_mypy_accepts_all_its_files_but_the_wrong_one(folder: Path) -> None:
    right = " ".join(name for name in FILES if name != "wrong.py")
    assert printed(f"mypy --strict {right}", folder).startswith("Success")


def test_what_is_not_there_is_not_asked_for_again(folder: Path) -> None:
    [shown] = [text for _, words, text in BLOCKS if words == "the end of a traceback"]
    *start, last = FILES["price.py"].splitlines()
    (folder / "ulysses.py").write_text("\n".join([*start, last.replace("walden", "ulysses")]))
    assert printed("python ulysses.py", folder).endswith(shown)
