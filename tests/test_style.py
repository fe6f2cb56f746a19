"""The package is clean under mypy strict, pyright strict and ruff."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMMANDS = {
    "ruff check": ["ruff", "check", "--no-cache", "."],
    "ruff format": ["ruff", "format", "--no-cache", "--check", "."],
    "mypy": ["mypy", "--cache-dir={cache}"],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
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
        "assert not {'asyncio', 'logging', 'dataclasses', 'httpx2'} & new, new\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_what_is_sealed_is_sealed_in_few_places() -> None:
    ignores = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "ixbackoff").rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "type: ignore" in line or "cast(" in line or "pyright: ignore" in line
    ]
    assert ignores == []


def test_no_module_has_grown_past_one_idea() -> None:
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in (ROOT / "ixbackoff").rglob("*.py")
    }
    assert {path: size for path, size in sizes.items() if size > 310} == {}


HOUSE = (
    ("nat", "commands", "timings"),
    ("failures", "algebra", "vocabulary", "calls", "chains"),
    ("schedules", "steps", "replay", "nesting", "tokens"),
    ("deadlines", "endings", "published", "polling"),
    ("runs", "budgets", "shortening"),
    ("semantics", "eventloops"),
    ("together", "attempts"),
    ("loops",),
    ("programs", "planning", "plain", "blocks"),
    ("callers", "commandline"),
    ("retrying",),
    ("live", "testing", "plotting"),
    ("squirrel", "fleet"),
)
"""The floors of the house, from the ground: a module imports from floors below its own."""


def test_imports_run_one_way() -> None:
    floors = {name: floor for floor, names in enumerate(HOUSE) for name in names}
    package = ROOT / "ixbackoff"
    upwards: list[str] = []
    for path in package.rglob("*.py"):
        place = path.relative_to(package)
        room = place.parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        dots = len(place.parts)  # a relative import with so many dots comes from the package itself
        imports = rf"^\s*from \.{{{dots}}}(\w+)[\w.]* import"
        upwards += [
            f"{place} imports {module}"
            for module in re.findall(imports, path.read_text(), re.MULTILINE)
            if floors[module] >= floors[room]
        ]
    assert upwards == []
