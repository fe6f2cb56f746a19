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


def test_one_place_says_that_there_is_no_release() -> None:
    """The section of the README, which is the page on installing, too: a release changes it."""
    readme = (ROOT / "README.md").read_text()
    install = readme.partition("## Install\n")[2].partition("\n## ")[0]
    texts = [page.read_text() for page in PAGES if page.name != "CHANGELOG.md"]
    texts += [path.read_text() for path in (ROOT / "ixbackoff").rglob("*.py")]
    unreleased = re.compile(r"no release|(not|nothing is) (yet )?published|after a release", re.I)
    assert unreleased.search(install)
    assert [text for text in texts if unreleased.search(text.replace(install, ""))] == []
    assert sum("pip install '" in text.replace(install, "") for text in texts) == 1, "messages"


def test_the_home_page_installs_it_as_the_page_on_installing_does() -> None:
    first, home = (
        re.findall(r"^```sh\n(.*?) +#", (ROOT / page).read_text(), re.MULTILINE)[0]
        for page in ("README.md", "docs/index.md")
    )
    assert home == first


@each_page
def test_github_shows_it(page: Path) -> None:
    """What only Sphinx reads would stand on the page as it is."""
    if page.name not in ("changelog.md", "install.md"):  # they show files above them
        marks = re.findall(r"^(?:```+|:::+)\{.*|\{\w+\}`|^\(.*\)=$", page.read_text(), re.MULTILINE)
        assert marks == []
