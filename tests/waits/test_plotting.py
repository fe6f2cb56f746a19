"""The pictures of schedules, read back from their files."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from math import log10
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ixbackoff import Constant, Exponential, Listed
from ixbackoff.plotting import plot
from ixbackoff.plotting.plot_command import main
from ixbackoff.schedules import Timing
from ixbackoff.schedules.published import post_blue, post_green
from ixbackoff.schedules.shortening_jitter import FullJitter

FILES = ["waits-linear.png", "waits-linear.svg", "waits-logarithmic.png", "waits-logarithmic.svg"]
SVG = "{http://www.w3.org/2000/svg}"
PIXEL = 0.01

Points: TypeAlias = list[tuple[float, float]]
Scale: TypeAlias = Callable[[float], float]
SCALES: dict[str, Scale] = {"linear": lambda seconds: seconds, "logarithmic": log10}


def curve(svg: Path, number: int) -> Points:
    """Read the points of a curve from the picture; y grows downwards."""
    [group] = [
        group
        for group in ElementTree.parse(svg).iter(f"{SVG}g")  # noqa: S314
        if group.get("id") == f"curve-{number}"
    ]
    line = group.find(f"{SVG}path")
    assert line is not None
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (\S+) (\S+)", line.attrib["d"])]


def color(svg: Path, number: int) -> str:
    text = svg.read_text().split(f'id="curve-{number}"')[1]
    [found] = re.findall(r"stroke: (#\w+)", text.split("/>")[0])
    return str(found)


def words(svg: Path) -> list[str]:
    texts = ElementTree.parse(svg).iter(f"{SVG}text")  # noqa: S314
    return ["".join(text.itertext()).strip() for text in texts]


def expected(curves: dict[int, Points], scale: Scale, picture: dict[int, Points]) -> None:
    """Check that all curves are in the picture, point by point, on the same axes."""
    (x1, y1), (x2, y2) = curves[1][0], curves[1][-1]
    (h1, v1), (h2, v2) = picture[1][0], picture[1][-1]
    assert h1 < h2  # to the right
    assert v1 > v2  # upwards
    for number, points in curves.items():
        assert len(points) == len(picture[number])
        for (x, y), (h, v) in zip(points, picture[number], strict=True):
            assert h == pytest.approx(h1 + (x - x1) / (x2 - x1) * (h2 - h1), abs=PIXEL)
            share = (scale(y) - scale(y1)) / (scale(y2) - scale(y1))
            assert v == pytest.approx(v1 + share * (v2 - v1), abs=PIXEL)


def check_png(png: Path) -> None:
    data = png.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data[12:16] == b"IHDR"
    assert struct.unpack(">II", data[16:24]) == (800, 500)
    assert data.endswith(b"IEND\xaeB`\x82")


def points(timing: Timing, waits: int = 20, seed: int = 1) -> Points:
    return [(k + 1.0, wait) for k, wait in enumerate(timing.preview(waits, seed=seed))]


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-m", "ixbackoff", "plot", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_one_command_draws_the_pictures_of_the_post(tmp_path: Path) -> None:
    done = command(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == FILES
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES
    for scale, along in SCALES.items():
        check_png(tmp_path / f"waits-{scale}.png")
        svg = tmp_path / f"waits-{scale}.svg"
        curves = {1: points(post_blue), 2: points(post_green)}
        expected(curves, along, {1: curve(svg, 1), 2: curve(svg, 2)})
        assert (color(svg, 1), color(svg, 2)) == ("#1f77b4", "#2ca02c")  # blue and green
        assert {"try", "post_blue", "post_green", "5", "10", "15", "20"} <= {*words(svg)}


@pytest.mark.slow
def test_any_schedules_are_drawn_also_those_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ixbackoff import Exponential, Listed\n"
        "from ixbackoff.schedules.shortening_jitter import FullJitter\n"
        "short = Exponential(0.1, 3) & Listed([1, 2, 9])\n"
        "_full = FullJitter()\n"
    )
    done = command(
        tmp_path, "mine:short", "mine:_full", "ixbackoff.schedules.kinds:powers_of_two",
        "--waits", "9", "--seed", "5", "--folder", "deep/down",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    drawn: list[Timing] = [
        Exponential(0.1, 3) & Listed([1, 2, 9]), FullJitter(), Exponential(),
    ]  # fmt: skip
    for scale, along in SCALES.items():
        svg = tmp_path / "deep" / "down" / f"waits-{scale}.svg"
        curves = {place + 1: points(timing, 9, seed=5) for place, timing in enumerate(drawn)}
        expected(curves, along, {number: curve(svg, number) for number in curves})
        assert {"short", "full", "powers_of_two"} <= {*words(svg)}


def band(svg: Path, number: int) -> Points:
    """Read the corners of the band around a curve, as far as it is in the picture."""
    for text in svg.read_text().split(f'id="curve-{number}-band"')[1:]:
        [corners] = re.findall(r' d="([^"]+)"', text.split("</defs>")[0])
        [down] = re.findall(r' y="(\S+)"', text.split("</g>")[0])
        found = re.findall(r"[ML] (\S+) (\S+)", corners)
        return [(float(x), float(y) + float(down)) for x, y in found]
    return []


def test_the_spread_of_what_is_random_is_a_band(tmp_path: Path) -> None:
    spread = {"even": Constant(1).jittered(3), "bare": Constant(4), "one": post_blue.seeded(2)}
    files = plot(spread, tmp_path, wait_count=2, name="spread")
    assert [file.name for file in files] == [name.replace("waits", "spread") for name in FILES]
    svg = tmp_path / "spread-linear.svg"
    assert band(svg, 2) == band(svg, 3) == []  # each run of these is the same
    runs = [Constant(1).jittered(3).preview(2, seed=seed) for seed in range(1, 101)]
    ends = [{round(end(run[k] for run in runs), 9) for end in (min, max)} for k in (0, 1)]
    (x1, y1), (_, y2) = curve(svg, 1)
    first, second = runs[0]
    corners = [(x == x1, first + (y - y1) / (y2 - y1) * (second - first)) for x, y in band(svg, 1)]
    for is_first, among in ((True, ends[0]), (False, ends[1])):
        seconds = [seconds for at_first, seconds in corners if at_first is is_first]
        for end in (min, max):
            assert end(seconds) == pytest.approx(end(among), abs=1e-3)


@pytest.mark.slow
def test_the_same_pictures_are_the_same_files(tmp_path: Path) -> None:
    one, other, seeded = tmp_path / "one", tmp_path / "other", tmp_path / "seeded"
    first, second, third = (
        [file.read_bytes() for file in plot({"blue": post_blue}, folder, seed=seed)]
        for folder, seed in ((one, 3), (other, 3), (seeded, 4))
    )
    assert first == second
    assert all(data != otherwise for data, otherwise in zip(first, third, strict=True))


def test_what_has_no_place_on_an_axis_is_left_out(tmp_path: Path) -> None:
    timings = {"a": Listed([0, 0, 1, 2]), "b": Constant(0), "c": 1e300 * Exponential(1, 1e9, 1e9)}
    plot(timings, tmp_path, wait_count=4)
    assert len(curve(tmp_path / "waits-linear.svg", 1)) == 4
    assert len(curve(tmp_path / "waits-logarithmic.svg", 1)) == 2
    for svg in (tmp_path / "waits-linear.svg", tmp_path / "waits-logarithmic.svg"):
        assert {"a", "b", "c"} <= {*words(svg)}
        assert "nan" not in svg.read_text()


def test_a_headline_says_how_long_the_waits_get_or_how_fast_they_grow(tmp_path: Path) -> None:
    plot({"steep": Exponential(1, 3), "even": Constant(1)}, tmp_path, wait_count=3)
    linear, logarithmic = (words(tmp_path / f"waits-{scale}.svg") for scale in SCALES)
    assert "A run of each schedule: the waits grow from 1 s to 9 s" in linear
    assert "A run of each schedule: a wait is up to 3 times the one before (steep)" in logarithmic
    note = "A line: one run, seed 1. A band, if waits are random: the range of 100 runs."
    assert note in linear
    assert note in logarithmic
    plot({"none": Constant(0)}, tmp_path, wait_count=1)
    assert "A run of each schedule: a wait is up to 1 times the one before (none)" in words(
        tmp_path / "waits-logarithmic.svg"
    )


@pytest.mark.slow
def test_two_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for module in ("here", "there"):
        (tmp_path / f"{module}.py").write_text("from ixbackoff import Constant\nx = Constant(1)\n")
    done = command(tmp_path, "here:x", "there:x")
    assert (done.returncode, done.stderr) == (0, "")
    assert {"here:x", "there:x"} <= {*words(tmp_path / "waits-linear.svg")}


def test_equal_waits_need_no_name(tmp_path: Path) -> None:
    done = command(tmp_path, "0.5s", "2m")
    assert (done.returncode, done.stderr) == (0, "")
    assert {"0.5s", "2m"} <= {*words(tmp_path / "waits-linear.svg")}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "nothing: write MODULE:NAME, such as nothing:NAME"),
        (["ixbackoff.schedules.published:"], "write MODULE:NAME"),
        (["no.such:thing"], "No module named 'no'"),
        (["..above:thing"], "relative import"),
        (
            ["--name", "a/b"],
            "'a/b' is not a name for a file: give a name, and the folder with --folder",
        ),
        (["ixbackoff.schedules.published:post_red"], "the module has no post_red"),
        (["ixbackoff.schedules.published:thain"], "is not a schedule, but <function thain"),
        (["--waits", "0"], "0: give a whole number, 1 to 1000"),
        (["--waits", "9999"], "9999: give a whole number, 1 to 1000"),
        (["--seed", "x"], "x: give a whole number, 0 or more"),
        (["--what"], "--what"),
    ],
)
def test_a_wrong_word_gets_one_clear_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert told in line
    assert "--help tells more" in line


def test_a_folder_that_is_none_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--folder", str(tmp_path / "file")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("file cannot be used: File exists.")


def test_a_module_with_a_fault_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text("raise RuntimeError('one\\ntwo')")
    done = command(tmp_path, "faulty:schedule")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert "faulty:schedule: cannot be imported: RuntimeError: one two" in line


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    untyped: Any = plot
    with pytest.raises(TypeError, match="5 is not a schedule"):
        untyped({"a": 5}, tmp_path)
    with pytest.raises(ValueError, match="give a schedule, and 1 wait or more"):
        plot({}, tmp_path)
    with pytest.raises(ValueError, match="wait_count=0"):
        plot({"a": Constant(1)}, tmp_path, wait_count=0)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[plot\]' in a checkout"):
        plot({"a": Constant(1)}, tmp_path)
    assert main(["--folder", str(tmp_path)]) == 2
    assert "drawing needs matplotlib" in capsys.readouterr().err


def test_matplotlib_is_imported_when_something_is_drawn() -> None:
    code = "import sys, ixbackoff.plotting.plot_command; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
