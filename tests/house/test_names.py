"""A name is used once, so that a search finds it; nothing else lies at the top; it stays small."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..support.syntax import parsed

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ixbackoff"
MODULES = sorted(PACKAGE.rglob("*.py"))

TOP = {
    *(".ci", ".gitignore", ".pre-commit-hooks.yaml"),
    *("CHANGELOG.md", "LICENSE", "README.md"),
    *("Makefile", "noxfile.py", "pyproject.toml"),
    *("_ixbackoff_pytest.py", "ixbackoff"),
    *("benchmarks", "docs", "tests", "typecheck_cases"),
}
MOST_CLASS_NAMES_USED_TWICE = 10
FACES = {"__init__", "__main__", "commands"}
"""Modules that may have one name in several rooms: they are the face of theirs."""

MOST_LINES = 43_800
DOCUMENTED = {"_asdict", "_fields", "_getframe", "_make", "_replace"}
"""Names of the standard library that begin with an underscore and are documented."""

PRIVATE = re.compile("_[^_]").match


def test_nothing_else_lies_at_the_top() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {name.partition("/")[0] for name in listed.stdout.splitlines()} == TOP


def places(names: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    """Return the names that are used more than once, with their places."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in names:
        found[name].append(str(path.relative_to(PACKAGE)))
    return {name: where for name, where in found.items() if len(where) > 1}


def classes() -> Iterator[tuple[str, Path]]:
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                yield node.name, path


def modules_and_rooms() -> Iterator[tuple[str, Path]]:
    for path in MODULES:
        if path.name == "__init__.py" and path.parent != PACKAGE:
            yield path.parent.name, path
        if path.stem not in FACES:
            yield path.stem, path


def test_few_class_names_are_used_twice() -> None:
    twice = places(classes())
    assert len(twice) <= MOST_CLASS_NAMES_USED_TWICE, twice


def test_no_module_has_the_name_of_another() -> None:
    assert places(modules_and_rooms()) == {}


def test_the_package_does_not_grow() -> None:
    assert sum(len(path.read_text().splitlines()) for path in MODULES) < MOST_LINES


def own_names(tree: ast.Module) -> Iterator[str]:
    """List the names that a module defines or assigns, slots and arguments included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_a_private_name_of_another_library_stands_in_one_module() -> None:
    own = {name for path in MODULES for name in own_names(parsed(path))} | DOCUMENTED
    foreign: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and PRIVATE(node.attr) and node.attr not in own:
                foreign[node.attr].add(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in foreign.items() if len(where) > 1} == {}
