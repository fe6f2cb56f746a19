"""Stacks of layers: the calls of a code base that more than one layer tries again."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from math import inf, prod
from pathlib import Path
from typing import NamedTuple, TypeAlias

from .code_base import CodeBase, Definition, children
from .evaluation import Closure, Context, External, Made, Reader, Ready, Value, Values, fits
from .layers import ANY, EVERYTHING, ONCE, OURS, SAME, Layer, LayerTable
from .own_loops import Loop, Loops, exits
from .reaching import Reaching

PRAGMA = re.compile(r"#\s*ixbackoff: one layer\b")
DEEPEST, KEPT, MOST = 25, 8, 5_000  # maxima: nested calls; stacks from `below`; steps per function
SPARE, EACH = 600_000, 4  # steps that all functions share, and how many more each function adds
CALLS = ("", ".call", ".wraps", ".stream", ".run", ".run_async")  # of an object that retries
Step: TypeAlias = ast.Call | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.If | ast.Return


class Stack(NamedTuple):
    """The layers around a call, the outermost first; a call that is tried once has none."""

    layers: tuple[Layer, ...]
    leaf: str = ""  # a call of another library
    gives: tuple[str, ...] = (ANY,)  # the exceptions that leave the outermost layer
    way: tuple[str, ...] = ()  # the functions that lead to the call
    sure: bool = True  # whether each layer certainly retries the call
    later: bool = False  # in a coroutine that is returned, and awaited elsewhere

    @property
    def tries(self) -> float:
        """The product of the tries; an unknown count is taken for 1."""
        return prod(one.tries or 1 for one in self.layers)

    @property
    def unknown(self) -> int:
        return sum(one.tries is None for one in self.layers)

    def rank(self) -> tuple[bool, int, float, int]:
        return not self.sure, self.unknown, -self.tries, len(self.way)

    @property
    def places(self) -> tuple[tuple[Path, int], ...]:
        return tuple((one.file, one.line) for one in self.layers)


class Follower:
    """Follows the calls of each function, and collects the stacks below it."""

    def __init__(self, code: CodeBase, table: LayerTable) -> None:
        self.code, self.table, self.reader = code, table, Reader(code)
        self.loops = Loops(self.reader, table)
        self.done: dict[object, tuple[Stack, ...]] = {}
        self.active: list[Closure] = []
        self.layers: dict[tuple[Path, int], Layer] = {}
        self.known: dict[tuple[Path, int], bool] = {}
        """Calls of clients that the code base constructs; true if their tries are known."""
        self.inner: dict[ast.AST, list[Step]] = {}
        self.left = self.too_large = 0

    def all(self, chosen: Callable[[Path], bool] = bool) -> list[Stack]:
        """Return stacks of two layers or more: the sure ones, then the others; large ones first.

        A stack that is part of another is left out, unless it is sure and the larger one is not.
        """
        found: dict[object, Stack] = {}
        before, spare = sys.getrecursionlimit(), SPARE
        sys.setrecursionlimit(20_000)  # for nested calls, each with nested expressions
        self.reaching = Reaching(self.reader, self.loops)
        self.reader.reaching = self.reaching.found
        for module in self.code.each(self.reader.done, self.reader.envs, self.done, self.inner):
            for one in module.scope.everything() if chosen(module.path) else ():
                if one.is_class or isinstance(one.node, ast.Lambda):
                    continue
                owner = Made(one.owner) if one.is_method and one.owner else None
                spare += EACH
                near = one.key in self.reaching.near
                self.left = given = MOST if near else min(MOST, max(spare, EACH))
                for stack in self.into(Closure(one, owner=owner), Context(one, owner=owner)):
                    other = found.setdefault(stack.places, stack)
                    found[stack.places] = min(other, stack, key=Stack.rank)
                spare -= given - self.left
                self.too_large += self.left <= 0
        sys.setrecursionlimit(before)
        all_ = [(one, {*one.places}) for one in found.values() if len(one.layers) > 1]
        kept = [
            one
            for one, places in all_
            if not any(places < more and one.sure <= other.sure for other, more in all_)
            and not (one.layers[-1].tries is None and self.known.get(one.places[-1]))
            and not intended(one)
        ]
        return sorted(kept, key=lambda one: (not one.sure, -one.tries, str(one.places)))

    def into(self, function: Closure, at: Context) -> tuple[Stack, ...]:
        """Return the stacks of a call: those of the body, in the layers of its decorators."""
        scope, here = function.scope, function._replace(env=at.env)
        if not self.reader.entering(here):
            return ()
        again = sum(one.scope is scope for one in self.active)
        given = any(isinstance(one, Closure | Ready) for one in at.env.values)
        if here in self.active or again > 2 * given or self.left <= 0 or len(self.active) > DEEPEST:
            return ()
        found = self.done.get(at)
        if found is None:
            self.active.append(here)
            found = self.below(scope.body, at)
            for one in reversed(scope.decorators):
                found = self.decorated(one, found, Context(scope).around, scope.name)
            self.active.pop()
            if self.left > 0:
                self.done[at] = found
        return tuple(one._replace(way=(scope.name, *one.way), later=False) for one in found)

    def decorated(
        self, node: ast.expr, stacks: tuple[Stack, ...], at: Context, name: str
    ) -> tuple[Stack, ...]:
        for one in self.reader.values(node, at):
            if isinstance(one, External):
                layer = self.library(one, at, node.lineno, name)
                return self.again(layer, stacks) if layer else stacks
            if isinstance(one, Closure) and one.scope.parameters:
                parameters = [parameter.arg for parameter, _ in one.scope.parameters]
                first = parameters[one.owner is not None and one.scope.is_method]
                env = self.reader.env({**one.env.named, first: (Ready(stacks),)})
                wrappers = self.reader.returned(Context(one.scope, env, one.owner))
                found = self.inside(one for one in wrappers if isinstance(one, Closure))
                if found:
                    return found
        return stacks

    def library(self, one: External, at: Context, line: int, name: str) -> Layer | None:
        """Return the layer of an object that retries its argument; `None` for any other object."""
        row = self.table.find(one.path.removesuffix("()"), wraps=True)
        if row is None:
            return None
        self.loops.know(one.given.values)
        return self.table.layer(row, one.given, at.scope.module.path, line)._replace(name=name)

    def again(self, layer: Layer, stacks: Iterable[Stack]) -> tuple[Stack, ...]:
        """Put a layer around the stacks whose exceptions it retries; return others unchanged."""
        if layer.tries == 1:
            return tuple(stacks)
        self.layers[layer.file, layer.line] = layer

        def around(stack: Stack, caught: list[str], *, sure: bool) -> Stack:
            gives = [name for one in layer.gives for name in (caught if one == SAME else [one])]
            layers, unique = (layer, *stack.layers), dict.fromkeys([] if forever else gives)
            return stack._replace(layers=layers, gives=(*unique,), sure=sure)

        forever = layer.tries == inf and layer.library  # it never raises what it catches
        found: list[Stack] = []
        for stack in stacks:
            nested = layer.library == OURS and any(one.once for one in (layer, *stack.layers[:1]))
            # with nested="once" an inner @backoff makes one try, so it is no layer
            bare = tuple(one for one in stack.layers if one.off != ONCE)
            one = stack._replace(layers=bare) if nested else stack
            verdicts = {name: self.table.retried(layer.catches, name) for name in one.gives}
            if layer.catches == ():  # it retries results only
                verdicts = dict.fromkeys(one.gives, False) or {ANY: None}
            if layer.library == OURS and one.layers and one.layers[0].library == OURS:
                verdicts = dict.fromkeys(one.gives, True)  # a nested run is rejected in any case
            caught = [failure for failure, verdict in verdicts.items() if verdict is not False]
            whole = {name for name, again in layer.catches or () if again}
            rest = [
                failure
                for failure, verdict in verdicts.items()
                if verdict is False
                or (forever and not whole & {*self.table.ancestry(failure), *EVERYTHING})
            ]
            sure = one.sure and layer.sure and True in verdicts.values()
            caught = [] if one.later else caught
            if caught:
                found.append(around(one, caught, sure=sure))
            if rest or not caught:
                found.append(one._replace(gives=(*rest,)) if caught else one)
        if not any(one.layers[:1] == (layer,) for one in found):
            names = [name for name, again in layer.catches or () if again]
            caught = [ANY if name in EVERYTHING else name for name in names]
            found.append(around(Stack(()), caught, sure=True))
        return tuple(found)

    def steps(self, node: ast.AST) -> list[Step]:
        """Return the outermost calls, loops and blocks below a node."""
        if node not in self.inner:
            found = self.inner[node] = []
            for one in children(node):
                if isinstance(one, Step):
                    found.append(one)
                elif not isinstance(one, Definition):
                    found += self.steps(one)
        return self.inner[node]

    def below(self, nodes: Iterable[ast.AST], at: Context) -> tuple[Stack, ...]:
        """Return stacks below nodes; for equal places and exceptions, only the first by `rank`."""
        found: dict[object, Stack] = {}
        for node in nodes:
            steps = [node] if isinstance(node, Step) else self.steps(node)
            for one in () if isinstance(node, Definition) else steps:
                for stack in self.step(one, at):
                    once = [one.once for one in stack.layers[:1]]
                    key = stack.places or stack.leaf, stack.gives, *once
                    found[key] = min(found.get(key, stack), stack, key=Stack.rank)
            if isinstance(node, ast.If):
                holds = self.reader.holds(node.test, at)
                if holds is not None and exits(node.body if holds else node.orelse):
                    break
        return tuple(sorted(found.values(), key=lambda one: (-len(one.layers), -one.tries))[:KEPT])

    def step(self, node: Step, at: Context) -> tuple[Stack, ...]:
        self.left -= 1
        if self.left < 0 and len(self.active) > 1:
            return ()
        match node:
            case ast.For() | ast.AsyncFor() | ast.While():
                return self.loop(node, at)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                inside = tuple(self.caught(one, handlers, at) for one in self.below(body, at))
                rest = [*orelse, *final, *(one for handler in handlers for one in handler.body)]
                return inside + self.below(rest, at)
            case ast.If(test=test, body=body, orelse=orelse):
                holds = self.reader.holds(test, at)
                chosen = [*(body if holds is not False else ()), *(() if holds else orelse)]
                parts = ast.walk(test) if holds is None else ()
                compared = [one.left for one in parts if isinstance(one, ast.Compare)]
                state = any(isinstance(one, ast.Attribute) for one in compared)
                found = self.below([test, *chosen], at)
                return tuple(one._replace(sure=one.sure and not state) for one in found)
            case ast.Return(value=value):
                made = self.reader.values(value.func, at) if isinstance(value, ast.Call) else ()
                nodes = [one.scope.node for one in made if isinstance(one, Closure)]
                later = any(isinstance(one, ast.AsyncFunctionDef) for one in nodes)
                found = self.below([value] if value else [], at)
                return tuple(one._replace(later=one.later or later) for one in found)
            case ast.Call():
                return self.below(children(node), at) + self.call(node, at)

    def loop(self, node: Loop, at: Context) -> tuple[Stack, ...]:
        body = [*node.body, *node.orelse]
        head = () if isinstance(node, ast.While) else self.below([node.iter], at)
        over = () if isinstance(node, ast.While) else self.reader.values(node.iter, at)
        for one in over:
            if isinstance(one, External):
                layer = self.library(one, at, node.lineno, at.scope.name)
                if layer is not None:
                    return self.again(layer, self.below(body, at))
        found = self.loops.read(node, at)
        if found is None:
            return head + self.below(body, at)
        layer, tries = found
        hot = [inside for one in tries for inside in (*one.body, *one.orelse)]
        rest = [one for one in body if tries and one not in tries]
        return head + self.again(layer, self.below(hot or body, at)) + self.below(rest, at)

    def caught(self, stack: Stack, handlers: list[ast.ExceptHandler], at: Context) -> Stack:
        """Return a stack of a `try` body with the exceptions that leave the `try`."""
        if stack.later:
            return stack
        gives, sure = list[str](), stack.sure
        for failure in stack.gives:
            for handler in handlers:
                names = self.loops.caught(handler, at)
                if self.table.retried([(one, True) for one in names], failure) is False:
                    continue
                raises = [one for one in ast.walk(handler) if isinstance(one, ast.Raise)]
                raised = [name for one in raises for name in self.loops.raised(one, at)]
                gives += [failure if name == SAME else name for name in raised]
                sure &= not raises or exits(handler.body)
                if {*names} & {*self.table.ancestry(failure), *EVERYTHING}:
                    break
            else:
                gives.append(failure)
        return stack._replace(gives=tuple(dict.fromkeys(gives)), sure=sure)

    def call(self, node: ast.Call, at: Context) -> tuple[Stack, ...]:
        found: list[Stack] = []
        for one in self.reader.values(node.func, at):
            called: Values = (one,)
            if isinstance(one, Made):
                name = "__call__" if one.instance else "__init__"
                called = self.reader.member(self.reader.ancestors(one.scope), name, one)
            for value in called:
                if isinstance(value, Closure):
                    stacks = self.into(value, self.reader.entered(value, node, at))
                    if not stacks or fits(value, node, self.reader.keywords(node, at)):
                        found += stacks
                    elif value.scope.decorators:  # a decorator may remove an argument
                        found += [one._replace(sure=False) for one in stacks]
                elif isinstance(value, External) and value is one:
                    found += self.external(value, node, at)
                elif isinstance(value, Ready):
                    found += value.stacks
        return tuple(found)

    def external(self, one: External, node: ast.Call, at: Context) -> tuple[Stack, ...]:
        """Return the stacks of a call into another library."""
        base, end, method = one.path.rpartition("()")
        layer, file = None, at.scope.module.path
        if end and method in CALLS:
            name = ast.unparse(node.func)
            layer = self.library(External(base, one.given), at, node.lineno, name)
        index = 0 if layer else self.table.passes.get(one.path)
        if index is not None:
            arguments = [self.reader.values(node, at) for node in node.args[index : index + 1]]
            found = self.inside(sum(arguments, ()))
            if layer is None:
                return found
            commands = self.inside(one.given.values)
            return self.again(layer, (*map(undecorated, found), *commands))
        row = self.table.find(one.path, wraps=False)
        if row is None:
            return ()
        given = self.reader.keywords(node, at)
        if not row.get("call") and "**" not in one.given.named:
            given.pop("**", None)  # unknown arguments of the request do not concern the client
        both = self.reader.env({**one.given.named, **given})
        layer = self.table.layer(row, both, file, node.lineno)._replace(name=one.path)
        place = layer.file, layer.line
        if one.given.named.get("**") != ():  # a client made in the code base, not just annotated
            self.known[place] = self.known.get(place, True) and layer.tries is not None
        leaf = Stack((), one.path, layer.gives)
        if layer.tries == 1:
            return (leaf,)
        self.layers[place] = layer
        retried = leaf._replace(layers=(layer,), sure=layer.tries is not None)
        return (retried,) if retried.sure else (retried, leaf)

    def inside(self, given: Iterable[Value]) -> tuple[Stack, ...]:
        """Return the stacks of functions that are passed to another function or to a command."""
        found: list[Stack] = []
        for one in given:
            if isinstance(one, Ready):
                found += one.stacks
            elif isinstance(one, Closure):
                found += self.into(one, Context(one.scope, one.env, one.owner))
            elif isinstance(one, External) and one.path == "ixbackoff.call()":
                found += self.inside(one.given.values)
        return tuple(found)


def intended(stack: Stack) -> bool:
    """Return whether a comment on the line of a layer says that the stack is intended."""
    lines = {file: file.read_text("utf-8", "replace").splitlines() for file, _ in stack.places}
    return any(PRAGMA.search(lines[file][line - 1]) for file, line in stack.places)


def undecorated(stack: Stack) -> Stack:
    """Remove a function's own backoff from its stack, because another backoff replaces it."""
    own = [one.name for one in stack.layers[:1] if one.library == OURS] == [*stack.way[:1]]
    return stack._replace(layers=stack.layers[own:])


def walked(files: Iterable[tuple[Path, Path]], table: Path | None = None) -> Follower:
    """Return a follower of the code base in `files`, each a file and its import root."""
    files = [*files]
    rows = LayerTable(table, [*dict.fromkeys(root for _, root in files)])
    return Follower(CodeBase(files, rows.libraries), rows)
