"""The type checkers see no configuration but their own, wherever else there is some."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..support.checkers.typecheckers import CACHE, CHECKERS, Checker, Report

WRONG = "number: int = 'text'\n\ndef untyped(a, b):\n    return a\n"

SILENT = {
    ".ignore": "*\n",
    ".gitignore": "*\n",
    "mypy.ini": "[mypy]\nignore_errors = True\n",
    ".mypy.ini": "[mypy]\nignore_errors = True\n",
    "setup.cfg": "[mypy]\nignore_errors = True\n",
    "pyrightconfig.json": '{"reportAssignmentType": false, "ignore": ["**"]}\n',
    "ty.toml": '[rules]\nall = "ignore"\n',
    "pyrefly.toml": 'preset = "off"\n[errors]\nbad-assignment = false\n',
    "pyproject.toml": (
        "[tool.mypy]\nignore_errors = true\n"
        '[tool.pyright]\nignore = ["**"]\n'
        '[tool.ty.rules]\nall = "ignore"\n'
        '[tool.pyrefly]\npreset = "off"\n'
    ),
    ".config/mypy/config": "[mypy]\nignore_errors = True\n",
    ".config/ty/ty.toml": '[rules]\nall = "ignore"\n',
}
"""Configuration that silences a checker, wherever one looks for it."""

BROKEN = dict.fromkeys(SILENT, "[\x00 this is no configuration")


def planted(folder: Path, configuration: dict[str, str]) -> None:
    for name, text in configuration.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def found(checker: Checker, folder: Path) -> list[Report]:
    """The errors in a wrong file, that lies in a folder of its own, and a second time."""
    below = folder / "cases"
    below.mkdir(parents=True)
    wrong = below / "wrong.py"
    wrong.write_text(WRONG)
    reports = [checker.check([wrong], folder / "work") for _ in range(2)]
    return [{file.relative_to(folder): errors for file, errors in one.items()} for one in reports]


@pytest.fixture(scope="module", params=CHECKERS, ids=lambda checker: checker.name)
def checker(request: pytest.FixtureRequest) -> Checker:
    chosen: Checker = request.param
    return chosen


@pytest.fixture(scope="module")
def alone(checker: Checker, tmp_path_factory: pytest.TempPathFactory) -> list[Report]:
    """What a checker says where there is no other configuration."""
    with own_cache():
        return found(checker, tmp_path_factory.mktemp("alone"))


@contextmanager
def own_cache() -> Iterator[None]:
    """Let mypy's cache be where it works, in a test that looks at what a second run says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(CACHE)
        yield


@pytest.mark.parametrize("hostile", [SILENT, BROKEN], ids=["silent", "broken"])
def test_configuration_elsewhere_changes_nothing(
    checker: Checker,
    alone: list[Report],
    hostile: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert any(errors for report in alone for errors in report.values())
    planted(tmp_path / "parent", hostile)
    planted(tmp_path / "home", hostile)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.setenv("TY_CONFIG_FILE", str(tmp_path / "home" / "ty.toml"))
    monkeypatch.setenv("PYREFLY_CONFIG", str(tmp_path / "home" / "pyrefly.toml"))
    with own_cache():
        assert found(checker, tmp_path / "parent" / "folder") == alone
