"""The source file of a message, and the rungs of the programs in it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ... import __all__ as public_names
from .printed import Span
from .wordings import DOWN, STAYS, TO_N0


class Place(NamedTuple):
    """A place in a source; lines and columns count from 1."""

    line: int
    column: int


class Source:
    """A source file; an unreadable one is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            self.text = ""
        self.lines = self.text.splitlines()

    @cached_property
    def uses_ixbackoff(self) -> bool:
        return re.search(r"^\s*(?:from|import) ixbackoff\b", self.text, re.MULTILINE) is not None

    def line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return ast.Module([], [])

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> dict[int, list[tuple[ast.Call, str]]]:
        """Calls by line, with their names; a decorator `@a.b` of `f` counts as a call `a.b(f)`."""
        found: dict[int, list[tuple[ast.Call, str]]] = defaultdict(list)
        decorators = [
            ast.copy_location(ast.Call(one, [ast.copy_location(ast.Name(node.name), one)], []), one)
            for node in self.nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for one in node.decorator_list
        ]
        for node in [*self.nodes, *decorators]:
            if not isinstance(node, ast.Call):
                continue
            function = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            if isinstance(function, ast.Attribute):
                name = function.attr
            elif isinstance(function, ast.Name):
                name = function.id
            else:
                continue
            for line in lines_of(node):
                found[line].append((node, name))
        return found

    @cached_property
    def assigned(self) -> dict[str, ast.expr | None]:
        """The value of each name that is set once; `None` for parameters and for names set again.

        A name that is set once, but by a `for` or the like, has the value `Constant(None)`.
        """
        found: dict[str, ast.expr | None] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None if node.id in found else ast.Constant(None)
            elif isinstance(node, ast.arg):
                found[node.arg] = None
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                target = targets[0]
                if isinstance(target, ast.Name) and found[target.id] and len(targets) == 1:
                    found[target.id] = node.value
        return found

    def steps(self, node: ast.expr, deep: int = 50) -> list[tuple[str, ast.expr]]:
        """Return the steps of a chain with their names, following variables that are set once.

        The beginning of a chain, and of a chain that is joined to it, has the name "".
        """
        value = self.assigned.get(node.id) if isinstance(node, ast.Name) else None
        if not deep:
            return [("", node)]
        if value is not None:
            return self.steps(value, deep - 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift | ast.BitOr):
            return [*self.steps(node.left, deep - 1), *self.steps(node.right, deep - 1)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return [*self.steps(node.func.value, deep - 1), (node.func.attr, node)]
        return [("", node)]

    def span_of(self, node: ast.expr) -> Span | None:
        """Return the rungs where a chain of steps starts and ends, if the source shows them."""
        span: Span | None = None
        for step, call in self.steps(node):
            here = after(span, step) if span and step else begun(call)
            if here is None or (span and not step and here.start != span.end):
                return None
            span = here if step or span is None else span
        return span

    @cached_property
    def ours(self) -> set[str]:
        """The names imported from ixbackoff, and the classes derived from them."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom) and from_ixbackoff(node.module):
                found |= {alias.asname or alias.name for alias in node.names}
                found |= {*public_names} if "*" in found else set()
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if alias.name == "ixbackoff"}
        for node in self.nodes:
            if isinstance(node, ast.ClassDef) and any(
                self.root(one) in found for one in node.bases
            ):
                found.add(node.name)
        return found

    def root(self, node: ast.AST, deep: int = 200) -> str:
        """Return the first name of a chain, following variables that are set once."""
        while deep:
            deep -= 1
            if isinstance(node, ast.Attribute | ast.Subscript | ast.Await):
                node = node.value
            elif isinstance(node, ast.Call):
                node = node.func
            elif isinstance(node, ast.BinOp):
                node = node.left
            elif isinstance(node, ast.Name):
                value = self.assigned.get(node.id)
                if value is None or isinstance(value, ast.Constant):
                    return node.id
                node = value
            else:
                break
        return ""

    @cached_property
    def decorated_without_a_rung(self) -> set[str]:
        """The functions under `@backoff` without parentheses."""
        return {
            node.name
            for node in self.nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if "backoff" in self.ours
            if any(isinstance(one, ast.Name) and one.id == "backoff" for one in node.decorator_list)
        }

    def before_attribute(self, line: int, attribute: str) -> str:
        """Return `x` if `x.attribute(...)` is the only such call on a line, else ""."""
        found = [
            node.func.value.id
            for node, name in self.calls[line]
            if name == attribute and isinstance(node.func, ast.Attribute)
            if isinstance(node.func.value, ast.Name)
        ]
        return found[0] if len(found) == 1 else ""

    def where_imported(self, name: str) -> Source | None:
        """Find the file from which a name is imported, in this file's folder or in one above."""
        for node in self.nodes:
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            if any(alias.name == name and not alias.asname for alias in node.names):
                file = Path(*node.module.split(".")).with_suffix(".py")
                for folder in self.path.resolve().parents:
                    if (folder / file).is_file():
                        return Source(folder / file)
        return None

    def calls_ours(self, line: int, name: str) -> bool:
        """Return whether a call of `name` on a line begins with a name from ixbackoff."""
        if name in self.ours and re.search(rf"@{name}\b", self.line(line)):
            return True
        calls = [node for node, called in self.calls[line] if called == name]
        return any(self.root(node.func) in self.ours for node in calls)

    def called(self, place: Place) -> str:
        """Return the name of the innermost call around a place, else what `begun_at` returns."""
        name, size = "", len(self.text) + 1
        for node, called in self.calls[place.line]:
            begin = self.place(node.func.end_lineno or 0, node.func.end_col_offset or 0)
            end = self.place(node.end_lineno or 0, node.end_col_offset or 0)
            width = (end.line - begin.line) * 1000 + end.column - begin.column
            if begin <= place <= end and width < size:
                name, size = called, width
        return name or self.begun_at(place)

    def begun_at(self, place: Place) -> str:
        """Return the last name of the longest chain that begins at a place; skip an "@" there."""
        if self.line(place.line)[place.column - 1 :].startswith("@"):
            place = Place(place.line, place.column + 1)
        found = [
            (node.end_lineno or 0, node.end_col_offset or 0, called)
            for node, called in self.calls[place.line]
            if self.place(node.lineno, node.col_offset) == place
        ]
        return max(found)[2] if found else ""

    def only_step(
        self, line: int, names: tuple[str, ...], at_n0: bool
    ) -> tuple[Span, ast.Attribute] | None:
        """Return the rungs before the only matching step on a line, and the step.

        A step matches if its name is in `names`, and if it is at N0 (`at_n0`) or above (otherwise).
        """
        found = [
            (span, node.func)
            for node, name in self.calls[line]
            if name in names and isinstance(node.func, ast.Attribute)
            if (span := self.span_of(node.func.value)) and (span.end == 0) == at_n0
        ]
        return found[0] if len(found) == 1 else None

    def in_a_loop(self, line: int) -> bool:
        return any(
            isinstance(node, ast.For | ast.AsyncFor | ast.While) and line in lines_of(node)
            for node in self.nodes
        )

    def place_of_name(self, node: ast.Attribute) -> Place:
        line = node.end_lineno or node.lineno
        return self.place(line, (node.end_col_offset or 0) - len(node.attr.encode()))

    def place_of_argument(self, line: int, method: str, argument: str, number: int) -> Place | None:
        """Return the place of an argument of the only call of `method` on a line."""
        found = [node for node, name in self.calls[line] if name == method]
        if len(found) != 1:
            return None
        keywords = [one.value for one in found[0].keywords if one.arg == argument]
        values = keywords or found[0].args[number - 1 :]
        return self.place(values[0].lineno, values[0].col_offset) if values else None

    def place_of_operand(self, line: int, operator: str) -> Place | None:
        """Return the place of the right operand of the only use of `operator` on a line."""
        kind = ast.RShift if operator == ">>" else ast.BitOr
        found = [
            node.right
            for node in self.nodes
            if isinstance(node, ast.BinOp) and isinstance(node.op, kind)
            if line in lines_of(node)
        ]
        return self.place(found[0].lineno, found[0].col_offset) if len(found) == 1 else None

    def place(self, line: int, offset: int) -> Place:
        """Convert an offset in bytes, as in a syntax tree, to a place."""
        begin = self.line(line).encode()[:offset]
        return Place(line, len(begin.decode(errors="replace")) + 1)


def from_ixbackoff(module: str | None) -> bool:
    """Return whether a module belongs to ixbackoff; `ixbackoff_other` does not."""
    return (module or "").partition(".")[0] == "ixbackoff"


def lines_of(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1)


def begun(node: ast.expr) -> Span | None:
    """Return the rungs where a chain such as `at(N3)` begins; `None` for any other expression."""
    name = re.fullmatch(r"at\(N(\d+)\)", ast.unparse(node))
    return Span(int(name[1]), int(name[1])) if name else None


def after(before: Span, step: str) -> Span | None:
    if step in STAYS:
        return before
    if step in TO_N0:
        return Span(before.start, 0)
    if step in DOWN and before.end:
        return Span(before.start, before.end - 1)
    return None
