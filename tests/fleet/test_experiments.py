"""The experiments: each is a package from the model to the command, and prints its page's table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import pytest

import ixbackoff.fleet.experiments
from ixbackoff.fleet.__main__ import EXPERIMENTS
from ixbackoff.fleet.__main__ import main as fleet
from ixbackoff.fleet.experiments.experiment import Experiment

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parent.parent.parent / "docs" / "ethernet.md").read_text()
FOLDER = Path(ixbackoff.fleet.experiments.__file__).parent
STOREYS = ["model", "table", "picture", "command"]
"""Each may import those before it, and what else is in its package."""


def imported(module: Path) -> Iterator[str]:
    """The modules of its own package that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else [alias.name for alias in node.names]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_command_knows_its_picture_and_its_model_knows_neither(name: str) -> None:
    modules = {path.stem: path for path in (FOLDER / name).glob("*.py")}
    assert {*STOREYS, "__init__"} <= {*modules}
    for stem, path in modules.items():
        below = STOREYS[: STOREYS.index(stem)] if stem in STOREYS else []
        assert not {*imported(path)} & {*STOREYS} - {*below}, path


def test_no_model_imports_a_picture_of_another_experiment_or_what_draws() -> None:
    for path in FOLDER.rglob("*.py"):
        if path.stem not in ("picture", "command", "experiment"):
            text = path.read_text()
            assert not re.search(r"^\s*(from|import) .*(picture|drawing|plotting)", text, re.M), (
                path
            )


def test_there_is_a_package_for_each_command_and_each_has_one_value() -> None:
    packages = {path.parent.name for path in FOLDER.glob("*/__init__.py")}
    assert packages == {*EXPERIMENTS}
    for name in EXPERIMENTS:
        experiment = import_module(f"ixbackoff.fleet.experiments.{name}.command").EXPERIMENT
        assert isinstance(experiment, Experiment)
        assert experiment.name == name


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
    assert fleet([name, *words]) == 0
    table = capsys.readouterr().out
    assert len(table.splitlines()) in (2, 3, 4)
    assert fleet([name, *words, "--picture", f"{tmp_path}/new"]) == 0
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
    assert fleet(words) == 0
    out = capsys.readouterr().out
    head, *lines = out.splitlines()
    assert head.split() == ["3", "seeds", "least", "median", "most"]
    assert lines
    for line in lines:
        assert re.search(r"( +(\d+(\.\d)?|never)){3}$| [0-3] of 3$", line), line
    assert {len(line) for line in lines} == {len(head)}
    if name in WORDS:
        assert fleet([*words, "--picture", f"{tmp_path}"]) == 0
        assert capsys.readouterr().out.startswith(out)
        assert (tmp_path / f"{name}.svg").exists()


@pytest.mark.parametrize("name", sorted({*EXPERIMENTS} - {*MORE}))
def test_the_others_have_all_seeds_in_their_table(name: str) -> None:
    experiment = import_module(f"ixbackoff.fleet.experiments.{name}.command").EXPERIMENT
    assert experiment.numbers is None
    assert experiment.seeds > 1


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
    assert fleet([name, *words]) == 0
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
        fleet([name, *words])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{said}; --help tells more.\n"


@pytest.mark.parametrize("name", WORDS)
def test_what_cannot_be_drawn_is_told(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = WORDS[name]
    (tmp_path / "file").touch()
    assert fleet([name, *words, "--picture", f"{tmp_path}/file"]) == 2
    assert capsys.readouterr().err.endswith("file cannot be used: File exists.\n")
    with patch.dict("sys.modules", {"matplotlib": None}):
        assert fleet([name, *words, "--picture", f"{tmp_path}"]) == 2
    assert "ixbackoff[plot]" in capsys.readouterr().err
