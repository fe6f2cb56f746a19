"""Loops that try again, written by hand: their tries, their waits and their exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple

from .code_base import own
from .layers import ANY, EVERYTHING, SAME, Layer, Table
from .values import Const, Context, External, Items, Kind, Made, Reader, Value, number

Loop = ast.For | ast.AsyncFor | ast.While
RETRIES = re.compile(r"retr(y|ies|ying)|attempt|tries\b|backoff", re.I)
SLEEPS = re.compile(r"(^|[._])(sleep|wait)\b|sleep|_delay$|^backoff$", re.I)
CLOCK = re.compile(r"time|elapsed|deadline|monotonic")


def exits(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block always leaves its loop."""
    for one in body:
        match one:
            case ast.Return() | ast.Raise() | ast.Break():
                return True
            case ast.If(body=yes, orelse=no) if no and exits(yes) and exits(no):
                return True
            case ast.With(body=inside) | ast.AsyncWith(body=inside) if exits(inside):
                return True
            case ast.Try(body=inside, handlers=handlers) if exits(inside):
                return all(exits(handler.body) for handler in handlers)
            case _:
                pass
    return False


def may_leave(body: Iterable[ast.stmt]) -> bool:
    """Return whether a block can leave its loop without an exception."""
    for one in body:
        match one:
            case ast.Return() | ast.Break():
                return True
            case ast.For() | ast.While() | ast.AsyncFor():
                if any(isinstance(inside, ast.Return) for inside in own(one.body)):
                    return True
            case ast.If() | ast.With() | ast.AsyncWith() | ast.Try():
                if may_leave([*one.body, *getattr(one, "orelse", [])]):
                    return True
            case _:
                pass
    return False


def tries_in(body: Iterable[ast.stmt]) -> Iterator[ast.Try]:
    for one in body:
        if isinstance(one, ast.Try):
            yield one
        if isinstance(one, ast.Try | ast.With | ast.AsyncWith | ast.If):
            yield from tries_in([*one.body, *getattr(one, "orelse", [])])


class Again(NamedTuple):
    """A loop as a layer, and the `try` statements whose bodies happen again; none: all of it."""

    layer: Layer
    tries: list[ast.Try]


class Loops:
    def __init__(self, reader: Reader, table: Table) -> None:
        self.reader, self.table = reader, table

    def read(self, node: Loop, at: Context) -> Again | None:
        """Return a loop that tries again; `None` for any other loop."""
        names = (
            [one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)]
            if isinstance(node, ast.For | ast.AsyncFor)
            else []
        )
        test = ast.unparse(node.test) if isinstance(node, ast.While) else ""
        flags = set(re.findall(r"\w+", test))
        tries = [one for one in tries_in(node.body) if self.is_retried(one, node, flags)]
        sleeps = [
            one
            for one in own(node.body)
            if isinstance(one, ast.Call) and SLEEPS.search(ast.unparse(one.func))
        ]
        words = f"{' '.join(names)} {test} {at.scope.name}"
        if not tries and not (sleeps and may_leave(node.body) and RETRIES.search(words)):
            return None
        if isinstance(node, ast.While):
            if not sleeps and not RETRIES.search(ast.unparse(node)):
                return None  # a prompt, or a reader
        else:
            counted = re.match(r"range\(|(\w+\.)?count\(", ast.unparse(node.iter))
            if not counted and not RETRIES.search(words) and "delay" not in words:
                return None  # one after another
            if isinstance(node, ast.AsyncFor):
                return None
        number = self.count(node, at)
        loop = self.layer(node, at, tries, sleeps, number)
        return Again(loop, tries)

    @staticmethod
    def is_retried(one: ast.Try, loop: Loop, flags: set[str]) -> bool:
        again = [handler for handler in one.handlers if not exits(handler.body)]
        if not again:
            return False
        inside = [*one.body, *one.orelse]
        if may_leave(inside):
            return True
        for node in inside:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                if any(isinstance(to, ast.Name) and to.id in flags for to in node.targets):
                    return True
        return may_leave(loop.body) and all(
            any(isinstance(node, ast.Continue) for node in own(handler.body)) for handler in again
        )

    def layer(
        self,
        node: Loop,
        at: Context,
        tries: list[ast.Try],
        sleeps: list[ast.Call],
        number: float | None,
    ) -> Layer:
        handlers = [handler for one in tries for handler in one.handlers]
        catches = tuple(
            (name, not exits(handler.body))
            for handler in handlers
            for name in self.caught(handler, at)
        )
        flags: list[str] = []
        if not sleeps and (number or 3) > 2:
            flags.append("no delay")
        if isinstance(at.scope.node, ast.AsyncFunctionDef) and any(
            isinstance(found, External) and found.path == "time.sleep"
            for one in sleeps
            for found in self.reader.values(one.func, at)
        ):
            flags.append("time.sleep in a coroutine")
        waits = self.waits(node, at, sleeps, number)
        gives = tuple(self.given_up(node, at, handlers)) if number != inf else ()
        file = at.scope.module.path
        layer = Layer(file, node.lineno, "your loop", number, waits, catches, gives, "", (*flags,))
        return layer._replace(name=at.scope.name)

    def caught(self, handler: ast.ExceptHandler, at: Context) -> list[str]:
        """Return the names of the exceptions that a handler catches."""
        if handler.type is None:
            return [EVERYTHING[1]]
        return [*self.table.names(self.known(self.reader.values(handler.type, at)))] or [ANY]

    def known(self, values: Iterable[Value]) -> Iterator[Value]:
        """Yield values; tell the table of the bases of their classes."""
        for one in values:
            if isinstance(one, Items):
                for inside in one.items:
                    yield from self.known(inside)
                continue
            scope = (
                one.of if isinstance(one, Kind) else one.scope if isinstance(one, Made) else None
            )
            if scope is not None:
                self.table.know(scope, self.reader.ancestors(scope))
                yield Kind(scope)
            else:
                yield one

    def given_up(self, node: Loop, at: Context, handlers: list[ast.ExceptHandler]) -> Iterator[str]:
        """Yield the exceptions of a loop that gives up: those of its handlers, and after it."""
        last = node.end_lineno or 0
        after = [one for one in own(at.scope.body) if getattr(one, "lineno", 0) > last]
        again = [handler for handler in handlers if not exits(handler.body)]
        for one in [*own([*again, *node.orelse]), *after]:
            if isinstance(one, ast.Raise):
                yield from self.raised(one, at)

    def raised(self, node: ast.Raise, at: Context) -> list[str]:
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        found = [*self.table.names(self.known(self.reader.values(made, at)))]
        if isinstance(node.exc, ast.Name | ast.Attribute | None) and not any(
            map(self.is_class, found)
        ):
            return [SAME]
        return found or [ANY]

    def is_class(self, name: str) -> bool:
        return name in self.table.classes or name.rpartition(".")[2][:1].isupper()

    def count(self, node: Loop, at: Context) -> float | None:
        if isinstance(node, ast.While):
            return self.while_count(node, at)
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=args):
                limits = [number(self.reader.values(one, at)) for one in args]
                known = [int(one) for one in limits if one is not None]
                return len(range(*known)) if len(known) == len(limits) else None
            case ast.Call(func=ast.Name(id="enumerate"), args=[of, *_]):
                return self.length(of, at)
            case ast.Call(func=function) if ast.unparse(function) in ("count", "itertools.count"):
                return self.guarded(node, at, inf)
            case _:
                return self.length(node.iter, at)

    def length(self, node: ast.expr, at: Context) -> float | None:
        values = self.reader.values(node, at)
        return next((len(one.items) for one in values if isinstance(one, Items)), None)

    def while_count(self, node: ast.While, at: Context) -> float | None:
        for one in ast.walk(node.test):
            if not isinstance(one, ast.Compare) or CLOCK.search(ast.unparse(one)):
                continue
            start, limit = (
                self.start(one.left, at),
                number(self.reader.values(one.comparators[0], at)),
            )
            if isinstance(one.ops[0], ast.Lt | ast.LtE):
                if limit is None:
                    return None
                return max(0, limit - (start or 0) + isinstance(one.ops[0], ast.LtE))
            if isinstance(one.ops[0], ast.Gt | ast.GtE):
                return start
        endless = isinstance(node.test, ast.Constant)
        return self.guarded(node, at, inf if endless else None)

    def start(self, node: ast.expr, at: Context) -> float | None:
        """Return the first value of a counter."""
        found = at.scope.names.get(ast.unparse(node), [])
        return number(self.reader.bound(found[:1], "", at, 0))

    def guarded(self, loop: Loop, at: Context, otherwise: float | None) -> float | None:
        """Return the tries of a loop that `if attempt >= 3: raise` ends."""
        ups = {
            ast.unparse(one.target): one.lineno
            for one in own(loop.body)
            if isinstance(one, ast.AugAssign)
        }
        if isinstance(loop, ast.For):
            ups[ast.unparse(loop.target)] = loop.end_lineno or 0
        found: list[float] = []
        for one in own(loop.body):
            if not isinstance(one, ast.If) or not (exits(one.body) or exits(one.orelse)):
                continue
            if CLOCK.search(ast.unparse(one.test)):
                otherwise = None
            for compare in ast.walk(one.test):
                match compare:
                    case ast.Compare(left=left, ops=[op], comparators=[right]):
                        if ast.unparse(left) not in ups:
                            continue
                        otherwise = None
                        limit = number(self.reader.values(right, at))
                        if limit is None:
                            return None
                        late = ups[ast.unparse(left)] > one.lineno
                        strict = isinstance(op, ast.Gt | ast.LtE)
                        found.append(limit - (self.start(left, at) or 0) + late + strict)
                    case _:
                        pass
        return min(found) if found else otherwise

    def waits(
        self, loop: Loop, at: Context, sleeps: list[ast.Call], tries: float | None
    ) -> float | None:
        """Return the seconds of all waits, if the source shows each of them."""
        if not sleeps or tries is None or tries > 100:
            return None if sleeps else 0
        counters = [ast.unparse(loop.target)] if isinstance(loop, ast.For) else []
        counters += [
            ast.unparse(one.target) for one in own(loop.body) if isinstance(one, ast.AugAssign)
        ]
        total = 0.0
        for index in range(int(tries) - 1):
            env = {**dict(at.env), **{one: (Const(index),) for one in counters[:1]}}
            here = at._replace(env=tuple(env.items()))
            seconds = [number(self.reader.values(one.args[0], here)) for one in sleeps if one.args]
            if not seconds or None in seconds:
                return None
            total += max(one for one in seconds if one is not None)
        return total
