"""The commands that a program issues, as far as the source shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .printed import members, split, with_names
from .sources import Source, lines_of
from .wordings import RUNS

WAITS = ("backoff", "wait")
REPEATED = ("retry", "resume")
PERFORMS = ("do", "or_else")
NOTHING = ("skip", "end", "named", "map")
OF_THE_STEP = {"limit": ["Now"]} | {step: ["Delay"] for step in (*WAITS, *REPEATED)}
ROW = {"Program": 3, "Attempt": 0, "Do": 0}  # the position of the commands among a type's arguments


def issued_when_joined(source: Source, line: int) -> list[str] | None:
    """List the commands of the program that a line runs with joined handlers, as in `a | b`.

    Return `None` if they are unknown, or if the line does not run exactly one such program.
    """
    found = [
        node.func.value
        for node, name in source.calls[line]
        if name in RUNS and isinstance(node.func, ast.Attribute)
        if node.args and isinstance(node.args[0], ast.BinOp)
    ]
    return issued(source, found[0]) if len(found) == 1 else None


def issued(source: Source, node: ast.expr, deep: int = 50) -> list[str] | None:
    """List the commands of a program, an attempt or a command; `None` if they are unknown."""
    return together(added(source, step, call, deep) for step, call in source.steps(node))


def added(source: Source, step: str, node: ast.expr, deep: int) -> list[str] | None:
    """List the commands that a step adds to a chain; `step` is "" for the chain's beginning."""
    if not (deep and isinstance(node, ast.Call)):
        return None
    effects = [issued(source, one, deep - 1) for one in node.args[:1]]
    if isinstance(node.func, ast.Name):
        name = node.func.id
        known: dict[str, list[str] | None] = {"at": [], "do": together(effects)}
        return known[name] if name in known else declared(source, name)
    if step not in (*OF_THE_STEP, *PERFORMS, *NOTHING):
        return None
    more = effects if step in (*REPEATED, *PERFORMS) else []
    return together([*more, OF_THE_STEP.get(step, [])])


def together(rows: Iterable[list[str] | None]) -> list[str] | None:
    """Join rows, without repetitions; `None` if one of them is unknown."""
    found: dict[str, None] = {}
    for row in rows:
        if row is None:
            return None
        found |= dict.fromkeys(row)
    return list(found)


def declared(source: Source, name: str) -> list[str] | None:
    """List the commands of a function's result, or `name` itself if it is a class of commands."""
    if name in members("Standard") and name in source.ours:
        return [name]
    there, node = defined(source, name)
    if isinstance(node, ast.ClassDef):
        return [name] if name in there.ours else None
    row = row_of(type_of(node))
    return row if row and all(is_class(there, split(one).name) for one in row) else None


def is_class(source: Source, name: str) -> bool:
    """Return whether `name` is a class, and not a union of commands."""
    of_ours = name in source.ours and name != "Standard"
    return of_ours or isinstance(defined(source, name)[1], ast.ClassDef)


def makes_a_program(source: Source, name: str) -> bool:
    return split(type_of(defined(source, name)[1])).name == "Program"


def type_of(node: ast.AST | None) -> str:
    return ast.unparse(node.returns) if isinstance(node, ast.FunctionDef) and node.returns else ""


def defined(
    source: Source, name: str, deep: int = 5
) -> tuple[Source, ast.FunctionDef | ast.ClassDef | None]:
    """Find a function or a class, here or in the file from which it is imported."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return source, node
    there = source.where_imported(name)
    return defined(there, name, deep - 1) if there and deep else (source, None)


def type_with_its_row(source: Source, line: int) -> str:
    """Add the commands to the annotation of the function around a line.

    Return "" if the annotation is complete, or if the source does not show the commands.
    """
    around = [
        node
        for node in source.nodes
        if isinstance(node, ast.FunctionDef) and line in lines_of(node)
    ]
    if not around:
        return ""
    ends = [one.value for one in ast.walk(around[-1]) if isinstance(one, ast.Return) and one.value]
    text = type_of(around[-1])
    row = issued(source, ends[0]) if len(ends) == 1 else None
    if split(text).name != "Program" or len(split(text).inner) != 3 or not row:
        return ""
    return with_names(f"{text[:-1]}, {' | '.join(row)}]")


def row_of(text: str) -> list[str] | None:
    """List the commands of a type.

    >>> row_of("Program[N3, N0, None, Download | Delay]"), row_of("Do[Log, None]"), row_of("int")
    (['Download', 'Delay'], ['Log'], None)
    """
    name, inner = split(text)
    if name not in ROW or not inner:
        return None
    return members(inner[ROW[name]] if len(inner) > ROW[name] else "Standard")
