"""The pages as they stand in the repository: their links lead somewhere, and GitHub shows them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def prose(page: Path) -> str:
    """A page without its programs."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_its_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(page))):
        file, _, anchor = target.partition("#")
        if not re.match(r"https?:", target):
            there = page.parent / file if file else page
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


@each_page
def test_github_shows_it(page: Path) -> None:
    """What only Sphinx reads would stand on the page as it is."""
    if page.name not in ("changelog.md", "install.md"):  # they show files above them
        marks = re.findall(r"^(?:```+|:::+)\{.*|\{\w+\}`|^\(.*\)=$", page.read_text(), re.MULTILINE)
        assert marks == []
