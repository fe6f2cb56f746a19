"""The pictures of the documentation can be read: by everybody, and without the page around them."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ixbackoff.plotting.styles import line_style

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
PICTURES = sorted(FOLDER.glob("*.svg"))
DRAWN = [path for path in PICTURES if path.stem != "plan"]
each_picture = pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> list[tuple[str, str]]:
    """The texts of a picture, and how they are written."""
    found = ElementTree.parse(path).iter(f"{SVG}text")  # noqa: S314
    return [("".join(one.itertext()).strip(), one.get("style", "")) for one in found]


@each_picture
def test_it_has_one_headline(path: Path) -> None:
    [headline] = [text for text, style in texts(path) if "700 12px" in style]
    assert len(headline.split()) >= 5


@each_picture
def test_its_numbers_are_plain(path: Path) -> None:
    assert not [
        text
        for text, _ in texts(path)
        if re.search(r"\^\{|10\s?[\u2212-]?\d$", text) and not re.fullmatch(r"[\d,.]+", text)
    ]
    assert "mathdefault" not in path.read_text()


@each_picture
def test_its_axes_have_units(path: Path) -> None:
    units = re.compile(
        r", s$|, MB/s$|, in all$|per second|/s |^seconds|^requests at once$"
        r"|^descriptors in use$|^files that were read$|^noticed after so many times"
    )
    counted = {"attempt", "clients", "producers", "submitters"}
    assert [text for text, _ in texts(path) if units.search(text) or text in counted]


def differences(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in ("color", "linestyle", "marker") if one[name] != other[name]}


def test_lines_differ_in_more_than_their_colors() -> None:
    for one, other in combinations(range(7), 2):
        assert differences(line_style(one), line_style(other)) == {"color", "linestyle", "marker"}


def test_a_line_with_many_points_has_some_markers() -> None:
    first, every = line_style(3, points=120)["markevery"]
    assert (every, first < every) == (10, True)
    assert "markevery" not in line_style(3, points=5)
