"""Each file and folder that the README and the page on the architecture name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "architecture.md"]
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|md|agda|toml)))`|`([\w.-]+(?:/[\w.-]+)+)`")
FOLDERS = (ROOT, ROOT / "ixbackoff")


def named(page: Path) -> set[str]:
    """The paths in a page: in backticks, with a slash or the ending of a file."""
    return {one or other for one, other in PATH.findall(page.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_paths_of_a_page_exist(page: Path) -> None:
    lost = {path for path in named(page) if not any((folder / path).exists() for folder in FOLDERS)}
    assert lost == set()


def test_the_page_on_the_architecture_names_each_room() -> None:
    rooms = {f"{found.parent.name}/" for found in (ROOT / "ixbackoff").glob("*/__init__.py")}
    assert rooms <= named(ROOT / "docs" / "architecture.md")
