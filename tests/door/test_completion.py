"""`ixbackoff completion`: real shells complete commands, options, choices and files with it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from shutil import which

import pytest

from ixbackoff.__main__ import main
from ixbackoff._argument_parser import parser_of
from ixbackoff._door import completion
from ixbackoff._door.mistake_pages import pages
from ixbackoff._door.subcommands import SUBCOMMANDS

from ..support.checkers.checked import ROOT

CHECKERS = {"mypy", "pyright", "ty", "zuban", "pyrefly"}
BASH = """
source completion
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_ixbackoff
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit; compinit -u -D; eval \\"\\$(<completion)\\"; print rea''dy"
zpty -r -m shell seen '*ready*'
zpty -w -n shell "ixbackoff $1"$'\\t\\t'
zpty -r -m shell seen "*$2*"
zpty -d shell
"""
"""It ends once a shell in a pseudo-terminal shows the second argument behind the first."""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each shell, with its script in the file `completion`."""
    folders = {shell: tmp_path_factory.mktemp(shell) for shell in completion.SHELLS}
    for shell, folder in folders.items():
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "ixbackoff", "completion", shell],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        (folder / "completion").write_text(done.stdout)
        (folder / "jobs.py").touch()
    return folders


def needed(shell: str) -> str:
    """The path of a shell, or the reason why its test is skipped."""
    path = which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed: its script is not tried")
    return path


def completed(folder: Path, *words: str) -> set[str]:
    """What bash offers for the last word of `ixbackoff WORDS`."""
    done = subprocess.run(  # noqa: S603
        [needed("bash"), "--norc", "-c", BASH, "bash", "ixbackoff", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_commands(scripts: dict[str, Path]) -> None:
    assert completed(scripts["bash"], "") >= set(SUBCOMMANDS)
    assert completed(scripts["bash"], "pl") == {"plan", "plot"}
    assert completed(scripts["bash"], "--v") == {"--version"}


@pytest.mark.parametrize("name", ["check", "explain", "plan", "run", "squirrel", "plot"])
def test_bash_completes_all_options(name: str, scripts: dict[str, Path]) -> None:
    parser = parser_of(import_module(f"ixbackoff.{SUBCOMMANDS[name].module}").main)
    options = {one for action in parser._actions for one in action.option_strings if "--" in one}
    assert completed(scripts["bash"], name, "--") == options


def test_bash_completes_inside_of_a_command(scripts: dict[str, Path]) -> None:
    folder = scripts["bash"]
    assert "simulate" in completed(folder, "fleet", "")
    assert "--clients" in completed(folder, "fleet", "simulate", "--c")
    assert completed(folder, "durable", "ca") == {"cancel"}
    assert {"--store", "--durable"} <= completed(folder, "squirrel", "--")


def test_bash_completes_choices_codes_and_files(scripts: dict[str, Path]) -> None:
    folder = scripts["bash"]
    assert completed(folder, "check", "--checker", "") == CHECKERS
    assert completed(folder, "explain", "goes") == {"goes-up"}
    assert set(pages()) <= completed(folder, "explain", "")
    assert completed(folder, "plan", "jo") == {"jobs.py"}
    assert completed(folder, "check", "jo") == {"jobs.py"}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("", "squirrel *-- "),
        ("plan --out", "put-format"),
        ("fleet sim", "ulate"),
        ("check --checker ", "pyrefly"),
        ("explain goes", "-up"),
        ("plan jo", "bs.py"),
    ],
)
def test_zsh_completes(words: str, shown: str, scripts: dict[str, Path]) -> None:
    subprocess.run(  # noqa: S603
        [needed("zsh"), "-f", "-c", ZSH, "zsh", words, shown],
        cwd=scripts["zsh"],
        check=True,
        timeout=30,
    )


def test_another_shell_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "fish"])
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "bash" in line
    assert "zsh" in line
