"""Run a type checker over many files in one process, and report the lines with errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

SCRIPTS = Path(sys.executable).parent
CACHE = "MYPY_CACHE_DIR"
"""Where mypy keeps its cache, unless an option says otherwise."""

Errors: TypeAlias = list[tuple[int, str]]
"""The errors in one file, sorted: (line, code)."""

Report: TypeAlias = dict[Path, Errors]
"""The errors in each file that was checked, also in files without any."""


class StoppedEarly(Exception):
    """A checker did not check everything, so its silence means nothing."""


@dataclass(frozen=True)
class Found:
    """An error as a checker reports it."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class Checker:
    """A type checker that sees no configuration but its own.

    Attributes:
        arguments: the arguments before the files; they name `config`.
        config: the name and the text of its configuration file.
        read: a function that reads its errors from its output about so many files.
    """

    name: str
    arguments: tuple[str, ...]
    config: tuple[str, str]
    read: Callable[[str, int], list[Found]]

    def run(self, files: Sequence[Path], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run it over `files`, in `folder`, and capture its output.

        Configuration outside of `folder` changes nothing: not that of a parent folder, of the home
        directory, or of the environment.
        """
        name, text = self.config
        (folder / name).write_text(text)
        return subprocess.run(  # noqa: S603
            [SCRIPTS / self.name, *self.arguments, *files],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=False,
        )

    def check(self, files: Sequence[Path], folder: Path) -> Report:
        """Check `files` in one process that works in `folder`, which may hold its cache.

        One more file holds nothing but an error, so that a checker that stopped early, or was told
        to report nothing, is found out.

        Raises:
            StoppedEarly: it crashed, or did not look at every file.
        """
        folder.mkdir(exist_ok=True)
        canary = folder / "canary_of_the_test.py"
        canary.write_text('canary: int = "sings"\n')
        checked = [*files, canary]
        run = self.run(checked, folder)
        told = f"{self.name}, exit status {run.returncode}\n{run.stdout[:2000]}{run.stderr[:2000]}"
        if run.returncode not in (0, 1):
            raise StoppedEarly(told)
        try:
            found = self.read(run.stdout, len(checked))
        except (ValueError, LookupError) as error:
            raise StoppedEarly(f"{error!r}: {told}") from error
        report: Report = {file.resolve(): [] for file in checked}
        for one in found:
            file = (folder / one.file).resolve()
            if file not in report:
                raise StoppedEarly(f"an error in {file}, which was not to be checked: {told}")
            report[file].append((one.line, one.code))
        if len(report.pop(canary.resolve())) != 1:
            raise StoppedEarly(f"the canary's error was not reported once: {told}")
        return {file: sorted(errors) for file, errors in report.items()}


def environment(home: Path) -> dict[str, str]:
    """The environment of this process with another home, without variables for checkers.

    But for the folder of mypy's cache, which all tests share.
    """
    checkers = ("MYPY", "PYRIGHT_", "TY_", "ZUBAN", "PYREFLY_", "XDG_CONFIG_")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(checkers)}
    shared = {CACHE: os.environ[CACHE]} if CACHE in os.environ else {}
    return {**kept, **shared, "HOME": str(home)}


def read_mypy(text: str, files: int) -> list[Found]:
    """Read the output of mypy, or of zuban, which prints the same."""
    *lines, summary = text.splitlines()
    if f"checked {files} source files" not in summary:
        raise ValueError(f"not all of {files} files were checked")
    return read_lines(
        lines, r"(?P<file>.+?):(?P<line>\d+): error: .*  \[(?P<code>[a-z-]+)\]", "note"
    )


def read_ty(text: str, files: int) -> list[Found]:
    """Read the concise output of ty."""
    *lines, summary = text.splitlines()
    if summary not in (f"Found {len(lines)} diagnostics", f"Found {len(lines)} diagnostic"):
        raise ValueError("not every diagnostic is a line")
    error = r"(?P<file>.+?):(?P<line>\d+):\d+: error\[(?P<code>[a-z-]+)\] .*"
    return read_lines(lines, error, "warning")


def read_lines(lines: Sequence[str], error: str, harmless: str) -> list[Found]:
    """Read one error a line; other lines have to be of a harmless kind."""
    found = []
    for line in lines:
        match = re.fullmatch(error, line)
        if match is not None:
            found.append(Found(match["file"], int(match["line"]), match["code"]))
        elif f": {harmless}" not in line:
            raise ValueError(f"this line was not understood: {line}")
    return found


def read_pyright(text: str, files: int) -> list[Found]:
    """Read the JSON of pyright, which counts lines from 0."""
    told = json.loads(text)
    if told["summary"]["filesAnalyzed"] != files:
        raise ValueError(f"not all of {files} files were checked")
    return [
        Found(error["file"], error["range"]["start"]["line"] + 1, error.get("rule", "syntax"))
        for error in told["generalDiagnostics"]
        if error["severity"] == "error"
    ]


def read_pyrefly(text: str, files: int) -> list[Found]:
    """Read the JSON of pyrefly."""
    return [
        Found(error["path"], error["line"], error["name"])
        for error in json.loads(text)["errors"]
        if error["severity"] == "error"
    ]


MYPY = Checker(
    "mypy",
    ("--config-file=mypy.ini", "--no-pretty", "--no-color-output"),
    ("mypy.ini", "[mypy]\nstrict = True\n"),
    read_mypy,
)
PYRIGHT = Checker(
    "pyright",
    ("--project=pyrightconfig.json", "--outputjson", f"--pythonpath={sys.executable}"),
    ("pyrightconfig.json", "{}\n"),
    read_pyright,
)
TY = Checker(
    "ty",
    (
        "check",
        "--project=.",
        "--config-file=ty.toml",
        "--output-format=concise",
        "--color=never",
        f"--python={sys.executable}",
    ),
    ("ty.toml", ""),
    read_ty,
)
ZUBAN = Checker(
    "zuban",
    ("mypy", "--config-file=zuban.ini", f"--python-executable={sys.executable}"),
    ("zuban.ini", "[mypy]\nstrict = True\n"),
    read_mypy,
)
PYREFLY = Checker(
    "pyrefly",
    (
        "check",
        "--config=pyrefly.toml",
        "--output-format=json",
        "--summary=none",
        f"--python-interpreter-path={sys.executable}",
    ),
    ("pyrefly.toml", 'preset = "default"\n'),  # without a preset it reports nothing
    read_pyrefly,
)
CHECKERS = (MYPY, PYRIGHT, TY, ZUBAN, PYREFLY)
