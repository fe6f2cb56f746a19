"""The modules of a code base, their scopes, and the names that each scope binds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
SOURCES = ("src", "lib", "backend")  # folders whose name is not a part of a module's name
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(.*)|import[ \t]+([\w.]+))", re.M
)
HINT = re.compile(rb"retr[yi]|attempt|tries|backoff|sleep|for _\w* in range")
"""Words of which a module with a layer has at least one."""


class Imported(NamedTuple):
    base: str
    name: str  # empty for the module itself


class Annotated(NamedTuple):
    annotation: ast.expr


Binding: TypeAlias = "Scope | Imported | Annotated | ast.expr"


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes and all below them, in their order, without the bodies of functions and classes."""
    stack = [*nodes][::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.Lambda):
            continue
        below: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, Definition):
            below = node.decorator_list
        stack += [*below][::-1]


class Scope:
    """A module, class, function or lambda."""

    def __init__(self, node: ast.Module | Definition, module: Module, parent: Scope | None) -> None:
        self.node, self.module, self.parent = node, module, parent
        self.name: str = getattr(node, "name", "<lambda>" if parent else module.name)
        self.body: list[ast.stmt] = (
            [ast.copy_location(ast.Expr(node.body), node.body)]
            if isinstance(node, ast.Lambda)
            else node.body
        )
        self.names: dict[str, list[Binding]] = {}
        self.inner: dict[ast.AST, Scope] = {}
        for one in own(self.body):
            if isinstance(one, Definition):
                self.inner[one] = scope = Scope(one, module, self)
                self.bind(scope.name, scope)
            else:
                self.read(one)

    def bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)

    def read(self, node: ast.AST) -> None:
        """Bind the names of one statement."""
        match node:
            case ast.Import(names=names):
                for alias in names:
                    path = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.bind(alias.asname or path, Imported(path, ""))
            case ast.ImportFrom(module=base, names=names, level=level):
                path = self.module.absolute("." * level + (base or ""))
                for alias in names:
                    self.bind(alias.asname or alias.name, Imported(path, alias.name))
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.bind(target.id, value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=one):
                self.bind(name, one or Annotated(annotation))
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self.bind(name, value)
            case ast.withitem(optional_vars=ast.Name(id=name), context_expr=value):
                self.bind(name, value)
            case _:
                pass

    @cached_property
    def key(self) -> str:
        """The dotted name, which is that of an exception, if this is its class."""
        return f"{self.parent.key}.{self.name}" if self.parent else self.name

    @cached_property
    def parameters(self) -> list[tuple[ast.arg, ast.expr | None]]:
        if isinstance(self.node, ast.Module | ast.ClassDef):
            return []
        given = self.node.args
        named = [*given.posonlyargs, *given.args]
        missing = [None] * (len(named) - len(given.defaults))
        last = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        return [*zip(named, [*missing, *given.defaults], strict=True), *last]

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_method(self) -> bool:
        return self.parent is not None and self.parent.is_class and not self.is_class

    def decorated(self, *names: str) -> bool:
        found = getattr(self.node, "decorator_list", [])
        return any(ast.unparse(one).rpartition(".")[2] in names for one in found)

    def functions(self) -> Iterator[Scope]:
        """Yield the functions in a scope, at any depth."""
        for scope in self.inner.values():
            if not scope.is_class and not isinstance(scope.node, ast.Lambda):
                yield scope
            yield from scope.functions()


class Module:
    """A file of the code base; it is parsed again at its first use, since trees need much memory."""

    def __init__(self, path: Path, root: Path, text: bytes) -> None:
        self.path, self.package = path, path.stem == "__init__"
        inside = path.parent / "__init__.py"
        parts = [] if self.package else [path.stem]
        if inside.exists():
            folder = path.parent
            while (folder / "__init__.py").exists() and folder != folder.parent:
                parts, folder = [folder.name, *parts], folder.parent
        else:
            parts = [*(path.relative_to(root).parent.parts if path != root else ()), path.stem]
            while len(parts) > 1 and parts[0] in SOURCES:
                parts = parts[1:]
        self.name = ".".join(parts)
        self.hints = HINT.search(text) is not None
        self.imports: set[str] = set()
        for base, names, alone in IMPORT.findall(text):
            path_ = self.absolute((base or alone).decode())
            words = re.findall(r"\w+", names.decode(errors="replace"))
            self.imports |= {path_, *(f"{path_}.{word}" for word in words)}

    def absolute(self, name: str) -> str:
        """Return the name of an imported module without leading dots."""
        level = len(name) - len(name.lstrip("."))
        if not level:
            return name
        parts = self.name.split(".")
        parts = parts[: len(parts) - level + self.package]
        return ".".join([*parts, name[level:]]).strip(".")

    @cached_property
    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8", errors="replace").splitlines()

    @cached_property
    def scope(self) -> Scope:
        return Scope(ast.parse(self.path.read_bytes()), self, None)


class CodeBase:
    """All modules, by their names."""

    def __init__(self, files: Iterable[tuple[Path, Path]], libraries: Iterable[str]) -> None:
        self.modules: dict[str, Module] = {}
        self.unreadable: list[Path] = []
        self.libraries = set(libraries)
        self.ends: dict[str, list[Module]] = {}
        for path, root in files:
            try:
                text = path.read_bytes()
                ast.parse(text)
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                self.unreadable.append(path)
                continue
            module = Module(path, root, text)
            self.modules[module.name] = module
            parts = module.name.split(".")
            for cut in range(1, len(parts)):
                self.ends.setdefault(".".join(parts[cut:]), []).append(module)

    def find(self, name: str) -> Module | None:
        """Return a module by its name, or by the end of its name, if only one has that."""
        found = self.modules.get(name)
        if found is None and name.partition(".")[0] not in self.libraries:
            ends = self.ends.get(name, ())
            return ends[0] if len(ends) == 1 else None
        return found

    def with_layers(self) -> list[Module]:
        """Return the modules that may have layers, and those that import them, also indirectly."""
        users: dict[str, list[Module]] = {}
        for module in self.modules.values():
            for name in module.imports:
                if (found := self.find(name)) is not None:
                    users.setdefault(found.name, []).append(module)
        roots = self.libraries
        left = [
            one
            for one in self.modules.values()
            if one.hints or any(name.partition(".")[0] in roots for name in one.imports)
        ]
        found_all: dict[str, Module] = {}
        while left:
            module = left.pop()
            if module.name not in found_all:
                found_all[module.name] = module
                left += users.get(module.name, [])
        return [one for name, one in self.modules.items() if name in found_all]
