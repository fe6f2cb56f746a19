"""Questions about source files that their syntax trees answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file; it does not change while tests run."""
    return ast.parse(path.read_text())


def lengths(folder: Path) -> dict[str, int]:
    """Count the lines of each function below a folder, without its docstring."""
    return {
        f"{path.relative_to(folder)}: {node.name}": lines_of(node)
        for path in folder.rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def imports(path: Path, root: Path) -> Iterator[str]:
    """List the names that a file below `root` imports, wherever in the file.

    `from package import name` imports `package.name`, whether it is a module or not.
    """
    package = path.relative_to(root).parent.parts
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = [*above, *filter(None, [node.module])]
            yield from (".".join([*module, alias.name]) for alias in node.names)
