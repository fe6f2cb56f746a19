"""The values that an expression may have, as far as the source shows them."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from .code_base import Binding, CodeBase, Imported, Scope

MOST, DEEPEST = 6, 8  # values of an expression; expressions in expressions
LARGEST = 1e6
COPIES = ("with_options", "replace", "copy", "options")  # methods that return an object like theirs
SAME = ("int", "float", "max", "min", "uniform", "tuple", "list", "partial")  # as an argument
WRAPPERS = ("Optional", "Union", "Annotated", "Awaitable", "ClassVar", "Final", "Type", "type")
GENERATORS = ("contextmanager", "asynccontextmanager")
Env: TypeAlias = "tuple[tuple[str, Values], ...]"


class Const(NamedTuple):
    value: Any


class Items(NamedTuple):
    items: tuple[Values, ...]
    keys: tuple[object, ...]


class External(NamedTuple):
    """A name of another library, such as `openai.OpenAI()`, with the arguments that it was given.

    Positional arguments have the name of the function, such as `retry`, `retry:1` and `retry:2`.
    """

    path: str
    given: Env = ()


class Closure(NamedTuple):
    """A function, with the values of the parameters around it."""

    scope: Scope
    env: Env = ()
    owner: Made | None = None


class Made(NamedTuple):
    """A class, or an instance of it."""

    scope: Scope
    env: Env = ()
    instance: bool = True


class Ready(NamedTuple):
    """A function that a decorator was given, with the stacks below it."""

    stacks: tuple[Any, ...]


Value: TypeAlias = Const | Items | External | Closure | Made | Ready
Values: TypeAlias = tuple[Value, ...]
UNKNOWN, NOTHING = External("?"), Const(None)
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other,
    ast.Pow: lambda one, other: one**other,
}


class Context(NamedTuple):
    """Where an expression stands, and the values of the parameters there."""

    scope: Scope
    env: Env = ()
    owner: Made | None = None


def frozen(named: dict[str, Values]) -> Env:
    return tuple((name, named[name]) for name in sorted(named) if named[name])


def number(values: Iterable[Value]) -> float | None:
    """Return the first number, such as 3 or "3"; `False` and `None` are 0."""
    for one in values:
        known: Any = one.value if isinstance(one, Const) else ""
        if known is None or known is False or type(known) in (int, float):
            return known or 0
        if isinstance(known, str) and known.isdecimal():
            return int(known)
    return None


class Reader:
    """Evaluates expressions: without the order of statements, but with the values of arguments."""

    def __init__(self, code: CodeBase) -> None:
        self.code = code
        self.busy: set[object] = set()
        self.done: dict[object, Values] = {}

    def values(self, node: ast.expr | None, at: Context, deep: int = 0) -> Values:
        mark = id(node), at
        if node is None or deep > DEEPEST or mark in self.busy:
            return ()
        if not self.busy and mark in self.done:  # what stands inside another one is cut off at it
            return self.done[mark]
        self.busy.add(mark)
        found = tuple(dict.fromkeys(self.read(node, at, deep + 1)))[:MOST]
        self.busy.discard(mark)
        if not self.busy:
            self.done[mark] = found
        return found

    def read(self, node: ast.expr, at: Context, deep: int) -> Iterable[Value]:
        match node:
            case ast.Constant(value=value):
                return (Const(value),)
            case ast.Await(value=of) | ast.Starred(value=of) | ast.NamedExpr(value=of):
                return self.values(of, at, deep)
            case ast.IfExp(body=one, orelse=other):
                return (*self.values(one, at, deep), *self.values(other, at, deep))
            case ast.BoolOp(values=nodes):
                found = [value for one in nodes for value in self.values(one, at, deep)]
                return [one for one in found if one != NOTHING] or found
            case ast.Tuple(elts=nodes) | ast.List(elts=nodes) | ast.Set(elts=nodes):
                items = tuple(self.values(one, at, deep) for one in nodes)
                return (Items(items, (*range(len(items)),)),)
            case ast.Dict(keys=keys, values=nodes):
                names = tuple(getattr(one, "value", None) for one in keys)
                return (Items(tuple(self.values(one, at, deep) for one in nodes), names),)
            case ast.Lambda() if node in at.scope.inner:
                return (Closure(at.scope.inner[node], at.env, at.owner),)
            case ast.BinOp(left=left, op=op, right=right):
                return combined(op, self.values(left, at, deep), self.values(right, at, deep))
            case ast.Subscript(value=of, slice=ast.Constant(value=key)):
                known = [one for one in self.values(of, at, deep) if isinstance(one, Items)]
                pairs = [pair for one in known for pair in zip(one.keys, one.items, strict=False)]
                return [value for one, values in pairs if one == key for value in values]
            case ast.Name(id=name):
                return self.named(name, at, deep)
            case ast.Attribute():
                return self.attribute(node, at, deep)
            case ast.Call():
                return self.result(node, at, deep)
            case _:
                return ()

    def named(self, name: str, at: Context, deep: int) -> Values:
        if found := dict(at.env).get(name):
            return found
        if name in ("self", "cls") and at.owner is not None:
            return (at.owner,)
        scope: Scope | None = at.scope
        while scope is not None:
            here = at._replace(scope=scope)
            if name in scope.names and (scope is at.scope or not scope.is_class):
                return self.bound(scope.names[name], here, deep)
            for parameter, default in scope.parameters:
                if parameter.arg == name:
                    around = Context(scope.parent or scope, at.env)
                    found = self.values(default, around, deep)
                    known = found not in ((), (NOTHING,))
                    return found if known else self.annotated(parameter.annotation, around, deep)
            scope = scope.parent
        return (External(f"builtins.{name}"),) if hasattr(builtins, name) else ()

    def annotated(self, node: ast.expr | None, at: Context, deep: int) -> Values:
        """Return an instance of each class that an annotation names, by default arguments."""
        match node:
            case ast.Constant(value=str() as text):
                with suppress(SyntaxError):
                    return self.annotated(ast.parse(text, mode="eval").body, at, deep)
            case ast.BinOp(left=left, right=right):
                return self.annotated(left, at, deep) + self.annotated(right, at, deep)
            case ast.Subscript(value=of, slice=inside):
                wraps = ast.unparse(of).rpartition(".")[2] in WRAPPERS
                parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
                nodes = parts if wraps else [of]
                return tuple(one for part in nodes for one in self.annotated(part, at, deep))
            case ast.Name() | ast.Attribute():
                found = self.values(node, at, deep)
                made = [Made(one.scope) for one in found if isinstance(one, Made)]
                paths = [one.path for one in found if isinstance(one, External)]
                return (*made, *(External(f"{one}()") for one in paths))
            case _:
                pass
        return ()

    def bound(self, bindings: list[Binding], at: Context, deep: int) -> Values:
        found: list[Value] = []
        for one in bindings[:MOST]:
            if isinstance(one, Scope):
                made = Made(one, instance=False)
                owner = None if one.is_method else at.owner
                found.append(made if one.is_class else Closure(one, at.env, owner))
            elif isinstance(one, Imported):
                found += self.imported(one, deep)
            elif isinstance(one, ast.AnnAssign):
                value = self.values(one.value, at, deep)
                found += value or self.annotated(one.annotation, at, deep)
            else:
                found += self.values(one, at, deep)
        return tuple(found)

    def imported(self, one: Imported, deep: int) -> Values:
        module = self.code.find(one.base)
        if module and one.name in module.scope.names and deep < 2 * DEEPEST:
            return self.bound(module.scope.names[one.name], Context(module.scope), deep + 1)
        return (External(f"{one.base}.{one.name}".strip(".")),)

    def attribute(self, node: ast.Attribute, at: Context, deep: int) -> Iterator[Value]:
        of = node.value
        if isinstance(of, ast.Call) and ast.unparse(of.func) == "super" and at.owner is not None:
            parent = at.scope.parent or at.scope
            yield from self.member(self.ancestors(parent)[1:], node.attr, at.owner, deep)
            return
        for one in self.values(of, at, deep):
            if isinstance(one, External):
                known = self.code.find(one.path)
                if known and node.attr in known.scope.names:
                    yield from self.imported(Imported(known.name, node.attr), deep)
                else:
                    yield one._replace(path=f"{one.path}.{node.attr}")
            elif isinstance(one, Made):
                yield from self.member(self.ancestors(one.scope), node.attr, one, deep)

    def ancestors(self, scope: Scope, deep: int = 0) -> list[Scope | str]:
        """Return a class and its bases, in their order; a class of another library as its path."""
        found: list[Scope | str] = [scope]
        for base in getattr(scope.node, "bases", []) if deep < DEEPEST else ():
            node = base.value if isinstance(base, ast.Subscript) else base
            for one in self.values(node, Context(scope.parent or scope)):
                if isinstance(one, Made):
                    found += self.ancestors(one.scope, deep + 1)
                elif isinstance(one, External):
                    found.append(one.path)
        return [*dict.fromkeys(found)]

    def member(self, kinds: list[Scope | str], name: str, owner: Made, deep: int) -> Values:
        """Return an attribute of an instance or a class."""
        for one in kinds:
            if isinstance(one, str):
                return (External(f"{one}().{name}"),) if owner.instance else ()
            found: list[Value] = [*dict(owner.env).get(name, ())] if name in one.names else []
            for method, value in one.fields.get(name, [])[:MOST]:
                env = owner.env if method.name == "__init__" else ()
                found += self.bound([value], Context(method, env, owner), deep)
            if not found and name in one.names:
                for known in self.bound(one.names[name], Context(one, (), owner), deep):
                    found += self.bound_method(known, owner, deep)
            if found:
                return tuple(found)
        return ()

    def bound_method(self, value: Value, owner: Made, deep: int) -> Values:
        if not isinstance(value, Closure) or not value.scope.is_method:
            return (value,)
        if value.scope.decorated("property", "cached_property"):
            return self.returned(Context(value.scope, (), owner), deep)
        return (value if value.scope.decorated("staticmethod") else value._replace(owner=owner),)

    def result(self, node: ast.Call, at: Context, deep: int) -> Iterator[Value]:
        for one in self.values(node.func, at, deep):
            if isinstance(one, Closure):
                yield from self.returned(self.entered(one, node, at, deep), deep)
            elif isinstance(one, External):
                yield from self.made(one, node, at, deep)
            elif isinstance(one, Made) and not one.instance:
                found = self.member(self.ancestors(one.scope), "__init__", one, deep)
                init = next((one for one in found if isinstance(one, Closure)), None)
                env = (
                    self.entered(init, node, at, deep).env
                    if init
                    else frozen(self.keywords(node, at, deep))
                )
                yield Made(one.scope, env)

    def made(self, function: External, node: ast.Call, at: Context, deep: int) -> Values:
        """Return the result of a function of another library."""
        path, _, name = function.path.rpartition(".")
        name = name.strip("()")
        given = self.keywords(node, at, deep)
        for index, argument in enumerate(node.args[:4]):
            values = self.values(argument, at, deep) or (UNKNOWN,)
            given[f"{name}:{index}" if index else name] = values
        if name in SAME and path in ("builtins", "functools", "random"):
            return given.get(f"{name}:1" if name == "uniform" else name, ())
        if name in ("Field", "field", "getenv") or path == "os.environ":
            return given.get("default") or given.get(f"{name}:1") or given.get(name, ())
        if function.path == "builtins.len":
            return tuple(
                Const(len(one.items)) for one in given.get("len", ()) if isinstance(one, Items)
            )
        known = frozen(dict(function.given) | given)
        copy = name in COPIES and path.endswith("()")
        return (External(path if copy else f"{function.path}()", known),)

    def keywords(self, node: ast.Call, at: Context, deep: int) -> dict[str, Values]:
        """Return the keyword arguments of a call; "**" if not all of them are known."""
        found: dict[str, Values] = {}
        for one in node.keywords:
            values = self.values(one.value, at, deep) or (UNKNOWN,)
            known = [items for items in values if one.arg is None and isinstance(items, Items)]
            for items in known:
                pairs = zip(map(str, items.keys), items.items, strict=False)
                found |= {key: value or (UNKNOWN,) for key, value in pairs}
            if not known:
                found[one.arg or "**"] = values
        return found

    def entered(self, function: Closure, node: ast.Call | None, at: Context, deep: int) -> Context:
        """Return the context in a function that is called, with the values of its parameters."""
        scope = function.scope
        names = [one.arg for one, _ in scope.parameters]
        env = {name: values for name, values in function.env if name not in names}
        if node is not None:
            bound = scope.is_method and function.owner is not None
            given = self.keywords(node, at, deep)
            for name, argument in zip(names[bound:], node.args, strict=False):
                given[name] = self.values(argument, at, deep)
            env |= {name: useful(one) for name, one in given.items() if name in names}
        return Context(scope, frozen(env), function.owner)

    def returned(self, at: Context, deep: int) -> Values:
        """Return the results of a function."""
        kinds = (ast.Return, ast.Yield) if at.scope.decorated(*GENERATORS) else (ast.Return,)
        if isinstance(at.scope.node, ast.Lambda):
            return self.values(at.scope.node.body, at, deep)
        nodes = [node.value for node in at.scope.nodes if isinstance(node, kinds)]
        found = tuple(value for node in nodes for value in self.values(node, at, deep))
        around = Context(at.scope.parent or at.scope)
        return found or self.annotated(getattr(at.scope.node, "returns", None), around, deep)


def useful(values: Values) -> Values:
    """Return the values that can make a difference in a function: no texts."""
    texts = [one for one in values if isinstance(one, Const) and number([one]) is None]
    dull = [one for one in values if isinstance(one, Items) and not useful(sum(one.items, ()))]
    return tuple(one for one in values if one not in (*texts, *dull, UNKNOWN, NOTHING))


def combined(op: ast.operator, left: Values, right: Values) -> Iterator[Value]:
    """Yield the result of an operator; both sides of `|`, between stops of tenacity or types."""
    one, other = number(left), number(right)
    if isinstance(op, ast.BitOr):
        yield from (*left, *right)
    elif one is not None and other is not None and max(abs(one), abs(other)) < LARGEST:
        with suppress(ArithmeticError, ValueError, KeyError):
            yield Const(OPERATORS[type(op)](one, other))
