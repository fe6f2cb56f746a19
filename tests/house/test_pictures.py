"""The pictures of the documentation can be read: by everybody, and without the page around them."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.drawing import Panel, Picture, by_second, by_size, draw
from ixbackoff import Constant
from ixbackoff.plotting import plot
from ixbackoff.plotting.styles import COLORS, DARK, line_style

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


@each_picture
def test_it_is_dark_on_a_dark_page(path: Path) -> None:
    assert f"{DARK}</style>" in path.read_text()


def test_what_is_drawn_is_dark_on_a_dark_page(tmp_path: Path) -> None:
    panel = Panel("requests", by_second({"fixed": [3, 5, 8]}))
    files = [
        *plot({"1 s": Constant(1)}, tmp_path),
        *draw(Picture("More and more", [[panel]]), "requests", tmp_path),
    ]
    pictures = [file.read_text() for file in files if file.suffix == ".svg"]
    assert [text.count(f"{DARK}</style>") for text in pictures] == [1, 1, 1]


@each_picture
def test_its_bands_are_seen_on_a_dark_page(path: Path) -> None:
    bands = re.findall(r'style="([^"]*fill-opacity: 0.2)"', path.read_text())
    bright = [*re.findall(r'\[style\*="(fill: #\w+)"\]', DARK), *re.findall(r'\^="(.+?)"', DARK)]
    assert [one for one in bands if not one.startswith((*bright, *PLOTTED))] == []


PLOTTED = "fill: #1f77b4", "fill: #2ca02c"
"""The colors of `ixbackoff plot`, which are bright enough on any page."""


def darkened(what: str, color: str) -> str:
    """The color on a dark page of what has this color on a light one."""
    changed = re.search(rf'{what}: {color}"\] {{ {what}: (#\w+)', DARK)
    return changed[1] if changed else color


@pytest.mark.parametrize("ground", ["#ffffff", "#e6e6e6"], ids=["panel", "outage"])
@pytest.mark.parametrize("color", COLORS)
def test_lines_stand_out_on_a_light_page_and_on_a_dark_one(color: str, ground: str) -> None:
    dark = darkened("fill", ground)
    assert dark != ground
    assert contrast(color, ground) > 3
    for what in "fill", "stroke":
        assert contrast(darkened(what, color), dark) > 3


def contrast(*colors: str) -> float:
    low, high = sorted(luminance(color) for color in colors)
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    """How bright a color is, from 0 to 1, as the guidelines for accessible pages count it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(share * one for share, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


AXES = {
    "blackhole": {"time, s", "files that were read"},
    "breakers": {"time, s", "requests per second", "runs that end well per second"},
    "buffer": {"producers", "consumed, MB/s", "collisions in 100 s"},
    "contention": {"clients", "calls, in all", "time until all are done, s"},
    "crash": {"time, s", "answered/s", "requests at once"},
    "hedges": {
        *("load, times the capacity", "median of the latency, ms", "p99 of the latency, ms"),
        "runs that succeed per second",
    },
    "layers": {"time, s", "requests/s at the bottom", "runs/s that end well"},
    "metastable": {"time, s", "per second"},
    "quota": {"time, s", "requests per second"},
    "recovery": {"length of the outage, s", "noticed after, in lengths of the outage"},
    "remedies": {"time, s", "requests at once"},
    "services": {
        *("time, s", "requests/s at the database", "runs/s that succeed, by start"),
    },
    "submissions": {"submitters", "jobs that were taken in 300 s", "descriptors in use"},
    "throttles": {"load, times the capacity", "time, s", "runs that succeed per second"},
    "waits-linear": {"try", "length of the wait after the try, s"},
    "waits-logarithmic": {"try", "length of the wait after the try, s"},
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


def written(folder: Path, picture: Picture) -> dict[str, tuple[float, float]]:
    """The places of the texts of a picture, from its upper left corner."""
    [path] = [file for file in draw(picture, "one", folder) if file.suffix == ".svg"]
    places: dict[str, tuple[float, float]] = {}
    for one in ElementTree.parse(path).iter(f"{SVG}text"):  # noqa: S314
        numbers = re.findall(r"[\d.]+", one.get("transform", ""))
        x, y = numbers[-2:] if numbers[-1] != "0" else numbers[:2]
        places.setdefault("".join(one.itertext()).strip(), (float(x), float(y)))
    return places


def test_an_axis_that_is_linear_at_its_foot_says_so(tmp_path: Path) -> None:
    lines = by_size([("fixed", 30, 0), ("fixed", 40, 5), ("fixed", 50, 800)])
    panel = Panel("requests", lines, scale="symlog")
    places = written(tmp_path, Picture("More and more", [[panel]]))
    low, second, fifth, ten, hundred = (places[text][1] for text in ("0", "2", "5", "10", "100"))
    assert (low - second) / (low - ten) == pytest.approx(0.2, abs=0.01)
    assert (low - fifth) / (low - ten) == pytest.approx(0.5, abs=0.01)
    assert (low - ten) / (ten - hundred) == pytest.approx(1.5 / 0.9, abs=0.01)
    assert "(linear to 10)" in places
    above = panel._replace(lines=by_size([("fixed", 30, 50), ("fixed", 40, 800)]))
    assert "(linear to 10)" not in written(tmp_path, Picture("More and more", [[above]]))


def test_a_logarithmic_axis_has_a_number_near_its_top(tmp_path: Path) -> None:
    for most, numbers in (300, {"50", "100", "200"}), (30_000, {"10", "1,000", "10,000"}):
        lines = by_size([("fixed", 30, 0), ("fixed", 40, most)])
        panel = Panel("requests", lines, scale="symlog")
        places = written(tmp_path, Picture("More and more", [[panel]]))
        assert places.keys() >= numbers
        assert ("20" in places) == (most == 300)


def test_a_logarithmic_axis_with_few_powers_of_ten_has_numbers_between_them(tmp_path: Path) -> None:
    for scale in "log", "symlog":
        for least, more in (20, {"20", "50", "200", "500", "2,000"}), (12, set[str]()):
            lines = by_size([("fixed", 30, least), ("fixed", 40, 3000 if more else 90_000)])
            panel = Panel("requests", lines, scale=scale)
            places = written(tmp_path, Picture("More and more", [[panel]]))
            assert places.keys() >= {"100", "1,000", *more}
            assert ("200" in places) == bool(more)


def test_the_foot_of_a_long_axis_has_room_for_its_numbers(tmp_path: Path) -> None:
    lines = by_size([("fixed", 30, 0), ("fixed", 40, 30_000)])
    panel = Panel("requests", lines, scale="symlog")
    places = written(tmp_path, Picture("More and more", [[panel]] * 2, (11.0, 5.0)))
    assert "2" not in places
    assert places["0"][1] - places["5"][1] > 9


def test_the_name_of_an_outage_is_above_its_panel_and_the_note_below(tmp_path: Path) -> None:
    lines, outage = by_second({"fixed": [0, 5, 800]}), ("it is down", (1.0, 2.0))
    panel = Panel("requests", lines, title="a short queue", outage=outage, limits=(0, 800))
    places = written(tmp_path, Picture("More and more", [[panel]], note="fixed: no wait."))
    order = "More and more", "a short queue", "it is down", "800", "0", "time, s", "fixed: no wait."
    heights = [places[text][1] for text in order]
    assert heights == sorted(heights)
    assert len({*heights}) == len(order)


def test_each_name_has_its_line_beside_it(tmp_path: Path) -> None:
    panel = Panel("requests", by_second({"fixed": [5, 5], "aloha": [1, 5]}))
    places = written(tmp_path, Picture("More and more", [[panel]]))
    root = ElementTree.parse(tmp_path / "one.svg").getroot()  # noqa: S314
    for name in "fixed", "aloha":
        x, y = places[name]
        color = panel.lines[name].style["color"]
        [mark] = [
            mark
            for mark in root.iter(f"{SVG}use")
            if x - 40 < float(mark.get("x", "nan")) < x
            if abs(float(mark.get("y", "nan")) - y) < 5
        ]
        assert color in mark.get("style", "")
