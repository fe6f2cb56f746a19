"""The playground of the site: the library, in Python, in the browser.

As a Sphinx extension, this module puts the playground beside the pages; `python playground.py
FOLDER` puts it into a folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.application import Sphinx

PYODIDE = "pyodide@314.0.7"
"""The version of Pyodide on npm; its Python is 3.14."""

SUM = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
OURS = Path(__file__).with_name("playground")
ROOT = Path(__file__).parents[2]
WIDGET = "widget.html"


class Missing(Exception):
    """The reason why the playground cannot be built here."""


def run(*words: object) -> None:
    """Run a program.

    Raises:
        Missing: the program is not installed, or it fails.
    """
    given = [str(word) for word in words]
    try:
        done = subprocess.run(given, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise Missing(f"{given[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        raise Missing(f"{' '.join(given[:3])} failed: {done.stderr.strip() or done.stdout.strip()}")


def pyodide(folder: Path) -> None:
    """Get Pyodide from npm.

    Raises:
        Missing: npm is not installed, or cannot download Pyodide.
    """
    mark = folder / PYODIDE
    if mark.exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("npm is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with TemporaryDirectory() as name:
        run(npm, "pack", PYODIDE, "--silent", "--prefer-offline", "--pack-destination", name)
        [packed] = Path(name).iterdir()
        if sha256(packed.read_bytes()).hexdigest() != SUM:
            raise Missing(f"the checksum of {PYODIDE} from npm has changed")
        with tarfile.open(packed) as archive:
            for file in FILES:
                read = archive.extractfile(f"package/{file}")
                assert read is not None
                (folder / file).write_bytes(read.read())
    mark.touch()


def build(folder: Path) -> None:
    """Put the playground into a folder: Pyodide, the wheels and the files of the page.

    Raises:
        Missing: the playground cannot be built here.
    """
    pyodide(folder / "pyodide")
    for old in folder.glob("*.whl"):
        old.unlink()
    alone = ["--no-build-isolation"] if find_spec("hatchling") else []
    quiet = ["--quiet", "--disable-pip-version-check", *alone]
    run(sys.executable, "-m", "pip", "wheel", *quiet, "--wheel-dir", folder, ROOT)
    wheels = sorted(file.name for file in folder.glob("*.whl"))
    (folder / "wheels.json").write_text(json.dumps(wheels))
    for file in OURS.iterdir():
        if file.suffix in (".mjs", ".css", ".py"):
            shutil.copy(file, folder)


def prepare(app: Sphinx) -> None:
    """Build the playground before Sphinx reads the pages, or print why not."""
    folder = app.outdir / "playground"
    try:
        build(folder)
    except Missing as why:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"The site is built without its playground: {why}.")


def make_editable(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the program of the page editable, if the playground was built."""
    if page == "playground" and (app.outdir / "playground" / "wheels.json").exists():
        before, _, rest = source[0].partition("```python\n")
        program, _, after = rest.partition("```\n")
        widget = (OURS / WIDGET).read_text().replace("PROGRAM", escape(program))
        source[0] = f"{before}````{{raw}} html\n{widget}````\n{after}"


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", prepare)
    app.connect("source-read", make_editable)


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except Missing as why:
        sys.exit(f"The playground cannot be built: {why}.")
