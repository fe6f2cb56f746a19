"""Handwritten loops that try again: their tries and their exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import inf
from typing import Any, TypeAlias

from .code_base import name_of, own
from .evaluation import Closure, Context, External, Items, Made, Reader, Values, number
from .layers import ANY, EVERYTHING, SAME, Caught, Layer, LayerTable

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
RETRIES = re.compile(r"retr(y|ies|ying)|attempt|tries\b|backoff|delay", re.I)
SLEEPS = re.compile(r"(^|[._])(sleep|wait)\b|sleep|_delay$|^backoff$", re.I)
CLOCK = re.compile(r"time|elapsed|deadline|monotonic")
FLIPPED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield a block's statements, also in `if`, `with`, `try`, but not in handlers or `finally`."""
    for one in body:
        yield one
        if isinstance(one, ast.If | ast.With | ast.AsyncWith | ast.Try):
            yield from level([*one.body, *getattr(one, "orelse", [])])


def exits(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block always leaves its loop; ignore `continue` and caught exceptions."""
    return any(
        isinstance(one, ast.Return | ast.Raise | ast.Break)
        or (isinstance(one, ast.If) and exits(one.body) and exits(one.orelse))
        or (isinstance(one, ast.With | ast.AsyncWith | ast.Try) and exits(one.body))
        for one in body
    )


def continues(body: Iterable[ast.stmt]) -> bool:
    return any(isinstance(one, ast.Continue) for one in level(body))


def goes_on(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block can end with another round of its loop."""
    return not exits(body) or continues(body)


def may_leave(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block can leave its loop without an exception."""
    return any(isinstance(one, ast.Return | ast.Break) for one in level(body))


def guards(body: Iterable[ast.AST]) -> list[ast.If]:
    """Return each `if` with a branch that leaves the loop or begins another round of it."""
    found = [one for one in body if isinstance(one, ast.If)]
    blocks = [(one, (one.body, one.orelse)) for one in found]
    return [one for one, both in blocks if any(exits(x) or continues(x) for x in both)]


def stays(block: list[ast.stmt], rest: list[ast.stmt]) -> bool:
    """Return whether a block and then `rest` can end with another round of the loop."""
    return continues(block) or (not exits(block) and goes_on(rest))


def named(node: ast.AST) -> set[str]:
    """Return the variables that a node mentions."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


class Loops:
    def __init__(self, reader: Reader, table: LayerTable) -> None:
        self.reader, self.table = reader, table

    def read(self, node: Loop, at: Context) -> tuple[Layer, list[ast.Try]] | None:
        """Return the layer of a loop that retries, and the `try` statements that it retries.

        Without such statements, it retries its whole body. Return `None` if the loop never retries.
        """
        each = isinstance(node, ast.For)
        head = ast.unparse(node.target if isinstance(node, ast.For | ast.AsyncFor) else node.test)
        tests = set[str]() if each else {*re.findall(r"\w+", head)}
        blocks = [one for one in level(node.body) if isinstance(one, ast.Try)]
        found = [one for one in blocks if any(goes_on(handler.body) for handler in one.handlers)]
        left = [(one, leaves(one, node, tests)) for one in found]
        tries = [one for one, sure in left if sure is not False]
        calls = [one for one in own(node.body) if isinstance(one, ast.Call)]
        sleeps = [one for one in calls if SLEEPS.search(ast.unparse(one.func))]
        words = RETRIES.search(f"{head} {at.scope.name}")
        if isinstance(node, ast.AsyncFor) or not (
            tries or (sleeps and words and may_leave(node.body) and not exits(node.body))
        ):
            return None
        if isinstance(node, ast.For):
            if name_of(node.iter) not in ("range", "count") and not RETRIES.search(head):
                return None  # a loop over items
        elif not sleeps and not RETRIES.search(ast.unparse(node)):
            return None  # a loop that asks a user, or reads
        if at.scope.decorated("contextmanager", "asynccontextmanager"):
            return None  # a context manager yields once
        number = self.count(node, at) or None
        handlers = [handler for one in tries for handler in one.handlers]
        catches = tuple(pair for one in handlers for pair in self.judged(one, at))
        helped = any(self.helpers(own(one.body), at) for one in handlers)
        flags = ["no delay"] if not (sleeps or helped) and (number or 3) > 2 else []
        slept = [one for call in sleeps for one in self.reader.values(call.func, at)]
        if isinstance(at.scope.node, ast.AsyncFunctionDef) and External("time.sleep") in slept:
            flags += ["time.sleep in a coroutine"]
        gives = tuple(self.given_up(node, at, handlers))
        place = at.scope.module.path, node.lineno, at.scope.name
        plain = sleeps and tries and all(sure is not None for _, sure in left)
        may_end = isinstance(node, ast.For) or bool(plain) or (number or inf) < inf
        made = Layer(*place, "your loop", number, catches, gives, (*flags,), sure=may_end)
        return made, tries

    def helpers(self, nodes: Iterable[ast.AST], at: Context) -> list[Closure]:
        """Return the functions of the code base that some nodes call."""
        calls = [one for one in nodes if isinstance(one, ast.Call)]
        found = [value for one in calls for value in self.reader.values(one.func, at)]
        return [one for one in found if isinstance(one, Closure)]

    def judged(self, handler: ast.ExceptHandler, at: Context) -> list[Caught]:
        """Return the exceptions that a handler catches, each with whether the loop then goes on."""
        names, about = self.caught(handler, at), {handler.name or ""}
        if not goes_on(handler.body):
            return [(name, False) for name in names]
        for one in own(handler.body):
            if isinstance(one, ast.Assign) and named(one.value) & about:
                about |= {name for to in one.targets for name in named(to)}
        tests = [one for one in guards(level(handler.body)) if named(one.test) & about]
        told = [one for one in own(handler.body) if named(one) & about]
        helpers = [node for one in self.helpers(told, at) for node in one.scope.nodes]
        raising = any(isinstance(one, ast.Raise) for one in helpers)
        if not tests and not raising:
            return [(name, True) for name in names]
        if len(tests) == 1 and tests[0] in handler.body and not raising:
            test, rest = tests[0], handler.body[handler.body.index(tests[0]) + 1 :]
            inside, other = stays(test.body, rest), stays(test.orelse, rest)
            parts, limited = [test.test], None
            if isinstance(test.test, ast.BoolOp):  # such as `and attempt < 3`
                parts, limited = test.test.values, isinstance(test.test.op, ast.And)
            match [one for one in parts if named(one) & about]:
                case [ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(), kinds])]:
                    found = self.know(self.reader.values(kinds, at)) or [ANY]
                    first = inside or (limited is True and other)
                    last = None if limited is False and inside and not other else other
                    return [*((one, first) for one in found), *((one, last) for one in names)]
                case _:
                    pass
        return [(name, None) for name in names]

    def caught(self, handler: ast.ExceptHandler, at: Context) -> list[str]:
        """Return the names of the exceptions that a handler catches."""
        if handler.type is None:
            return [EVERYTHING[1]]
        return self.know(self.reader.values(handler.type, at)) or [ANY]

    def know(self, values: Values) -> list[str]:
        """Return the names of classes, and add their bases to the table."""
        for one in values:
            if isinstance(one, Made):
                self.table.know(self.reader.ancestors(one.scope))
            elif isinstance(one, Items):
                self.know(one.inside.values)
        return [*self.table.names(values)]

    def given_up(self, node: Loop, at: Context, handlers: list[ast.ExceptHandler]) -> Iterator[str]:
        """Yield what each `raise` names: in handlers that go on, in the `else`, after the loop."""
        last = node.end_lineno or 0
        after = [one for one in at.scope.nodes if getattr(one, "lineno", 0) > last]
        again = [handler for handler in handlers if goes_on(handler.body)]
        for one in (*own(again), *own(node.orelse), *after):
            if isinstance(one, ast.Raise):
                yield from self.raised(one, at)

    def raised(self, node: ast.Raise, at: Context) -> list[str]:
        """Return the exceptions that a `raise` names; `SAME` if it is bare or names a variable."""
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        found = self.know(self.reader.values(made, at))
        kinds = [one for one in found if one.rpartition(".")[2][:1].isupper()]
        return kinds or ([ANY] if isinstance(node.exc, ast.Call) else [SAME])

    def count(self, loop: ast.For | ast.While, at: Context) -> float | None:
        """Return the tries of a loop, by its head, or by guards such as `if attempt >= 3`."""
        steps = [step for one in own(loop.body) if (step := stepped(one))]
        lines = {name: line for name, line, _ in steps}
        tried = min((one.lineno for one in level(loop.body) if isinstance(one, ast.Try)), default=0)
        tests = [(one.test, one.lineno) for one in guards(own(loop.body))]
        otherwise: float | None = inf
        if isinstance(loop, ast.While):
            tests.append((loop.test, 0))
            otherwise = inf if isinstance(loop.test, ast.Constant) else None
        elif name_of(loop.iter) != "count":
            return self.left_early(loop, self.length(loop.iter, at), at)
        else:
            lines[ast.unparse(loop.target)] = loop.end_lineno or 0
        down = {name for name, _, op in steps if isinstance(op, ast.Sub)}
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
                late = lines.get(name, 0) > line > tried
                found.append(max(0, limit - start + (kind in (ast.Gt, ast.LtE)) + late))
        return min(found) if found else otherwise

    def left_early(self, loop: ast.For, most: float | None, at: Context) -> float | None:
        """Return `most`, or fewer if all handlers that go on have an `if attempt >= 3: raise`."""
        tries = [one for one in level(loop.body) if isinstance(one, ast.Try)]
        again = [one for x in tries for one in x.handlers if goes_on(one.body)]
        args = loop.iter.args if isinstance(loop.iter, ast.Call) else []
        start: Any = number(self.reader.values(args[0], at)) if len(args) == 2 else 0
        if most is None or start is None or name_of(loop.iter) != "range" or len(args) > 2:
            return most
        if not again or not all(leaves(one, loop, set()) for one in tries):
            return most
        limits: list[float] = []
        for handler in again:
            found = [most]
            for index, guard in enumerate(handler.body):
                match guard:
                    case ast.If(ast.Compare(left, [ast.Eq() | ast.GtE() | ast.Gt() as kind], [on])):
                        limit: Any = number(self.reader.values(on, at))
                        alike = ast.unparse(left) == ast.unparse(loop.target) and exits(guard.body)
                        through = continues([*handler.body[:index], *guard.body])
                        if alike and not through and limit is not None and limit >= start:
                            found.append(limit - start + 1 + isinstance(kind, ast.Gt))
                    case _:
                        pass
            limits.append(min(found))
        return max(limits)

    def length(self, node: ast.expr, at: Context) -> float | None:
        if isinstance(node, ast.Call) and name_of(node) == "range":
            limits: list[Any] = [number(self.reader.values(one, at)) for one in node.args]
            with suppress(TypeError, ValueError, OverflowError):
                return len(range(*map(int, limits)))
            return None
        of = node.args[0] if isinstance(node, ast.Call) and node.args else node
        found = [one for one in self.reader.values(of, at) if isinstance(one, Items)]
        return len(found[0].inside.named) if found else None


def stepped(node: ast.AST) -> tuple[str, int, ast.operator] | None:
    """Return the variable that a statement counts up or down, its line, and the operator."""
    match node:
        case ast.AugAssign(target=target, op=op):
            return ast.unparse(target), node.lineno, op
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=op)):
            same = ast.unparse(target) == ast.unparse(left)
            return (ast.unparse(target), node.lineno, op) if same else None
        case _:
            return None


def leaves(one: ast.Try, loop: Loop, tests: set[str]) -> bool | None:
    """Return whether a loop ends when a `try` succeeds; `None` if it then ends only sometimes."""
    again = [handler for handler in one.handlers if goes_on(handler.body)]
    inside = [*one.body, *one.orelse]
    plain = [x for x in inside if isinstance(x, ast.Assign) and isinstance(x.value, ast.Constant)]
    flags = {ast.unparse(to) for assign in plain for to in assign.targets}
    go_on = all(any(isinstance(x, ast.Continue) for x in own(handler.body)) for handler in again)
    rest = loop.body if go_on else []
    if exits(inside) or flags & tests or exits(rest):
        return True
    return None if may_leave(inside) or may_leave(rest) else False
