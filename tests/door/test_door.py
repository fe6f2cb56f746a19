"""`python -m ixbackoff`: says what there is, and passes on to the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ixbackoff
from ixbackoff.__main__ import COMMANDS, main

PACKAGE = Path(ixbackoff.__file__).parent


def test_alone_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    alone = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == alone
    assert all(f"\n  {name} " in alone for name in COMMANDS)


def test_every_command_is_a_module_that_is_there() -> None:
    for module, _ in COMMANDS.values():
        assert PACKAGE.joinpath(*module.split(".")).with_suffix(".py").is_file()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("chek", "chek is not a command: did you mean check?"),
        ("x", f"x is not a command: give one of {', '.join(COMMANDS)}."),
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


def test_a_module_is_imported_when_its_command_is_used() -> None:
    code = (
        "import sys; from ixbackoff.__main__ import main; main([])\n"
        "rooms = ('ixbackoff._door', 'ixbackoff.fleet', 'ixbackoff.squirrel')\n"
        "assert not [name for name in sys.modules if name.startswith(rooms)]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603


def test_a_closed_pipe_is_not_a_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "ixbackoff"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1
