"""The modules of a code base, their scopes, and the names that each scope binds."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
KEPT, SHARE = 500_000, 16  # `CodeBase.each` drops trees after max(KEPT, all source / SHARE) bytes


class Imported(NamedTuple):
    base: str
    name: str = ""  # empty for the module itself


BINDING = (ast.stmt, ast.withitem, ast.Call, ast.NamedExpr, ast.Lambda)  # `a.mount(b, c)` binds too
Binding: TypeAlias = "Scope | Imported | ast.AnnAssign | ast.expr"


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node, without `ctx`; faster than `ast.iter_child_nodes`."""
    below: list[Any] = [getattr(node, name, None) for name in node._fields if name != "ctx"]
    parts: list[Any] = []
    for one in below:
        parts += one if type(one) is list else [one]
    return [part for part in parts if isinstance(part, ast.AST)]


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and all below them, in order; below a definition, only decorators, last first."""
    stack = [*nodes][::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Definition):
            stack += getattr(node, "decorator_list", [])
        else:
            stack += children(node)[::-1]


def name_of(node: ast.AST) -> str:
    """Return the last part of a name, such as `b` of `a.b` and of `a.b()`."""
    of = node.func if isinstance(node, ast.Call) else node
    return of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")


def first_name(node: ast.AST) -> str:
    """Return the first part of a name, such as `a` of `a.b` and of `a[0].b()`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")


class Scope:
    """A module, class, function or lambda."""

    def __init__(self, node: ast.Module | Definition, module: Module, parent: Scope | None) -> None:
        self.node, self.module, self.parent = node, module, parent
        self.name: str = getattr(node, "name", "<lambda>" if parent else module.name)
        self.key: str = f"{parent.key}.{self.name}" if parent else self.name
        inside = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
        self.body: list[ast.stmt] = [*inside]
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_method = parent is not None and parent.is_class and not self.is_class
        self.owner: Scope | None = parent if self.is_method else parent and parent.owner
        """The class whose instance `self` is."""
        self.decorators: list[ast.expr] = getattr(node, "decorator_list", [])

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return [*own(self.body)]

    @cached_property
    def inner(self) -> dict[ast.AST, Scope]:
        definitions = [one for one in self.nodes if isinstance(one, Definition)]
        return {one: Scope(one, self.module, self) for one in definitions}

    @cached_property
    def names(self) -> dict[str, list[Binding]]:
        found: dict[str, list[Binding]] = {}
        for one in self.nodes:
            for name, binding in self.bindings(one) if isinstance(one, BINDING) else ():
                found.setdefault(name, []).append(binding)
        return found

    def bindings(self, node: ast.AST) -> Iterator[tuple[str, Binding]]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                yield self.inner[node].name, self.inner[node]
            case ast.Import(names=names):
                for alias in names:
                    path = alias.name if alias.asname else alias.name.partition(".")[0]
                    yield alias.asname or path, Imported(path)
            case ast.ImportFrom(names=names):
                base = self.module.absolute(node.module or "", node.level)
                for alias in names:
                    yield alias.asname or alias.name, Imported(base, alias.name)
            case ast.Assign(targets=[ast.Tuple(elts=[_, _] as parts)], value=ast.Call() as value):
                for index, one in enumerate(parts):
                    yield ast.unparse(one), ast.Subscript(value, ast.Constant(index))
            case ast.Assign(targets=targets, value=value):
                plain = [one for one in targets if isinstance(one, ast.Name | ast.Attribute)]
                yield from ((ast.unparse(one), value) for one in plain)
            case ast.AnnAssign(target=target):
                yield ast.unparse(target), node
            case ast.withitem(optional_vars=ast.Name(id=name), context_expr=value):
                yield name, value
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield name, value
            case ast.Call(func=ast.Attribute(value=of, attr="mount"), args=[_, value]):
                yield f"{ast.unparse(of)}.mount", value
            case _:
                pass

    @cached_property
    def parameters(self) -> list[tuple[ast.arg, ast.expr | None]]:
        given = getattr(self.node, "args", None)
        if not isinstance(given, ast.arguments):
            return []
        named = [*given.posonlyargs, *given.args]
        defaults = [*[None] * (len(named) - len(given.defaults)), *given.defaults]
        pairs = (*zip(named, defaults, strict=True),)
        return [*pairs, *zip(given.kwonlyargs, given.kw_defaults, strict=True)]

    @cached_property
    def fields(self) -> dict[str, list[tuple[Scope, Binding]]]:
        """The values that the methods of a class assign to each attribute of `self`."""
        found: dict[str, list[tuple[Scope, Binding]]] = {}
        for method in self.inner.values():
            for name, values in method.names.items():
                if name.startswith("self."):
                    found.setdefault(name[5:], []).extend((method, one) for one in values)
        return found

    @cached_property
    def results(self) -> list[ast.expr | None]:
        if isinstance(self.node, ast.Lambda):
            return [self.node.body]
        return [one.value for one in self.nodes if isinstance(one, ast.Return | ast.Yield)]

    def decorated(self, *names: str) -> bool:
        return any(name_of(one) in names for one in self.decorators)

    def everything(self) -> Iterator[Scope]:
        """Yield this scope, and the scopes in it at any depth."""
        yield self
        for one in self.inner.values():
            yield from one.everything()


class Module:
    """A file of the code base. Reading `scope` parses the file again if its tree was dropped."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.is_package = path, path.stem == "__init__"
        self.readable = True
        parts = [*path.relative_to(root).parent.parts, path.stem]
        if (root / "__init__.py").exists():
            parts = [root.resolve().name, *parts]
        self.name = ".".join(parts[: len(parts) - self.is_package] or [root.resolve().name])

    def absolute(self, name: str, level: int) -> str:
        """Return the absolute name of the module in an import with `level` leading dots."""
        parts = self.name.split(".")
        parts = parts[: len(parts) - level + self.is_package] if level else []
        return ".".join([*parts, *filter(None, [name])])

    @cached_property
    def scope(self) -> Scope:
        try:
            return Scope(ast.parse(self.path.read_bytes()), self, None)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            self.readable = False
            return Scope(ast.Module([], []), self, None)


class CodeBase:
    """All modules by their names."""

    def __init__(self, files: Iterable[tuple[Path, Path]], libraries: set[str]) -> None:
        self.libraries = libraries
        found = [Module(path, root) for path, root in files]
        self.modules = {one.name: one for one in found}
        ends: dict[str, list[Module]] = {}
        for module in found:
            for cut in range(1, module.name.count(".") + 1):
                ends.setdefault(module.name.split(".", cut)[cut], []).append(module)
        self.ends = {name: same[0] for name, same in ends.items() if len(same) == 1}

    def each(self, *known: dict[Any, Any]) -> Iterator[Module]:
        """Yield all modules; after each share of the source, drop all trees and the caches `known`.

        Trees need some 30 times the memory of their source. The garbage collector would visit all
        trees again and again while they grow in number, so it is off meanwhile.
        """
        sizes = [module.path.stat().st_size for module in self.modules.values()]
        size, limit, collects = 0, max(KEPT, sum(sizes) // SHARE), gc.isenabled()
        gc.disable()
        try:
            for module, more in zip(self.modules.values(), sizes, strict=True):
                yield module
                size += more
                if size > limit:
                    size = 0
                    for about in known:
                        about.clear()
                    for one in self.modules.values():
                        one.__dict__.pop("scope", None)
                    gc.collect()
        finally:
            if collects:
                gc.enable()

    def find(self, name: str) -> Module | None:
        """Find a module by its name, or by a unique end such as `b.c` unless `b` is a library."""
        library = name.partition(".")[0] in self.libraries
        return self.modules.get(name) or (None if library else self.ends.get(name))
