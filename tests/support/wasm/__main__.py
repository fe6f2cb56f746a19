"""Run the tests that need no sockets, threads or processes on the Python of the playground."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[3]
BUILD = ROOT / "build" / "next"
PACKAGES = ("anyio", "hypothesis", "pytest", "trio", "typing-extensions")
"""What the tests import, in the versions that are installed here."""

PLATFORM = ("--platform=pyemscripten_2026_0_wasm32", "--python-version=3.14", "--abi=cp314")
TESTS = ("language", "waits", "functions", "proof", "exploring", "testing", "fleet", "experiments")


def main(words: list[str]) -> int:
    """Get what is needed, and run pytest in node with these arguments; its exit status."""
    node = shutil.which("node")
    if node is None:
        print("The tests on Python 3.14 need node and npm.", file=sys.stderr)
        return 1
    playground = ROOT / "docs" / "_site" / "playground.py"
    subprocess.run([sys.executable, playground, BUILD / "playground"], check=True)  # noqa: S603
    deep = 'ulimit -s unlimited; exec "$@"'  # a million steps are freed by recursion in C
    folders = [str(ROOT / "tests" / folder) for folder in TESTS]
    given = [word.replace(str(ROOT), "/repo") for word in words or folders]
    script = Path(__file__).with_name("run.mjs")
    places = [BUILD / "playground" / "pyodide", packages(BUILD / "packages"), ROOT]
    command: list[str | Path] = [node, "--stack-size=60000", script, *places, *given]
    return subprocess.run(["/bin/sh", "-c", deep, "sh", *command], check=False).returncode  # noqa: S603


def packages(folder: Path) -> Path:
    """Install packages for that Python into a folder."""
    wanted = [f"{name}=={version(name)}" for name in PACKAGES]
    mark = folder / "installed"
    if not mark.exists() or mark.read_text().split() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        options = ["--only-binary=:all:", "--implementation=cp", *PLATFORM, f"--target={folder}"]
        subprocess.run([*pip, *options, *wanted], check=True)  # noqa: S603
        mark.write_text("\n".join(wanted))
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
