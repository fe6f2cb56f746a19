"""The functions with a layer of retries in them or in what they call."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable

from .code_base import name_of
from .evaluation import Closure, Context, External, Items, Made, Reader, Value
from .own_loops import Loop, Loops, named


class Reaching:
    """A call graph: what each function calls or passes on. It follows no arguments into calls."""

    def __init__(self, reader: Reader, loops: Loops) -> None:
        self.reader, self.loops = reader, loops
        self.calls = self.resolved = 0
        self.callers: dict[str, set[str]] = defaultdict(set)
        self.found: set[str] = set()
        for module in reader.code.each(reader.done, reader.envs):
            for scope in module.scope.everything():
                around = Context(scope).around
                of = [self.reader.values(one, around) for one in scope.decorators]
                self.mention(scope.key, [*sum(of, ()), *reader.ancestors(scope)])
                for one in scope.inner.values():
                    self.callers[one.key].add(scope.key)
                owner = None if scope.owner is None else Made(scope.owner)
                self.read(Context(scope, owner=owner))
        reader.done.clear()
        todo = [*self.found]
        self.near = self.found.union(*(self.callers[one] for one in todo))
        """The functions with a layer in them, and their callers."""
        while todo:
            new = self.callers[todo.pop()] - self.found
            self.found |= new
            todo += new

    def read(self, at: Context) -> None:
        for node in at.scope.nodes:
            if isinstance(node, Loop) and self.loops.read(node, at):
                self.found.add(at.scope.key)
            if isinstance(node, ast.If):
                for one in ast.walk(node.test):
                    if isinstance(one, ast.Compare) or name_of(one) == "startswith":
                        self.reader.deciding |= named(one)
                flag = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
                self.reader.deciding |= named(flag) if isinstance(flag, ast.Name) else set()
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                called = self.reader.values(node.func, at)
                self.mention(at.scope.key, called)
                self.calls += 1
                self.resolved += bool(called)
                given = [*node.args, *(one.value for one in node.keywords)]
            elif isinstance(node, ast.For):
                given = [node.iter]
            for one in given:
                self.mention(at.scope.key, self.reader.values(one, at))

    def mention(self, key: str, values: Iterable[Value]) -> None:
        for one in values:
            if isinstance(one, Items):
                self.mention(key, one.inside.values)
            elif isinstance(one, Closure | Made):
                self.callers[one.scope.key].add(key)
            elif isinstance(one, External):
                library = one.path.partition(".")[0] in self.reader.code.libraries
                self.found |= {key} if library else set()
