"""Loops that try again, written by hand: their tries, their waits and their exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple, TypeAlias

from .code_base import own
from .expressions import Const, Context, External, Items, Made, Reader, Values, number
from .layers import ANY, EVERYTHING, SAME, Layer, Table

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While
LOOP = ast.For, ast.AsyncFor, ast.While
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


class Again(NamedTuple):
    """A loop as a layer, and the `try` statements whose bodies happen again; none: all of it."""

    layer: Layer
    tries: list[ast.Try]


class Loops:
    def __init__(self, reader: Reader, table: Table) -> None:
        self.reader, self.table = reader, table

    def read(self, node: Loop, at: Context) -> Again | None:
        """Return a loop that tries again; `None` for any other loop."""
        if isinstance(node, ast.AsyncFor):
            return None
        each = isinstance(node, ast.For)
        head = ast.unparse(node.target) if isinstance(node, ast.For) else ast.unparse(node.test)
        of = ast.unparse(node.iter) if isinstance(node, ast.For) else ""
        flags = {*re.findall(r"\w+", head)} if not each else set[str]()
        found = [one for one in level(node.body) if isinstance(one, ast.Try)]
        tries = [one for one in found if is_retried(one, node, flags)]
        calls = [one for one in own(node.body) if isinstance(one, ast.Call)]
        sleeps = [one for one in calls if SLEEPS.search(ast.unparse(one.func))]
        words = RETRIES.search(f"{head} {at.scope.name}")
        if not tries and not (sleeps and may_leave(node.body) and words):
            return None
        if each and not (re.match(r"range\(|(itertools\.)?count\(", of) or RETRIES.search(head)):
            return None  # one after another
        if not each and not sleeps and not RETRIES.search(ast.unparse(node)):
            return None  # a prompt, or a reader
        number = self.count(node, at)
        handlers = [handler for one in tries for handler in one.handlers]
        catches = tuple((name, goes_on(one)) for one in handlers for name in self.caught(one, at))
        flags = {"no delay"} if not sleeps and (number or 3) > 2 else set[str]()
        slept = [one for call in sleeps for one in self.reader.values(call.func, at)]
        if isinstance(at.scope.node, ast.AsyncFunctionDef) and External("time.sleep") in slept:
            flags.add("time.sleep in a coroutine")
        gives = tuple(self.given_up(node, at, handlers)) if number != inf else ()
        waits = self.waits(node, at, sleeps, number) if sleeps else 0
        place = at.scope.module.path, node.lineno, at.scope.name
        layer = Layer(*place, "your loop", number, waits, catches, gives, (*flags,))
        return Again(layer, tries)

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

    def count(self, node: ast.For | ast.While, at: Context) -> float | None:
        if isinstance(node, ast.While):
            return self.while_count(node, at)
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=args):
                limits = [number(self.reader.values(one, at)) for one in args]
                known = [int(one) for one in limits if one is not None]
                return len(range(*known)) if len(known) == len(limits) else None
            case ast.Call(func=function) if ast.unparse(function).endswith("count"):
                return self.guarded(node, at, inf)
            case ast.Call(args=[of, *_]) | of:
                values = self.reader.values(of, at)
                return next((len(one.items) for one in values if isinstance(one, Items)), None)

    def while_count(self, node: ast.While, at: Context) -> float | None:
        for one in ast.walk(node.test):
            match one:
                case ast.Compare(left=left, ops=[op], comparators=[right]) if not CLOCK.search(
                    ast.unparse(one)
                ):
                    limit, start = number(self.reader.values(right, at)), self.start(left, at)
                    if isinstance(op, ast.Gt | ast.GtE):
                        return start
                    more = isinstance(op, ast.LtE)
                    return None if limit is None else max(0, limit - (start or 0) + more)
                case _:
                    pass
        return self.guarded(node, at, inf if isinstance(node.test, ast.Constant) else None)

    def start(self, node: ast.expr, at: Context) -> float | None:
        """Return the first value of a counter."""
        found = at.scope.names.get(ast.unparse(node), [])
        return number(self.reader.bound(found[:1], at))

    def guarded(self, loop: Loop, at: Context, otherwise: float | None) -> float | None:
        """Return the tries of a loop that `if attempt >= 3: raise` ends."""
        nodes = [*own(loop.body)]
        ups = {
            ast.unparse(one.target): one.lineno for one in nodes if isinstance(one, ast.AugAssign)
        }
        if isinstance(loop, ast.For):
            ups[ast.unparse(loop.target)] = loop.end_lineno or 0
        found: list[float] = []
        for one in nodes:
            if not isinstance(one, ast.If) or not (exits(one.body) or exits(one.orelse)):
                continue
            otherwise = None if CLOCK.search(ast.unparse(one.test)) else otherwise
            for part in ast.walk(one.test):
                match part:
                    case ast.Compare(left=left, ops=[op], comparators=[right]):
                        kind: type = type(op)
                        if ast.unparse(right) in ups:
                            left, right, kind = right, left, FLIPPED.get(kind, kind)
                        if ast.unparse(left) not in ups:
                            continue
                        otherwise = None
                        limit = number(self.reader.values(right, at))
                        if limit is None:
                            return None
                        late = ups[ast.unparse(left)] > one.lineno
                        strict = kind in (ast.Gt, ast.LtE)
                        found.append(limit - (self.start(left, at) or 0) + late + strict)
                    case _:
                        pass
        return min(found) if found else otherwise

    def waits(
        self, loop: Loop, at: Context, sleeps: list[ast.Call], tries: float | None
    ) -> float | None:
        """Return the seconds of all waits, if the source shows each of them."""
        ups = [ast.unparse(one.target) for one in own(loop.body) if isinstance(one, ast.AugAssign)]
        counter = ast.unparse(loop.target) if isinstance(loop, ast.For) else (*ups, "")[0]
        total = 0.0
        for index in range(int(min(tries or 99, 99)) - 1):
            env = {**dict(at.env), counter: (Const(index),)}
            here = at._replace(env=tuple(env.items()))
            slept = [number(self.reader.values(one.args[0], here)) for one in sleeps if one.args]
            known = [one for one in slept if one is not None]
            if not known or len(known) < len(slept) or index > 19:
                return None
            total += max(known)
        return total


def goes_on(handler: ast.ExceptHandler) -> bool | None:
    """Return whether a loop goes on after a handler; `None` if a predicate decides."""
    for one in level(handler.body):
        if isinstance(one, ast.If) and (exits(one.body) or exits(one.orelse)):
            calls = [node for node in ast.walk(one.test) if isinstance(node, ast.Call)]
            judges = [one for one in calls if ast.unparse(one.func) != "isinstance"]
            given = [ast.unparse(argument) for call in judges for argument in call.args]
            if handler.name in given and not exits(handler.body):
                return None
    return not exits(handler.body)


def is_retried(one: ast.Try, loop: Loop, flags: set[str]) -> bool:
    """Return whether the body of a `try` happens again after an exception, until it is left."""
    again = [handler for handler in one.handlers if not exits(handler.body)]
    inside = [*one.body, *one.orelse]
    set_there = {
        ast.unparse(to)
        for node in inside
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for to in node.targets
    }
    go_on = all(any(isinstance(x, ast.Continue) for x in own(handler.body)) for handler in again)
    left = may_leave(inside) or set_there & flags or (go_on and may_leave(loop.body))
    return bool(again and left)
