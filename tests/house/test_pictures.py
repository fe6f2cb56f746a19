"""The pictures of the documentation can be read: by everybody, and without the page around them."""

from __future__ import annotations

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
    [headline] = [text for text, style in texts(path) if "font-weight: 700" in style]
    assert len(headline.split()) >= 5


@each_picture
def test_its_numbers_are_plain(path: Path) -> None:
    assert "mathdefault" not in path.read_text()  # as powers of ten are written


AXES = {
    "blackhole": {"time, s", "files that were read"},
    "breakers": {"time, s", "requests per second", "runs that end well per second"},
    "buffer": {"producers", "consumed, MB/s", "collisions, in all"},
    "contention": {"clients", "calls, in all", "time until all are done, s"},
    "crash": {"time, s", "answered per second", "requests at once"},
    "layers": {"time, s", "requests/s at the bottom", "runs/s that end well"},
    "recovery": {"length of the outage, s", "noticed after so many times its length"},
    "remedies": {"time, s", "requests at once"},
    "submissions": {"submitters", "jobs that were taken, in all", "descriptors in use"},
    "waits-linear": {"try", "length of the wait after it, s"},
    "waits-logarithmic": {"try", "length of the wait after it, s"},
}


@each_picture
def test_its_axes_say_what_they_count_in_which_unit(path: Path) -> None:
    assert {text for text, _ in texts(path)} >= AXES[path.stem]


def differences(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in ("color", "linestyle", "marker") if one[name] != other[name]}


def test_lines_differ_in_more_than_their_colors() -> None:
    for one, other in combinations(range(7), 2):
        assert differences(line_style(one), line_style(other)) == {"color", "linestyle", "marker"}


def test_a_line_with_many_points_has_some_markers() -> None:
    first, every = line_style(3, points=120)["markevery"]
    assert (every, first < every) == (10, True)
    assert "markevery" not in line_style(3, points=5)
