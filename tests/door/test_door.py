"""`ixbackoff`, and `python -m ixbackoff`: one door to all commands, which imports little."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ixbackoff
from ixbackoff.__main__ import main
from ixbackoff._door.subcommands import SUBCOMMANDS

from ..support.checkers.checked import ROOT
from ..support.processes import Child

PACKAGE = Path(ixbackoff.__file__).parent


def test_alone_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    alone = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == alone
    assert all(f"\n  {name} " in alone for name in SUBCOMMANDS)


def test_its_help_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", ["check", "plan", "run"])
def test_the_help_says_that_code_runs(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert ("plugins" if command == "check" else "is imported") in said
    assert "only code that you trust" in said


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ixbackoff {ixbackoff.__version__}\n"


def test_it_is_the_only_script() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"ixbackoff": "ixbackoff.__main__:main"}
    extras = {command.extra for command in SUBCOMMANDS.values()} - {""}
    assert extras <= set(project["optional-dependencies"])


def test_every_command_is_a_module_that_is_there() -> None:
    for command in SUBCOMMANDS.values():
        assert PACKAGE.joinpath(*command.module.split(".")).with_suffix(".py").is_file()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("chek", "chek is not a command: did you mean check?"),
        ("x", f"x is not a command: give one of {', '.join(SUBCOMMANDS)}."),
    ],
)
def test_what_is_not_a_command_is_told_in_one_sentence(
    wrong: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([wrong]) == 2
    assert capsys.readouterr().err == f"{said}\n"


def test_the_words_behind_a_command_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "no-such-experiment"]) == 2
    assert capsys.readouterr().err.startswith("no-such-experiment is not a command.")


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )


def test_a_module_is_imported_when_its_command_is_used() -> None:
    done = python(
        "import sys; from ixbackoff.__main__ import main; main([])\n"
        "rooms = ('_door', 'live', 'fleet', 'squirrel', 'durable', 'testing', 'plotting')\n"
        "print(*[name for name in sys.modules if name.startswith(tuple(f'ixbackoff.{room}' for "
        "room in rooms))], file=sys.stderr)\n"
    )
    assert done.stderr.split() == ["ixbackoff._door", "ixbackoff._door.subcommands"]


@pytest.mark.parametrize(
    ("words", "package", "said"),
    [
        (["durable", "runs"], "dbos", ".[durable]"),
        (["squirrel", "--demo"], "obstore", ".[squirrel]"),
        (["plot"], "matplotlib", ".[plot]"),
        (["completion", "bash"], "shtab", ".[completion]"),
    ],
)
def test_a_missing_extra_is_named(
    words: list[str], package: str, said: str, tmp_path: Path
) -> None:
    done = python(
        f"import os, sys; os.chdir({str(tmp_path)!r})\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {package!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "open('runs.sqlite', 'w').close()\n"
        "from ixbackoff.__main__ import main\n"
        f"sys.exit(main({words!r}))\n"
    )
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert f"pip install '{said}'" in line
    assert package in line


def test_a_closed_pipe_is_not_a_traceback() -> None:
    with Child(
        [sys.executable, "-m", "ixbackoff"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
