"""CPU time of `ixbackoff check` over that of the type checker that it runs."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import ixbackoff
from tests.support.checkers.checked import ROOT, as_users_see_it
from tests.support.checkers.typecheckers import (
    CACHE,
    CHECKERS,
    MYPY,
    SCRIPTS,
    Checker,
    environment,
)

from .measuring import Target

ROUNDS = 9
FEW_ROUNDS = 3
MOST = 2
ONE_ERROR = "from ixbackoff import at\n\nat(3)\n"


class Project(NamedTuple):
    """Files that are checked together."""

    name: str
    files: dict[str, str]


class Costs(NamedTuple):
    """The CPU seconds of a checker, and of `check` with it, in turns."""

    alone: list[float]
    explained: list[float]

    @property
    def ratio(self) -> float:
        return median(more / less for less, more in zip(self.alone, self.explained, strict=True))

    def __str__(self) -> str:
        return f"{median(self.explained):.2f} s and {median(self.alone):.2f} s"


def cases(kind: str) -> dict[str, str]:
    """Read the cases of a kind for type checkers: `accept` or `reject`."""
    folder = ROOT / "typecheck_cases" / kind
    return {file.name: file.read_text() for file in sorted(folder.glob("*.py"))}


PROJECTS = (
    Project("a project without errors", cases("accept")),
    Project("a file with one error", {"wrong.py": ONE_ERROR}),
    Project("a project with 700 errors", cases("reject")),
)


def cpu_seconds(words: Sequence[object], folder: Path) -> float:
    """Run a command that may find errors, and return the user and system time that it took."""
    process = subprocess.Popen(  # noqa: S603
        [str(word) for word in words],
        cwd=folder,
        env={**environment(folder), CACHE: "mypy_cache", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{words[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def costs(
    checker: Checker, project: Project, rounds: int, before: Callable[[Path], object]
) -> Costs:
    """Measure a checker with and without `check`; `before` is called before each of the two."""
    words = as_users_see_it(checker).arguments
    with TemporaryDirectory() as name:
        folder = Path(name)
        config, text = checker.config
        (folder / config).write_text(text)
        for file, source in project.files.items():
            (folder / file).write_text(source)
        check = [sys.executable, "-m", "ixbackoff", "check", "--checker", checker.name, "--"]
        taken = Costs([], [])
        ways = ([SCRIPTS / checker.name], taken.alone), (check, taken.explained)
        for turn in range(rounds + 1):
            for command, times in ways:
                before(folder)
                seconds = cpu_seconds([*command, *words, *sorted(project.files)], folder)
                if turn:  # the first turn fills the cache
                    times.append(seconds)
    return taken


def unchanged(folder: Path) -> None:
    """Leave mypy's cache as it is."""


def without_cache(folder: Path) -> None:
    shutil.rmtree(folder / "mypy_cache", ignore_errors=True)


def targets() -> list[Target]:
    compileall.compile_dir(Path(ixbackoff.__file__).parent, quiet=2)
    found: list[Target] = []
    for cache, rounds, before in (
        ("filled", ROUNDS, unchanged),
        ("empty", FEW_ROUNDS, without_cache),
    ):
        for project in PROJECTS:
            cost = costs(MYPY, project, rounds, before)
            what = f"check over mypy, {project.name}, {cache} cache"
            found.append(Target(what, cost.ratio, MOST, False, str(cost)))
    return found


def table() -> str:
    """Make a table of the ratios of the checkers other than mypy, which have no bounds."""
    rows = [["", *(project.name for project in PROJECTS)], ["---"] + ["---:"] * len(PROJECTS)]
    for checker in CHECKERS:
        if checker is not MYPY:
            taken = [costs(checker, project, FEW_ROUNDS, unchanged) for project in PROJECTS]
            rows.append([checker.name, *(f"{cost.ratio:.2f} ({cost})" for cost in taken)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def main() -> None:
    for target in targets():
        print(target, flush=True)
    print(f"\n{table()}")


if __name__ == "__main__":
    main()
