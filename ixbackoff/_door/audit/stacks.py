"""Stacks of layers: the calls of a code base that more than one layer tries again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from math import inf, prod
from pathlib import Path
from typing import NamedTuple

from .code_base import CodeBase, Definition, Scope, own
from .layers import ANY, SAME, Layer, Table
from .own_loops import Loops, exits
from .values import Closure, Context, Env, External, Kind, Made, Reader, Ready, Values

PRAGMA = re.compile(r"#\s*ixbackoff: one layer\b")
DEEPEST, KEPT, NODES = 25, 8, 60_000  # calls in calls; stacks of a function; nodes of an entry
OURS = "ixbackoff"
SINGLE = External("ixbackoff.testing.single_try()")
CALLS = ("", ".call", ".wraps", ".stream", ".run", ".run_async")  # of an object that tries again


class Stack(NamedTuple):
    """Layers around a call, the outermost first; only a leaf, if there are none."""

    layers: tuple[Layer, ...]
    leaf: str = ""  # a call of another library
    gives: tuple[str, ...] = (ANY,)  # its exceptions; none if it raises none
    way: tuple[str, ...] = ()
    sure: bool = True

    @property
    def tries(self) -> float:
        """The product; an unknown count is taken for 1."""
        return prod(one.tries or 1 for one in self.layers)

    @property
    def known(self) -> bool:
        return all(one.tries is not None for one in self.layers)

    def once(self) -> Stack:
        """Return the stack without the retries of ixbackoff."""
        return self._replace(layers=tuple(one for one in self.layers if one.library != OURS))

    @property
    def places(self) -> tuple[tuple[Path, int], ...]:
        return tuple((one.file, one.line) for one in self.layers)


Stacks = tuple[Stack, ...]


class Walk:
    """Follows the calls of each function, and collects the stacks below it."""

    def __init__(self, code: CodeBase, table: Table) -> None:
        self.code, self.table, self.reader = code, table, Reader(code)
        self.loops = Loops(self.reader, table)
        self.done: dict[tuple[Closure, Env], Stacks] = {}
        self.active: list[tuple[Closure, Env]] = []
        self.layers: dict[tuple[Path, int], Layer] = {}
        self.calls: dict[int, bool] = {}  # whether a call was resolved
        self.left = 0
        self.given_up = 0

    def all(self) -> list[Stack]:
        """Return the stacks of two layers or more that are no part of another, the largest first."""
        found: dict[object, Stack] = {}
        for module in self.code.with_layers():
            entries = [Closure(one, (), made_by(one)) for one in module.scope.functions()]
            stacks = [one for entry in entries for one in self.entered(entry)]
            self.left = NODES
            stacks += self.below(module.scope.body, Context(module.scope))
            for one in stacks:
                other = found.get(one.places)
                if other is None or (other.known, -len(other.way)) < (one.known, -len(one.way)):
                    found[one.places] = one
        tails = {one.places[cut:] for one in found.values() for cut in range(1, len(one.layers))}
        several = [one for one in found.values() if len(one.layers) > 1]
        kept = [one for one in several if one.places not in tails and not self.intended(one)]
        return sorted(kept, key=lambda one: (not one.sure, -one.tries, str(one.places)))

    def entered(self, function: Closure) -> Stacks:
        self.left = NODES
        found = self.into(function, Context(function.scope, (), function.owner))
        self.given_up += self.left <= 0
        return found

    @staticmethod
    def intended(stack: Stack) -> bool:
        modules = {
            file: file.read_text("utf-8", "replace").splitlines() for file, _ in stack.places
        }
        return any(PRAGMA.search(modules[file][line - 1]) for file, line in stack.places)

    def of(self, function: Closure, at: Context) -> Stacks:
        """Return the stacks of a call, through the decorators of its function."""
        key = function._replace(env=()), at.env
        if key in self.done:
            return self.done[key]
        again = sum(one.scope is function.scope for one, _ in self.active)
        given = any(isinstance(one, Closure | Ready) for _, values in at.env for one in values)
        if key in self.active or len(self.active) > DEEPEST or again > 2 * given or self.left <= 0:
            return ()
        self.active.append(key)
        found = self.below(function.scope.body, at)
        decorators: list[ast.expr] = getattr(function.scope.node, "decorator_list", [])
        for one in reversed(decorators):
            around = Context(function.scope.parent or function.scope)
            found = self.decorated(one, found, around, function.scope.name)
        self.active.pop()
        self.done[key] = found = fewest(found)
        return found

    def decorated(self, node: ast.expr, stacks: Stacks, at: Context, name: str) -> Stacks:
        for one in self.reader.values(node, at):
            if isinstance(one, External):
                layer = self.library(one, at, node.lineno)
                if layer is not None:
                    return self.again(layer._replace(name=name), stacks)
            elif isinstance(one, Closure) and one.scope.parameters:
                parameters = [parameter.arg for parameter, _ in one.scope.parameters]
                first = parameters[one.owner is not None and one.scope.is_method]
                env = {**dict(one.env), first: (Ready(stacks),)}
                inside = Context(one.scope, tuple(env.items()), one.owner)
                for wrapper in self.reader.returned(one, inside, 0):
                    if isinstance(wrapper, Closure):
                        found = self.of(wrapper, Context(wrapper.scope, wrapper.env, wrapper.owner))
                        if found:
                            return found
        return stacks

    def library(self, one: External, at: Context, line: int) -> Layer | None:
        """Return the layer of an object that tries again what it is given."""
        path = one.path.removesuffix("()")
        row = self.table.find(path, wraps=True)
        if row is None:
            return None
        for values in dict(one.given).values():
            [*self.loops.known(values)]
        layer = self.table.layer(row, one.given, at.scope.module.path, line)
        return layer and layer._replace(name=at.scope.name)

    def again(self, layer: Layer, stacks: Iterable[Stack]) -> Stacks:
        """Put a layer around stacks, if it tries again after what they give up with."""
        if layer.tries == 1:
            return tuple(stacks)
        self.layers[layer.file, layer.line] = layer
        found: list[Stack] = []
        around = False
        for stack in stacks:
            one = stack.once() if layer.library == OURS and layer.once else stack
            if layer.library == OURS and stack.layers and stack.layers[0].once:
                one = stack.once()
            by_results = layer.catches == ()
            verdicts = [self.table.retried(layer, failure) for failure in one.gives]
            if by_results:
                verdicts = [False for _ in one.gives] or [None]
            if True not in verdicts and None not in verdicts:
                found.append(one)
                continue
            around = True
            retried = [
                failure
                for failure, verdict in zip(one.gives, verdicts, strict=False)
                if verdict is not False
            ]
            passed = [failure for failure in one.gives if failure not in retried]
            given = [name for name in layer.gives if name != SAME]
            given += retried if SAME in layer.gives else []
            sure = one.sure and True in verdicts
            gives = tuple(dict.fromkeys([*given, *passed]))
            found.append(one._replace(layers=(layer, *one.layers), gives=gives, sure=sure))
        if not around:
            caught = tuple(name for name, again in layer.catches or () if again) or (ANY,)
            gives = tuple(
                one for name in layer.gives for one in (caught if name == SAME else (name,))
            )
            found.append(Stack((layer,), "", tuple(dict.fromkeys(gives))))
        return tuple(found)

    def below(self, nodes: Iterable[ast.AST], at: Context) -> Stacks:
        return fewest(one for node in nodes for one in self.node(node, at))

    def node(self, node: ast.AST, at: Context) -> Stacks:
        self.left -= 1
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                return ()
            case ast.For() | ast.AsyncFor() | ast.While():
                return self.loop(node, at)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                inside = tuple(self.caught(one, handlers, at) for one in self.below(body, at))
                rest = [*orelse, *final, *(one for handler in handlers for one in handler.body)]
                return inside + self.below(rest, at)
            case ast.With(items=items, body=body) if any(
                one == SINGLE for item in items for one in self.reader.values(item.context_expr, at)
            ):
                return tuple(one.once() for one in self.below(body, at))
            case ast.Call():
                return self.below(ast.iter_child_nodes(node), at) + self.call(node, at)
            case _:
                return self.below(ast.iter_child_nodes(node), at)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, at: Context) -> Stacks:
        head = () if isinstance(node, ast.While) else self.node(node.iter, at)
        body = [*node.body, *node.orelse]
        if not isinstance(node, ast.While):
            for one in self.reader.values(node.iter, at):
                layer = self.library(one, at, node.lineno) if isinstance(one, External) else None
                if layer is not None:
                    return self.again(layer, self.below(body, at))
        found = self.loops.read(node, at)
        if found is None:
            return head + self.below(body, at)
        if not found.tries:
            return head + self.again(found.layer, self.below(body, at))
        hot = [inside for one in found.tries for inside in (*one.body, *one.orelse)]
        inside = self.again(found.layer, self.below(hot, at))
        return head + inside + self.below((one for one in body if one not in found.tries), at)

    def caught(self, stack: Stack, handlers: list[ast.ExceptHandler], at: Context) -> Stack:
        """Return a stack as it comes out of a `try`: with the exceptions of its handlers."""
        gives: list[str] = []
        sure = stack.sure
        for failure in stack.gives:
            for handler in handlers:
                names = tuple((name, True) for name in self.loops.caught(handler, at))
                probe = Layer(at.scope.module.path, 0, "", None, catches=names)
                bases = {
                    *self.table.ancestry(failure),
                    "builtins.Exception",
                    "builtins.BaseException",
                }
                if self.table.retried(probe, failure) is False:
                    continue
                whole = any(name in bases for name, _ in names)
                raises = [one for one in own(handler.body) if isinstance(one, ast.Raise)]
                raised = [name for one in raises for name in self.loops.raised(one, at)]
                gives += [failure if name == SAME else name for name in raised]
                sure &= not raises or exits(handler.body)
                if whole:
                    break
            else:
                gives.append(failure)
        return stack._replace(gives=tuple(dict.fromkeys(gives)), sure=sure)

    def call(self, node: ast.Call, at: Context) -> Stacks:
        found: list[Stack] = []
        values = self.reader.values(node.func, at)
        self.calls[id(node)] = self.calls.get(id(node), False) or bool(values)
        for one in values:
            match one:
                case Ready(stacks=stacks):
                    found += stacks
                case Closure():
                    found += self.into(one, self.reader.entered(one, node, at, 0))
                case Made(scope=scope):
                    methods = self.reader.member(scope, "__call__", one, 0)
                    found += [
                        stack
                        for method in methods
                        if isinstance(method, Closure)
                        for stack in self.into(method, self.reader.entered(method, node, at, 0))
                    ]
                case External():
                    found += self.external(one, node, at)
                case _:
                    pass
        return tuple(found)

    def into(self, function: Closure, at: Context) -> Stacks:
        name = function.scope.name
        return tuple(one._replace(way=(name, *one.way)) for one in self.of(function, at))

    def external(self, one: External, node: ast.Call, at: Context) -> Stacks:
        """Return the stacks of a call into another library."""
        base, end, method = one.path.rpartition("()")
        index = self.table.passes.get(one.path)
        layer = self.library(External(base, one.given), at, node.lineno) if end else None
        if layer is not None and method in CALLS:
            arguments = [self.reader.values(argument, at) for argument in node.args[:1]]
            return self.again(layer, self.inside((*arguments, *dict(one.given).values()), at))
        if index is not None:
            arguments = [self.reader.values(argument, at) for argument in node.args[index:]]
            return self.inside(arguments[:1], at)
        row = self.table.find(one.path, wraps=False)
        if row is None:
            return ()
        given = {**dict(one.given), **self.reader.keywords(node, at, 0)}
        file = at.scope.module.path
        layer = self.table.layer(row, tuple(given.items()), file, node.lineno)
        if layer is None or layer.tries == 1:
            return (Stack((), one.path, tuple(row.gives)),)
        self.layers[file, node.lineno] = layer = layer._replace(name=one.path)
        return (Stack((layer,), one.path, layer.gives, sure=layer.tries is not None),)

    def inside(self, arguments: Iterable[Values], at: Context) -> Stacks:
        """Return the stacks of the functions among arguments, and in commands that call them."""
        found: list[Stack] = []
        for one in (one for values in arguments for one in values):
            if isinstance(one, Ready):
                found += one.stacks
            elif isinstance(one, Closure):
                found += self.into(one, self.reader.entered(one, None, at, 0))
            elif isinstance(one, External) and one.path == "ixbackoff.call()":
                found += self.inside(dict(one.given).values(), at)
        return tuple(found)


def made_by(scope: Scope) -> Made | None:
    return Made(scope.parent, (), False) if scope.is_method and scope.parent else None


def fewest(stacks: Iterable[Stack]) -> Stacks:
    """Return the stacks with different layers, those with the shortest way."""
    found: dict[object, Stack] = {}
    for one in stacks:
        key = one.places or one.leaf
        if key not in found or len(one.way) < len(found[key].way):
            found[key] = one
    return tuple(sorted(found.values(), key=lambda one: (-len(one.layers), -one.tries))[:KEPT])
