"""Mutations that no test notices: `python -m tests.support.mutants MINUTES ROOMS...`.

mutmut changes one expression of the rooms after another in a copy of the repository, and runs the
quick tests of its function. A mutation that passes all of them is printed. A room is a folder or a
module of the package: `schedules`, `_limits/deadlines`. Functions with quick tests come first, so
that a run that is cut off has judged as many mutations as it could.

mutmut changes no function with a decorator, and nothing outside of functions.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ("language", "waits", "functions", "observing", "testing")
"""The folders of the tests of rooms without one of their own."""

KEEP_ALIVE = "collector or cycles or outlives or let_go or alive or keeps or imports_random"
"""Tests about what is left in memory: the frames that mutmut puts around functions keep more."""

MUTMUT = [sys.executable, "-m", "mutmut"]


def copied(folder: Path) -> set[str]:
    """Copy the files that git tracks; return the names at the top."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in listed.stdout.split("\0") if name]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return {name.partition("/")[0] for name in names}


def tests_of(room: str) -> list[str]:
    """Return the folders whose tests come to a room: its own, or the core's, and its doctests."""
    folder = room.partition("/")[0]
    own = f"tests/{folder.strip('_')}"
    tests = [own] if (ROOT / own).is_dir() else [f"tests/{name}" for name in CORE]
    return [*tests, f"ixbackoff/{folder}"]


def settings(rooms: list[str], top: set[str]) -> str:
    """Write the table of mutmut in `pyproject.toml`; a list in JSON is one in TOML, too."""
    files = [f"ixbackoff/{room}{'.py' if '/' in room else '/*'}" for room in rooms]
    tests = list(dict.fromkeys(test for room in rooms for test in tests_of(room)))
    words = ["-m", "not slow", "--hypothesis-profile=quick", "-k", f"not ({KEEP_ALIVE})"]
    table: dict[str, object] = {
        "source_paths": ["ixbackoff"],
        "only_mutate": files,
        "also_copy": sorted(top - {"ixbackoff", "tests", "pyproject.toml", ".gitignore"}),
        "pytest_add_cli_args": words,
        "pytest_add_cli_args_test_selection": tests,
        "process_isolation": "forkserver",  # or what one run of the tests leaves is there in others
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    return "\n".join(["", "[tool.mutmut]", *lines, ""])


def mutate(folder: Path, minutes: float) -> None:
    """Run mutmut, and interrupt it after `minutes`; first it runs the tests twice unchanged."""
    with subprocess.Popen([*MUTMUT, "run"], cwd=folder) as process:  # noqa: S603
        try:
            process.wait(60 * minutes)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()


def asked(folder: Path, *words: str) -> str:
    return subprocess.run(  # noqa: S603
        [*MUTMUT, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def report(folder: Path) -> str:
    """Count the mutations by their outcome, and show those that no test noticed."""
    found = re.findall(r"^ +(\S+): (.+)$", asked(folder, "results", "--all", "true"), re.MULTILINE)
    lines: list[str] = []
    for name, state in found:
        if state in ("survived", "no tests"):
            diff = asked(folder, "show", name).splitlines()
            lines += [f"{name}: {state}", *(one for one in diff if re.match("[-+] ", one))]
    counts = Counter(state for _, state in found)
    if counts.keys() <= {"not checked"}:
        raise SystemExit("No mutation was judged: see above which test fails in the copy.")
    return "\n".join([*lines, ", ".join(f"{count} {state}" for state, count in counts.items())])


def main(minutes: str, *rooms: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "ixbackoff"
        top = copied(folder)
        with (folder / "pyproject.toml").open("a") as file:
            file.write(settings(list(rooms), top))
        mutate(folder, float(minutes))
        print(report(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
