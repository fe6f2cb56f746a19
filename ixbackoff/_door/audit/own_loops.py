"""Loops that try again, written by hand: their tries and their exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import inf
from typing import Any, TypeAlias

from .code_base import name_of, own
from .expressions import Context, External, Items, Made, Reader, Values, number
from .layers import ANY, EVERYTHING, SAME, Layer, LayerTable

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
RETRIES = re.compile(r"retr(y|ies|ying)|attempt|tries\b|backoff|delay", re.I)
SLEEPS = re.compile(r"(^|[._])(sleep|wait)\b|sleep|_delay$|^backoff$", re.I)
CLOCK = re.compile(r"time|elapsed|deadline|monotonic")
FLIPPED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block, without those of loops and handlers in it."""
    for one in body:
        yield one
        if isinstance(one, ast.If | ast.With | ast.AsyncWith | ast.Try):
            yield from level([*one.body, *getattr(one, "orelse", [])])


def exits(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block always leaves its loop."""
    return any(
        isinstance(one, ast.Return | ast.Raise | ast.Break)
        or (isinstance(one, ast.If) and exits(one.body) and exits(one.orelse))
        or (isinstance(one, ast.With | ast.AsyncWith | ast.Try) and exits(one.body))
        for one in body
    )


def may_leave(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block can leave its loop without an exception."""
    return any(isinstance(one, ast.Return | ast.Break) for one in level(body))


def guards(body: Iterable[ast.AST]) -> list[ast.If]:
    """Return the conditions that leave the loop."""
    found = [one for one in body if isinstance(one, ast.If)]
    return [one for one in found if exits(one.body) or exits(one.orelse)]


class Loops:
    def __init__(self, reader: Reader, table: LayerTable) -> None:
        self.reader, self.table = reader, table

    def read(self, node: Loop, at: Context) -> tuple[Layer, list[ast.Try]] | None:
        """Return a loop as a layer, and the `try` statements that happen again; none: all of it.

        Return `None` for any other loop.
        """
        each = isinstance(node, ast.For)
        head = ast.unparse(node.target if isinstance(node, ast.For | ast.AsyncFor) else node.test)
        tests = set[str]() if each else {*re.findall(r"\w+", head)}
        found = [one for one in level(node.body) if isinstance(one, ast.Try)]
        tries = [one for one in found if is_retried(one, node, tests)]
        calls = [one for one in own(node.body) if isinstance(one, ast.Call)]
        sleeps = [one for one in calls if SLEEPS.search(ast.unparse(one.func))]
        words = RETRIES.search(f"{head} {at.scope.name}")
        if isinstance(node, ast.AsyncFor) or not (
            tries or (sleeps and may_leave(node.body) and words)
        ):
            return None
        if isinstance(node, ast.For):
            if name_of(node.iter) not in ("range", "count") and not RETRIES.search(head):
                return None  # one after another
        elif not sleeps and not RETRIES.search(ast.unparse(node)):
            return None  # a prompt, or a reader
        number = self.count(node, at)
        handlers = [handler for one in tries for handler in one.handlers]
        catches = tuple((name, goes_on(one)) for one in handlers for name in self.caught(one, at))
        flags = ["no delay"] if not sleeps and (number or 3) > 2 else []
        slept = [one for call in sleeps for one in self.reader.values(call.func, at)]
        if isinstance(at.scope.node, ast.AsyncFunctionDef) and External("time.sleep") in slept:
            flags += ["time.sleep in a coroutine"]
        gives = tuple(self.given_up(node, at, handlers))
        place = at.scope.module.path, node.lineno, at.scope.name
        return Layer(*place, "your loop", number, catches, gives, (*flags,)), tries

    def caught(self, handler: ast.ExceptHandler, at: Context) -> list[str]:
        """Return the names of the exceptions that a handler catches."""
        if handler.type is None:
            return [EVERYTHING[1]]
        return self.know(self.reader.values(handler.type, at)) or [ANY]

    def know(self, values: Values) -> list[str]:
        """Return the names of classes; tell the table of their bases."""
        for one in values:
            if isinstance(one, Made):
                self.table.know(self.reader.ancestors(one.scope))
            for inside in one.items if isinstance(one, Items) else ():
                self.know(inside)
        return [*self.table.names(values)]

    def given_up(self, node: Loop, at: Context, handlers: list[ast.ExceptHandler]) -> Iterator[str]:
        """Yield the exceptions of a loop that gives up: those of its handlers, and after it."""
        last = node.end_lineno or 0
        after = [one for one in at.scope.nodes if getattr(one, "lineno", 0) > last]
        again = [handler for handler in handlers if not exits(handler.body)]
        for one in (*own(again), *own(node.orelse), *after):
            if isinstance(one, ast.Raise):
                yield from self.raised(one, at)

    def raised(self, node: ast.Raise, at: Context) -> list[str]:
        """Return the exception of a `raise`; `SAME` for a variable."""
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        found = self.know(self.reader.values(made, at))
        kinds = [one for one in found if one.rpartition(".")[2][:1].isupper()]
        return kinds or ([ANY] if isinstance(node.exc, ast.Call) else [SAME])

    def count(self, loop: ast.For | ast.While, at: Context) -> float | None:
        """Return the tries of a loop, by its head, and by guards such as `if attempt >= 3`."""
        steps = [one for one in own(loop.body) if isinstance(one, ast.AugAssign)]
        lines = {ast.unparse(one.target): one.lineno for one in steps}
        tests = [(one.test, one.lineno) for one in guards(own(loop.body))]
        otherwise: float | None = inf
        if isinstance(loop, ast.While):
            tests.append((loop.test, 0))
            otherwise = inf if isinstance(loop.test, ast.Constant) else None
        elif name_of(loop.iter) != "count":
            return self.length(loop.iter, at)
        else:
            lines[ast.unparse(loop.target)] = loop.end_lineno or 0
        down = {ast.unparse(one.target) for one in steps if isinstance(one.op, ast.Sub)}
        found: list[float] = []
        for test, line in tests:
            otherwise = None if CLOCK.search(ast.unparse(test)) else otherwise
            for one in ast.walk(test):
                if not isinstance(one, ast.Compare) or CLOCK.search(ast.unparse(one)):
                    continue
                left, kind, right = one.left, type(one.ops[0]), one.comparators[0]
                if ast.unparse(right) in lines:
                    left, right, kind = right, left, FLIPPED.get(kind, kind)
                name = ast.unparse(left)
                if line and name not in lines:
                    continue
                limit = number(self.reader.values(right, at))
                if limit is None:
                    return None
                first = at.scope.names.get(name, [left])[:1]
                start = number(self.reader.bound(first, at)) or 0
                if name in down or (not line and kind in (ast.Gt, ast.GtE)):
                    limit, start, kind = start, limit, FLIPPED.get(kind, kind)
                late = lines.get(name, 0) > line > 0
                found.append(max(0, limit - start + (kind in (ast.Gt, ast.LtE)) + late))
        return min(found) if found else otherwise

    def length(self, node: ast.expr, at: Context) -> float | None:
        if isinstance(node, ast.Call) and name_of(node) == "range":
            limits: list[Any] = [number(self.reader.values(one, at)) for one in node.args]
            with suppress(TypeError, ValueError, OverflowError):
                return len(range(*map(int, limits)))
            return None
        of = node.args[0] if isinstance(node, ast.Call) and node.args else node
        found = [one for one in self.reader.values(of, at) if isinstance(one, Items)]
        return len(found[0].items) if found else None


def goes_on(handler: ast.ExceptHandler) -> bool | None:
    """Return whether a loop goes on after a handler; `None` if a predicate decides."""
    if exits(handler.body):
        return False
    tests = [node for one in guards(level(handler.body)) for node in ast.walk(one.test)]
    calls = [one for one in tests if isinstance(one, ast.Call) and name_of(one) != "isinstance"]
    judged = [getattr(argument, "id", "") for one in calls for argument in one.args]
    return None if handler.name in judged else True


def is_retried(one: ast.Try, loop: Loop, tests: set[str]) -> bool:
    """Return whether the body of a `try` happens again after an exception, until it is left."""
    again = [handler for handler in one.handlers if not exits(handler.body)]
    inside = [*one.body, *one.orelse]
    plain = [x for x in inside if isinstance(x, ast.Assign) and isinstance(x.value, ast.Constant)]
    flags = {ast.unparse(to) for assign in plain for to in assign.targets}
    go_on = all(any(isinstance(x, ast.Continue) for x in own(handler.body)) for handler in again)
    left = may_leave(inside) or flags & tests or (go_on and may_leave(loop.body))
    return bool(again and left)
