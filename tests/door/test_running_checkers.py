"""`ixbackoff check` with real checkers: what is not about programs is as without it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typing_extensions

from ..support.checkers.checked import ROOT, programs
from ..support.checkers.typecheckers import CHECKERS, SCRIPTS, Checker, environment

pytestmark = pytest.mark.slow
HOOKS = ROOT / ".pre-commit-hooks.yaml"
OTHERS = '''"""Names that ixbackoff has too, in a project that has nothing to do with ixbackoff."""

from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Schedule: ...


class Z: ...


class Program(Generic[T, U]):
    def retry(self, effect: Schedule, on: type[Exception] = OSError) -> "Program[T, U]":
        return self

    def run(self, interpreter: int, *, schedule: Schedule, within: float = 1) -> T: ...


class Attempt:
    def then(self, function: int) -> None: ...


def at(rung: type[Z]) -> Program[Z, Z]:
    return Program()


at(3)
at(Z).retry(5, on="503").run("a", schedule=[1], within="5")
at(Z) >> at(Z)
Attempt().retry(3)
Attempt().then(lambda value: 5)
text: str = at(Z)
for line in at(Z):
    print(line)
'''


MIXED = """from collections.abc import Callable

from ixbackoff import N3, Log, at

at(N3).retry(Log("a"))


class Schedule: ...


class Server:
    def run(self, port: int, *, schedule: Schedule, within: float = 1) -> None: ...
    def retry(self, times: int, on: type[Exception] = OSError) -> None: ...
    def map(self, function: Callable[[str], int]) -> None: ...
    def limit(self, seconds: float) -> None: ...
    def call(self, name: str) -> None: ...
    def attempt(self, function: Callable[[int], int]) -> None: ...
    def all_of(self, numbers: list[int]) -> None: ...
    def handled_by(self, handler: Callable[[int], int]) -> None: ...


def call(name: str) -> None: ...
def run(name: str, interpreter: int) -> None: ...
def limit(name: float) -> None: ...


server = Server()
server.run("80", schedule=3, within="5")
server.run(80, stop=True, schedule=Schedule())
server.retry("often", on=ValueError("a"))
server.map(5)
server.map(len, 5)
server.limit("5")
server.call(5)
server.attempt(5)
server.all_of(5)
server.handled_by(5)
server.backoff()
server.wait()
call(5)
call("a", 3)
run(5, "a")
run("a")
limit("5")
chosen: type[Exception] = 5
for one in server:
    print(one)
server | 5
server >> server
"""


def ran(
    words: Sequence[object], folder: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603
        [str(word) for word in words],
        cwd=folder,
        env={**environment(folder), "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        check=False,
    )


def check(*words: object) -> list[object]:
    return [sys.executable, "-m", "ixbackoff", "check", *words]


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
@pytest.mark.parametrize(
    "text",
    [OTHERS, "number = 1\n", "def wrong(:\n"],
    ids=["wrong", "right", "broken"],
)
def test_another_project_is_told_byte_for_byte_the_same(
    checker: Checker, text: str, tmp_path: Path
) -> None:
    name, config = checker.config
    (tmp_path / name).write_text(config)
    (tmp_path / "others.py").write_text(text)
    words = [one for one in checker.arguments if not one.startswith("--output")]
    alone = ran([SCRIPTS / checker.name, *words, "others.py"], tmp_path)
    explained = ran(check("--checker", checker.name, "--", *words, "others.py"), tmp_path)
    assert explained.stdout == alone.stdout
    assert explained.returncode == alone.returncode


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_functions_of_others_that_have_the_same_names_are_left_alone(
    checker: Checker, tmp_path: Path
) -> None:
    """In a file that uses ixbackoff, too."""
    name, config = checker.config
    (tmp_path / name).write_text(config)
    (tmp_path / "mixed.py").write_text(MIXED)
    words = [one for one in checker.arguments if not one.startswith("--output")]
    run = ran(
        check("--checker", checker.name, "--output-format=json", "--", *words, "mixed.py"), tmp_path
    )
    errors = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(errors) >= 20
    assert [error for error in errors if error["explanation"]] == []


@pytest.mark.parametrize("form", ["full", "concise", "github", "json", "sarif"])
def test_a_run_of_mypy_has_its_status_and_its_count(form: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from ixbackoff import at\n\nat(3)\n")
    (tmp_path / "right.py").write_text("from ixbackoff import N3, at\n\nat(N3) >> at(N3)\n")
    options = ["--strict", "--config-file="]
    wrong = ran(check("--output-format", form, *options, "program.py"), tmp_path)
    assert wrong.returncode == 1
    assert b"Found 1 error in 1 file (checked 1 source file)" in wrong.stdout + wrong.stderr
    assert b"not-a-rung" in wrong.stdout
    if form == "json":
        assert json.loads(wrong.stdout)["column"] == 4
    right = ran(check("--output-format", form, *options, "right.py"), tmp_path)
    assert right.returncode == 0
    missing = ran(check("--output-format", form, *options, "missing.py"), tmp_path)
    assert missing.returncode == 2
    assert b"Traceback" not in missing.stderr


def test_each_mistake_in_the_readme_is_said_in_words(tmp_path: Path) -> None:
    [wrong] = programs(ROOT / "README.md", "wrong")
    (tmp_path / "wrong.py").write_text(wrong)
    run = ran(check("--strict", "--config-file=", "wrong.py"), tmp_path)
    codes = ["no-wait-left", "goes-up", "retry-in-a-retry", "open-program", "no-handler"]
    assert [code for code in codes if f"[{code}]" in run.stdout.decode()] == codes
    assert run.stdout.count(b": error: ") == len(wrong.split("\n\n")[2].splitlines())


def test_mypy_runs_plugins_unless_it_reads_no_configuration(tmp_path: Path) -> None:
    """As docs/commands.md says."""
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = plugin.py\n")
    (tmp_path / "plugin.py").write_text(
        "from mypy.plugin import Plugin\n\nopen('ran', 'w').close()\n\n"
        "def plugin(version):\n    return Plugin\n"
    )
    (tmp_path / "program.py").write_text("number = 1\n")
    own = "--cache-dir=cache"  # one with other options would empty that of the other tests
    ran(check(own, "--config-file=", "program.py"), tmp_path)
    assert not (tmp_path / "ran").exists()
    ran(check(own, "program.py"), tmp_path)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("checker", ["pyright", "ty", "zuban", "pyrefly"])
@pytest.mark.parametrize("beside", [None, ".venv"])
def test_a_checker_sees_the_packages_of_the_python_that_runs_check(
    checker: str, beside: str | None, tmp_path: Path
) -> None:
    """Without an activated environment; the scripts of the checkers are elsewhere on the PATH."""
    place, scripts, project = tmp_path / "environment", tmp_path / "bin", tmp_path / "project"
    if beside:
        place = project / beside
    project.mkdir()
    scripts.mkdir()
    (scripts / checker).symlink_to(SCRIPTS / checker)
    ran([sys.executable, "-m", "venv", "--without-pip", place], tmp_path)
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "typing_extensions.py").symlink_to(typing_extensions.__file__)
    (packages / "ixbackoff").symlink_to(ROOT / "ixbackoff")
    (packages / "only_there.py").write_text("number: int = 3\n")
    (project / "program.py").write_text("import only_there\n\ntext: str = only_there.number\n")
    # zuban takes the environment of a checkout that is on PYTHONPATH
    without = ("VIRTUAL_ENV", "PYTHONPATH")
    python = {name: text for name, text in os.environ.items() if name not in without}
    done = subprocess.run(  # noqa: S603
        [place / "bin" / "python", *map(str, check("--checker", checker)[1:]), "program.py"],
        cwd=project,
        env={**python, "PATH": f"{scripts}{os.pathsep}{os.defpath}"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert "str" in done.stdout, told
    assert "esolve" not in done.stdout, told


def test_pyrefly_without_a_configuration_gets_a_preset_that_reports_mistakes(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text("from ixbackoff import at\n\nat(3)\n")
    without = ran(check("--checker=pyrefly", "program.py"), tmp_path)
    assert without.returncode == 1
    assert b"[not-a-rung]" in without.stdout
    assert b"it is started with --preset=default" in without.stderr
    for words in (["--preset=basic"], ["-p", "basic"]):
        chosen = ran(check("--checker=pyrefly", *words, "program.py"), tmp_path)
        assert (chosen.returncode, b"it is started with" in chosen.stderr) == (0, False)
    for name, text in (
        ("pyrefly.toml", 'preset = "basic"\n'),
        ("pyproject.toml", '[tool.pyrefly]\npreset = "basic"\n'),
    ):
        (tmp_path / name).write_text(text)
        configured = ran(check("--checker=pyrefly", "program.py"), tmp_path)
        assert (configured.returncode, b"it is started with" in configured.stderr) == (0, False)
        (tmp_path / name).unlink()


def test_without_files_check_says_what_it_wants(tmp_path: Path) -> None:
    none = ran(check(), tmp_path)
    assert none.returncode == 2
    assert none.stderr.decode().startswith("Nothing to check: give files or folders")


def test_it_is_a_hook_of_pre_commit(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    hooks, project = tmp_path / "hooks", tmp_path / "project"
    script = tmp_path / "bin" / "ixbackoff"  # as pip makes it of pyproject.toml
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nfrom ixbackoff.__main__ import main\nraise SystemExit(main())"
    )
    script.chmod(0o755)
    python = {"PATH": os.pathsep.join([str(script.parent), str(SCRIPTS), os.environ["PATH"]])}
    python |= {"PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    for folder in (hooks, project):
        folder.mkdir()
        ran([git, "init", "-q"], folder)
    shutil.copy(HOOKS, hooks)
    committed(git, hooks)
    revision = ran([git, "rev-parse", "HEAD"], hooks).stdout.decode().strip()
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: ixbackoff-check\n"
        "    args: [--strict]\n"
    )
    (project / "program.py").write_text("from ixbackoff import at\n\nat(3)\n")
    (project / "notes.txt").write_text("at(3)\n")
    committed(git, project)
    run = ran([sys.executable, "-m", "pre_commit", "run", "--all-files"], project, python)
    told = run.stdout.decode() + run.stderr.decode()
    assert run.returncode == 1, told
    assert "program.py:3: error: A rung is one of N0 to N20" in told
    (project / "program.py").write_text("from ixbackoff import N3, at\n\nat(N3)\n")
    run = ran([sys.executable, "-m", "pre_commit", "run", "--all-files"], project, python)
    assert run.returncode == 0, run.stdout + run.stderr


def committed(git: str, folder: Path) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    ran([git, "add", "-A"], folder)
    done = ran([git, *name, "commit", "-q", "-m", "all"], folder)
    assert done.returncode == 0, done.stderr
