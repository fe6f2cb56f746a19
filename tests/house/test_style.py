"""The package is clean under mypy strict, pyright strict and ruff, and its house stands."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ..support.syntax import lengths, parsed

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "ixbackoff"
COMMANDS = [
    pytest.param(["ruff", "check", "--no-cache", "."], id="ruff check"),
    pytest.param(["ruff", "format", "--no-cache", "--check", "."], id="ruff format"),
    pytest.param(["mypy", "--cache-dir={cache}"], id="mypy", marks=pytest.mark.slow),
    pytest.param(["pyright", "--pythonpath", sys.executable], id="pyright", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_clean(command: list[str], tmp_path: Path) -> None:
    words = [word.format(cache=tmp_path) for word in command]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_core_needs_the_standard_library_and_typing_extensions_only() -> None:
    code = (
        "import sys, typing_extensions; before = set(sys.modules)\n"
        "import ixbackoff\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before} - {'ixbackoff'}\n"
        "assert new <= set(sys.stdlib_module_names), new\n"
        "unwanted = {'asyncio', 'logging', 'dataclasses', 'inspect', 'email', 'httpx2'} & new\n"
        "assert not unwanted, unwanted\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_no_line_is_hidden_from_the_type_checkers() -> None:
    ignores = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in PACKAGE.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "type: ignore" in line or "pyright: ignore" in line
    ]
    assert ignores == []


LONGEST = 60
"""Lines of a function, without its docstring."""


def test_no_function_is_too_long_to_be_read_at_once() -> None:
    assert {name: lines for name, lines in lengths(PACKAGE).items() if lines > LONGEST} == {}


FLOORS = (
    ("_words",),
    ("schedules",),
    ("_limits",),
    ("_meaning",),
    ("_running",),
    ("_writing",),
    ("_functions",),
    ("_argument_parser",),
    ("__init__",),
    ("known", "clients", "live", "observing", "testing", "plotting", "durable", "middleware"),
    ("fleet", "squirrel"),
    ("_door",),
    ("__main__",),
)
"""The rooms of the house, from the ground up: a room imports from floors below its own."""

BESIDE: set[tuple[str, str]] = {("live", "known"), ("clients", "known"), ("testing", "durable")}
"""Pairs of rooms on one floor, of which the first imports the second."""


def modules() -> dict[str, Path]:
    """Every module, by its name below the package; a package has the name of its folder."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if len(parts) > 1 and parts[-1] == "__init__":
            parts = parts[:-1]
        names[".".join(parts)] = path
    return names


def imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that this one imports, wherever the import stands in it."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    if name == "__init__":
        package = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("ixbackoff") for alias in node.names), path
        if not isinstance(node, ast.ImportFrom):
            continue
        if not node.level:
            assert (node.module or "").split(".")[0] != "ixbackoff", f"{path}: write it relative"
            continue
        base = package[: len(package) - node.level + 1]
        target = ".".join([*base, *(node.module or "").split(".")]).strip(".")
        for alias in node.names:
            inner = f"{target}.{alias.name}".strip(".")
            yield inner if inner in known else target or "__init__"


@cache
def arrows() -> dict[str, set[str]]:
    """Which module imports which."""
    known = modules()
    return {name: set(imported(name, path, known)) for name, path in known.items()}


def test_imports_run_one_way_between_rooms() -> None:
    floors = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
    upwards = {
        f"{name} imports {target}"
        for name, targets in arrows().items()
        for target in targets
        if (here := name.split(".")[0]) != (there := target.split(".")[0])
        and (here, there) not in BESIDE
        and floors[there] >= floors[here]
    }
    assert upwards == set()


def test_no_imports_run_in_a_circle() -> None:
    graph = arrows()
    done: set[str] = set()

    def follow(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name not in done:
            for target in graph[name]:
                follow(target, (*way, name))
            done.add(name)

    for name in graph:
        follow(name, ())


def test_few_modules_lie_flat() -> None:
    flat = [path.name for path in PACKAGE.glob("*.py")]
    assert len(flat) <= 8, flat


def test_each_room_says_in_one_sentence_what_it_holds() -> None:
    for room in PACKAGE.iterdir():
        if room.is_dir() and room.name != "__pycache__":
            said = ast.get_docstring(parsed(room / "__init__.py"))
            assert said, room


SLEEPERS = {"_running/sleeping.py"}
"""The module that may sleep: it is switched in tests."""


def sleeps(node: ast.AST) -> bool:
    """Return true for the name of a sleep, its import, and a wait for an event that never comes."""
    match node:
        case ast.Attribute(attr="sleep" | "sleep_forever"):
            return True
        case ast.Attribute(attr="wait", value=ast.Call(func=called)):
            return ast.unparse(called).rpartition(".")[2] == "Event"
        case ast.ImportFrom(module="time" | "asyncio" | "trio" | "anyio"):
            return any(alias.name.startswith("sleep") for alias in node.names)
        case _:
            return False


def test_one_module_sleeps() -> None:
    sleeping = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(parsed(path))
        if sleeps(node)
    }
    assert sleeping == SLEEPERS
