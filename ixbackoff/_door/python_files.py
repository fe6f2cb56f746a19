"""The Python files that `check` and `audit` read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

SKIPPED = ("site-packages", "node_modules", "__pycache__")
NOT_AUDITED = re.compile(
    r"(^|/)(tests?|testing|test_[^/]*|[^/]*_tests?\.py|conftest\.py|examples?|docs?|benchmarks?"
    r"|build|dist|venv)(/|$)"
)


def python_files(words: list[str]) -> Iterator[tuple[Path, Path]]:
    """Yield Python files with their import roots: a given folder, or the folder of a given file."""
    for path in map(Path, words):
        if path.suffix == ".py" and path.is_file():
            yield path, path.parent
        elif path.is_dir():
            for file in sorted(path.rglob("*.py")):
                inner = file.relative_to(path).parts
                left_out = any(part.startswith(".") or part in SKIPPED for part in inner)
                if not left_out and file.is_file():  # not a broken link or a pipe
                    yield file, path


def audited_files(paths: Iterable[Path], *, tests: bool) -> Iterator[tuple[Path, Path]]:
    """Yield the files as `python_files` does; without `tests`, leave out tests, docs and such."""
    for file, root in python_files([*map(str, paths)]):
        if tests or not NOT_AUDITED.search(file.relative_to(root).as_posix()):
            yield file, root
