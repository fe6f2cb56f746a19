"""What is released: a wheel and a source archive, and a wheel that runs where nothing else is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest

import ixbackoff

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def ran(words: Sequence[object], folder: Path) -> str:
    """Run a command with none of our paths, and return what it prints."""
    done = subprocess.run(  # noqa: S603
        [str(word) for word in words],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, and the wheel that is built of it, as `python -m build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    ran([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"ixbackoff-{ixbackoff.__version__}-py3-none-any.whl"


def test_the_wheel_has_the_package_its_plugin_and_no_tests(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    assert {"ixbackoff/py.typed", "ixbackoff/_door/mistakes.md", "_ixbackoff_pytest.py"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {
        "ixbackoff",
        "_ixbackoff_pytest.py",
        wheel.name[: wheel.name.index("-py3")] + ".dist-info",
    }
    modules = {
        f"ixbackoff/{path.relative_to(ROOT / 'ixbackoff')}"
        for path in (ROOT / "ixbackoff").rglob("*.py")
    }
    assert {
        name for name in names if name.startswith("ixbackoff/") and name.endswith(".py")
    } == modules


def test_the_archive_has_all_that_is_needed_to_test_and_to_build_the_site(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    needed = {"README.md", "CHANGELOG.md", "LICENSE", "Makefile", "noxfile.py", "pyproject.toml"}
    needed |= {"docs/conf.py", "docs/mistakes.md", "docs/proof/P1.agda", "tests/conftest.py"}
    needed |= {"benchmarks/__main__.py", ".pre-commit-hooks.yaml"}
    assert needed <= names
    assert not [
        name for name in names if "__pycache__" in name or name.startswith((".ci", "build"))
    ]


def test_the_wheel_runs_the_shortest_program_in_an_empty_environment(
    wheel: Path, tmp_path: Path
) -> None:
    """Empty but for typing-extensions, which comes from our environment: nothing is fetched."""
    venv.create(tmp_path / "empty", symlinks=True)
    python = tmp_path / "empty" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    ran([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel], tmp_path)
    [packages] = (tmp_path / "empty").glob("lib/python*/site-packages")
    for file in distribution("typing_extensions").files or []:
        if "__pycache__" not in file.parts:
            (packages / file).parent.mkdir(exist_ok=True)
            shutil.copy(str(file.locate()), packages / file)
    ran([*pip, "check"], tmp_path)
    readme = (ROOT / "README.md").read_text().partition("## The shortest program")[2]
    [program] = re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[:1]
    [shown] = re.findall(r"^```text\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[:1]
    (tmp_path / "shortest.py").write_text("from ixbackoff import N3\n" + program)
    assert ran([python, "shortest.py"], tmp_path) == shown
    assert (
        ran([python, "-c", "import ixbackoff; print(ixbackoff.__version__)"], tmp_path)
        == f"{ixbackoff.__version__}\n"
    )
    assert ran([python, "-m", "ixbackoff", "explain"], tmp_path).startswith("no-wait-left")


def test_the_changelog_begins_with_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (\S+?),? ", changes, re.MULTILINE)[0] == ixbackoff.__version__
