"""The experiments: each is declared in one file, and prints the table of its page."""

from __future__ import annotations

import ast
import os
import re
import sys
from importlib import import_module
from operator import le
from pathlib import Path
from statistics import fmean, median
from unittest.mock import patch

import pytest

from benchmarks.drawing import Panel, Picture, by_second, summary
from benchmarks.experiments.__main__ import EXPERIMENTS
from benchmarks.experiments.__main__ import main as experiments
from benchmarks.experiments.experiment import (
    Cells,
    Experiment,
    Shown,
    aligned,
    averaged,
    load,
    text,
)

from ..support.processes import Child

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ethernet.md").read_text()
FOLDER = ROOT / "benchmarks" / "experiments"
FRAME = {"ixbackoff._argument_parser"}
"""Modules that are not public, which an experiment may import: they read its flags."""


def test_there_is_one_file_for_each_command_and_each_has_one_value() -> None:
    frame = {"__init__", "__main__", "experiment", "ethernet"}
    files = {path.stem for path in FOLDER.glob("*.py")} - frame
    assert files == {module for module, _ in EXPERIMENTS.values()}
    assert all(isinstance(load(module), Experiment) for module, _ in EXPERIMENTS.values())


MODELS = [f"services/{path.stem}" for path in (FOLDER / "services").glob("[a-z]*.py")]


@pytest.mark.parametrize("name", [*(module for module, _ in EXPERIMENTS.values()), *MODELS])
def test_it_imports_the_public_package_as_a_program_of_a_user_would(name: str) -> None:
    for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if not node.module.startswith("ixbackoff") or node.module in FRAME:
                continue
            public = getattr(import_module(node.module), "__all__", None)
            assert not re.search(r"\._", node.module)
            assert public is None or {alias.name for alias in node.names} <= {*public}


def test_the_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments(["--help"]) == 0
    listed, err = capsys.readouterr()
    assert not err
    assert [line.split()[0] for line in listed.splitlines()[1:]] == [*EXPERIMENTS]
    assert experiments([]) == 2
    assert capsys.readouterr() == ("", listed)
    assert experiments(["nonsense"]) == 2
    assert capsys.readouterr() == ("", f"'nonsense' is not an experiment.\n{listed}")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        experiments([name, "--help"])
    assert not ended.value.code
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: python -m benchmarks.experiments {name} ")
    assert not err


def test_nobody_has_to_read_what_it_prints() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "benchmarks.experiments", "--help"]
    with Child(words, cwd=ROOT, stdout=writing, stderr=-1) as process:
        os.close(writing)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")


def test_numbers_stand_at_the_right_and_a_group_above_its_columns() -> None:
    rows = [
        {"way": "1 layer", "asked, of all | in the end": 7, "asked, of all | most": "-"},
        {"way": "bare", "asked, of all | in the end": 128, "asked, of all | most": "9.5"},
    ]
    assert aligned(rows).splitlines() == [
        "          asked, of all",
        "way      in the end  most",
        "1 layer           7     -",
        "bare            128   9.5",
    ]
    assert aligned([]) == ""


WORDS = {
    "submissions": ["--submitters", "3", "--seconds", "5"],
    "buffer": ["--producers", "3", "--seconds", "5"],
    "blackhole": ["--seconds", "40"],
}


@pytest.mark.parametrize("name", WORDS)
def test_it_prints_a_table_always_the_same_and_draws(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = WORDS[name]
    assert experiments([name, *words]) == 0
    table = capsys.readouterr().out
    assert len(table.splitlines()) in (2, 3, 4)
    assert experiments([name, *words, "--picture", f"{tmp_path}/new"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(table)
    files = [Path(line) for line in out.removeprefix(table).splitlines()]
    assert [file.name for file in files] == [f"{name}.png", f"{name}.svg"]
    assert all(file.stat().st_size > 5000 for file in files)


MORE = WORDS | {
    "crash": ["--clients", "20", "--backlog", "128", "--outage", "2", "--watch", "4"],
    "layers": ["--layers", "1", "--clients", "20", "--outage", "3", "--watch", "10"],
    "breakers": ["--clients", "50", "--outage", "11", "--watch", "10"],
    "recovery": ["--outage", "1", "--clients", "5"],
}


@pytest.mark.parametrize("name", MORE)
def test_with_many_seeds_it_prints_how_its_numbers_vary(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [name, *MORE[name], "--seeds", "3", "--seed", "1", "--jobs", "1"]
    assert experiments(words) == 0
    out = capsys.readouterr().out
    heads = [
        f"3 seeds, {what} of each number:" for what in ("the least", "the median", "the greatest")
    ]
    assert [line for line in out.splitlines() if line.startswith("3 seeds")] == heads
    least, middle, greatest = (
        [float(word) for word in re.findall(r"(?<= )(?:inf|\d+(?:\.\d+)?)(?!\S)", part)]
        for part in re.split(r"3 seeds.*", re.sub(r"after \d+ s", "", out.replace(" - ", " inf ")))[
            1:
        ]
    )
    assert len(least) == len(middle) == len(greatest) > 1
    assert all(map(le, least, middle))
    assert all(map(le, middle, greatest))
    assert least != greatest or name == "blackhole"
    if name in WORDS:
        assert experiments([*words, "--picture", f"{tmp_path}"]) == 0
        assert capsys.readouterr().out.startswith(out)
        assert "(median of 3 seeds)" in (tmp_path / f"{name}.svg").read_text()


@pytest.mark.parametrize("name", sorted({*EXPERIMENTS} - {*MORE}))
def test_the_others_have_all_seeds_in_their_table(name: str) -> None:
    experiment = load(EXPERIMENTS[name][0])
    assert experiment.average is not None
    assert experiment.seeds > 1 or name == "metastable"


def test_a_table_of_many_seeds_has_averages_and_counts() -> None:
    tables: list[list[Cells]] = [
        [{"waits": "full", "calls": Shown(calls), "rate": rate, "back": rate > 2, "end": end}]
        for calls, rate, end in ((10, 1.0, "up"), (20, 2.5, "down"), (60, 4.0, "down"))
    ]
    assert text(averaged([[{"queue": 128}]] * 2, fmean)[0]["queue"]) == "128"
    assert averaged(tables, fmean) == [
        {
            "waits": "full",
            "calls": Shown(30),
            "rate": 2.5,
            "back": "2 of 3",
            "end": "down, 2 of 3",
        }
    ]


def test_rows_of_one_name_are_one_row_and_columns_of_one_group_are_together() -> None:
    def row(one: tuple[str, int]) -> Cells:
        return {"n": 5, f"files | {one[0]}": one[1], f"MB | {one[0]}": 0}

    experiment = Experiment(list[tuple[str, int]], row, lambda _: Picture("", []))
    rows = experiment.rows([("fixed", 1), ("aloha", 2)])
    assert aligned(rows).splitlines()[1:] == [
        "n  fixed  aloha  fixed  aloha",
        "5      1      2      0      0",
    ]


def test_a_picture_of_one_seed_says_which_and_of_many_has_their_medians() -> None:
    pictures = [
        Picture(
            "{full:g} calls",
            [[Panel("calls", by_second({"full": [5, calls]}), title=f"back with:\n{names}")]],
        )
        for calls, names in ((1, "equal; full"), (2, "full"), (9, "full; none; equal"))
    ]
    assert summary(pictures[:1], (7,), median).headline == "1 calls (seed 7)"
    drawn = summary(pictures, (0, 1, 2), median)
    assert drawn.headline == "2 calls (median of 3 seeds)"
    [[panel]] = drawn.panels
    assert panel.title == "back with:\nfull; equal in 2 of 3; none in 1 of 3"
    assert summary([drawn] * 2, (0, 1), median).panels[0][0].title == panel.title
    assert drawn.note == "Bands: from the least to the greatest value among the seeds."
    assert (panel.lines["full"].y, panel.lines["full"].band) == ([5, 2], [(5, 5), (1, 9)])


@pytest.mark.parametrize(
    ("number", "name", "words"),
    [
        (0, "submissions", ["--submitters", "400"]),
        (1, "buffer", ["--producers", "5", "--producers", "50"]),
        (2, "blackhole", []),
    ],
)
def test_the_page_says_what_is_printed(
    number: int, name: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printed = re.findall(r"^```text printed by the first\n(.*?)^```$", PAGE, re.M | re.S)[number]
    assert experiments([name, *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
    assert [line for line in printed.splitlines() if line in lines] == lines


WHOLE = "give a whole number"


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("submissions", ["--submitters", "0"], f"argument --submitters: 0: {WHOLE}, 1 to 10000"),
        ("submissions", ["--seconds", "1.5"], f"argument --seconds: 1.5: {WHOLE}, 1 to 86400"),
        ("submissions", ["--seed", "x"], f"argument --seed: x: {WHOLE}, 0 to 4294967296"),
        ("buffer", ["--producers", "1001"], f"argument --producers: 1001: {WHOLE}, 1 to 1000"),
        ("buffer", ["--speed", "nan"], "argument --speed: nan: give a number, 0.1 to 1e+06"),
        ("buffer", ["--speed", "0"], "argument --speed: 0: give a number, 0.1 to 1e+06"),
        ("blackhole", ["--readers", "-3"], f"argument --readers: -3: {WHOLE}, 1 to 1000"),
        ("blackhole", ["--hole", "1"], "unrecognized arguments: --hole 1"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    name: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        experiments([name, *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{said}; --help tells more.\n"


@pytest.mark.parametrize("name", WORDS)
def test_what_cannot_be_drawn_is_told(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = WORDS[name]
    (tmp_path / "file").touch()
    assert experiments([name, *words, "--picture", f"{tmp_path}/file"]) == 2
    assert capsys.readouterr().err.endswith("file cannot be used: File exists.\n")
    with patch.dict("sys.modules", {"matplotlib": None}):
        assert experiments([name, *words, "--picture", f"{tmp_path}"]) == 2
    assert ".[plot]" in capsys.readouterr().err
