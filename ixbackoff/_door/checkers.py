"""The five type checkers: their options, and their processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import NamedTuple


class Checker(NamedTuple):
    commands: tuple[str, ...] = ()  # its subcommands; the first is the default
    plainly: tuple[str, ...] = ()  # options to print each error in one line, with its column


LINES = ("--no-pretty", "--show-column-numbers", "--no-color-output", "--show-error-codes")
CHECKERS = {
    "mypy": Checker(plainly=LINES),
    "pyright": Checker(),
    "ty": Checker(("check",), ("--output-format=concise", "--color=never")),
    "zuban": Checker(("check", "mypy"), ("--no-pretty", "--show-column-numbers")),
    "pyrefly": Checker(("check",), ("--output-format=min-text", "--color=never")),
}


class NotChecked(Exception):
    """A checker is not installed, or has no files to check."""


def command(name: str, words: list[str], plainly: bool) -> list[str]:
    """Return the words that start a checker; raise NotChecked if it is not installed."""
    script = found(name)
    if script is None:
        others = [other for other in CHECKERS if found(other)]
        instead = f", or write --checker {others[0]}" if others else ""
        raise NotChecked(f"{name} is not installed: pip install {name}{instead}.")
    checker = CHECKERS[name]
    first = list(checker.commands[:1])
    if words and words[0] in checker.commands:
        first, words = words[:1], words[1:]
    given = {word.partition("=")[0] for word in words}
    more = [one for one in checker.plainly if plainly and one.partition("=")[0] not in given]
    if name == "pyrefly" and not pyrefly_configured(given):
        print(
            "pyrefly has no configuration of its own here, so it could hide most mistakes: it is "
            "started with --preset=default.",
            file=sys.stderr,
        )
        more.append("--preset=default")
    return [script, *first, *more, *words]


def pyrefly_configured(given: set[str]) -> bool:
    if given & {"-c", "--config", "-p", "--preset"}:
        return True
    here = Path.cwd()
    for folder in here, *here.parents:
        project = folder / "pyproject.toml"
        if (folder / "pyrefly.toml").exists():
            return True
        if project.is_file() and b"[tool.pyrefly" in project.read_bytes():
            return True
    return False


def activated(environment: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables with which a checker finds the packages of this Python.

    An environment that the user has activated takes precedence, and so does the folder `.venv` of a
    project. The configuration of a checker can name another Python.
    """
    if environment.keys() & {"VIRTUAL_ENV", "CONDA_PREFIX"}:
        return {**environment}
    beside = Path(".venv")
    if beside.is_dir() and beside.resolve() != Path(sys.prefix).resolve():
        return {**environment}
    path = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    if sys.prefix == sys.base_prefix:
        return {**environment, "PATH": path}
    return {**environment, "PATH": path, "VIRTUAL_ENV": sys.prefix}


def found(name: str) -> str | None:
    return which(name, path=str(Path(sys.executable).parent)) or which(name)


def output(words: list[str]) -> tuple[bytes, int]:
    """Run a checker; return its output and its exit status. Its standard error goes to ours."""
    alone = len(words) == 1
    errors = subprocess.PIPE if alone else None
    done = subprocess.run(  # noqa: S603
        words, stdout=subprocess.PIPE, stderr=errors, env=activated(os.environ), check=False
    )
    if alone and done.stderr.startswith(b"usage:"):
        raise NotChecked("Nothing to check: give files or folders, as in `ixbackoff check src`.")
    if alone:
        sys.stderr.buffer.write(done.stderr)
    status = done.returncode
    return done.stdout, status if status >= 0 else 128 - status
