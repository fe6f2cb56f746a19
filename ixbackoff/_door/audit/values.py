"""The values that an expression may have, as far as the source shows them."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from .code_base import Annotated, Binding, CodeBase, Imported, Scope, own

MOST, DEEPEST = 6, 8  # values of an expression; expressions in expressions
LARGEST = 1e6
COPIES = ("with_options", "replace", "copy", "options")  # methods that return an object like theirs
FIRST = ("int", "float", "max", "min", "tuple", "list", "frozenset", "set")
WRAPPERS = ("Optional", "Union", "Annotated", "Awaitable", "ClassVar", "Final", "Type", "type")
Env: TypeAlias = "tuple[tuple[str, Values], ...]"


class Const(NamedTuple):
    value: Any


class Items(NamedTuple):
    items: tuple[Values, ...]
    keys: tuple[object, ...] = ()  # of a dictionary


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
    owner: Value | None = None


class Made(NamedTuple):
    """An instance; `exact`: of this class, and not of one derived from it."""

    scope: Scope
    env: Env
    exact: bool


class Kind(NamedTuple):
    """A class."""

    of: Scope


class Ready(NamedTuple):
    """A function that a decorator was given, with the stacks below it."""

    stacks: tuple[Any, ...]


Value: TypeAlias = Const | Items | External | Closure | Made | Kind | Ready
Values: TypeAlias = tuple[Value, ...]
UNKNOWN = External("?")
NOTHING = Const(None)
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


class Context(NamedTuple):
    """Where an expression stands, and the values of the parameters there."""

    scope: Scope
    env: Env = ()
    owner: Value | None = None


def frozen(named: dict[str, Values]) -> Env:
    return tuple(sorted((name, values) for name, values in named.items() if values))


def number(values: Values) -> float | None:
    """Return the first number; `False` and `None` are 0."""
    for one in values:
        if isinstance(one, Const) and (one.value is None or one.value is False):
            return 0
        if isinstance(one, Const) and type(one.value) in (int, float):
            return float(one.value) if abs(one.value) > LARGEST else one.value  # type: float
    return None


class Reader:
    """Evaluates expressions: without the order of statements, but with the values of arguments."""

    def __init__(self, code: CodeBase) -> None:
        self.code = code
        self.busy: set[object] = set()
        self.ancestries: dict[str, list[str]] = {}
        self.fields: dict[Scope, dict[str, list[tuple[Scope, ast.expr | Annotated]]]] = {}

    def values(self, node: ast.expr | None, at: Context, deep: int = 0) -> Values:
        mark = id(node), at.env, at.owner
        if node is None or deep > DEEPEST or mark in self.busy:
            return ()
        self.busy.add(mark)
        try:
            return tuple(dict.fromkeys(self.read(node, at, deep + 1)))[:MOST]
        finally:
            self.busy.discard(mark)

    def read(self, node: ast.expr, at: Context, deep: int) -> Iterable[Value]:
        match node:
            case ast.Constant(value=value):
                return (Const(value),)
            case ast.Await(value=of) | ast.Starred(value=of) | ast.NamedExpr(value=of):
                return self.values(of, at, deep)
            case ast.IfExp(test=test, body=one, orelse=other):
                known = self.values(test, at, deep)
                if len(known) == 1 and isinstance(known[0], Const):
                    return self.values(one if known[0].value else other, at, deep)
                return (*self.values(one, at, deep), *self.values(other, at, deep))
            case ast.BoolOp(values=nodes):
                found = [value for one in nodes for value in self.values(one, at, deep)]
                return [one for one in found if one != NOTHING] or found
            case ast.Tuple(elts=nodes) | ast.List(elts=nodes) | ast.Set(elts=nodes):
                return (Items(tuple(self.values(one, at, deep) for one in nodes)),)
            case ast.Dict(keys=keys, values=nodes):
                names = tuple(getattr(one, "value", None) for one in keys)
                return (Items(tuple(self.values(one, at, deep) for one in nodes), names),)
            case ast.Lambda() if node in at.scope.inner:
                return (Closure(at.scope.inner[node], at.env, at.owner),)
            case ast.BinOp():
                return self.combined(node, at, deep)
            case ast.UnaryOp(op=ast.USub(), operand=of):
                found = number(self.values(of, at, deep))
                return () if found is None else (Const(-found),)
            case ast.Subscript(value=of, slice=ast.Constant(value=key)):
                return tuple(self.items(self.values(of, at, deep), key))
            case ast.Name(id=name):
                return self.named(name, at, deep)
            case ast.Attribute():
                return self.attribute(node, at, deep)
            case ast.Call():
                return self.result(node, at, deep)
            case _:
                return ()

    def combined(self, node: ast.BinOp, at: Context, deep: int) -> Iterator[Value]:
        left, right = self.values(node.left, at, deep), self.values(node.right, at, deep)
        if isinstance(node.op, ast.BitOr):  # of the stops of tenacity, or of types
            yield from (*left, *right)
        elif (function := OPERATORS.get(type(node.op))) and left and right:
            one, other = number(left), number(right)
            if one is not None and other is not None and max(abs(one), abs(other)) < LARGEST:
                try:
                    yield Const(function(one, other))
                except (ArithmeticError, ValueError):
                    return

    @staticmethod
    def items(values: Values, key: object) -> Iterator[Value]:
        for one in values:
            if isinstance(one, Items):
                keys = one.keys or range(len(one.items))
                yield from (v for k, found in zip(keys, one.items) if k == key for v in found)

    def named(self, name: str, at: Context, deep: int) -> Values:
        for known, values in at.env:
            if known == name:
                return values
        if name in ("self", "cls") and at.owner is not None:
            return (at.owner,)
        scope: Scope | None = at.scope
        while scope is not None:
            if scope is at.scope or not scope.is_class:
                here = at._replace(scope=scope)
                if name in scope.names:
                    return self.bound(scope.names[name], name, here, deep)
                for parameter, default in scope.parameters:
                    if parameter.arg == name:
                        return self.of_parameter(parameter, default, here, deep)
            scope = scope.parent
        return (External(f"builtins.{name}"),) if hasattr(builtins, name) else ()

    def of_parameter(
        self, parameter: ast.arg, default: ast.expr | None, at: Context, deep: int
    ) -> Values:
        around = at._replace(scope=at.scope.parent or at.scope, owner=None)
        found = self.values(default, around, deep)
        if found and found != (NOTHING,):
            return found
        return self.annotated(parameter.annotation, around, deep) or found

    def annotated(self, node: ast.expr | None, at: Context, deep: int) -> Values:
        """Return an instance of each class that an annotation names; its arguments are unknown."""
        match node:
            case ast.Constant(value=str() as text):
                try:
                    return self.annotated(ast.parse(text, mode="eval").body, at, deep)
                except SyntaxError:
                    return ()
            case ast.BinOp(left=left, right=right):
                return self.annotated(left, at, deep) + self.annotated(right, at, deep)
            case ast.Subscript(value=of, slice=inside):
                if ast.unparse(of).rpartition(".")[2] not in WRAPPERS:
                    return self.annotated(of, at, deep)
                parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
                return tuple(one for part in parts for one in self.annotated(part, at, deep))
            case ast.Name() | ast.Attribute():
                found = self.values(node, at, deep)
                made = [Made(one.of, (), False) for one in found if isinstance(one, Kind)]
                others = [one.path for one in found if isinstance(one, External)]
                given = (("**", (UNKNOWN,)),)
                return (
                    *made,
                    *(External(f"{one}()", given) for one in others if one[:8] != "builtins"),
                )
            case _:
                return ()

    def bound(self, bindings: list[Binding], name: str, at: Context, deep: int) -> Values:
        found: list[Value] = []
        for one in bindings[:MOST]:
            if isinstance(one, Scope):
                owner = None if one.is_method else at.owner
                found.append(Kind(one) if one.is_class else Closure(one, at.env, owner))
            elif isinstance(one, Imported):
                found += self.imported(one, deep)
            elif isinstance(one, Annotated):
                found += [] if found else self.annotated(one.annotation, at, deep)
            else:
                found += self.mounted(self.values(one, at, deep), name, at, deep)
        return tuple(found)

    def mounted(self, values: Values, name: str, at: Context, deep: int) -> Values:
        """Add the arguments of an adapter that is mounted on a session of requests."""
        if not any(isinstance(one, External) and one.path.endswith("ession()") for one in values):
            return values
        given: dict[str, Values] = {}
        for node in own(at.scope.body):
            match node:
                case ast.Call(func=ast.Attribute(value=of, attr="mount"), args=[_, adapter]):
                    if ast.unparse(of) == name:
                        for one in self.values(adapter, at, deep):
                            given |= dict(one.given) if isinstance(one, External) else {}
                case _:
                    pass
        return tuple(
            one._replace(given=frozen(dict(one.given) | given))
            if isinstance(one, External)
            else one
            for one in values
        )

    def imported(self, one: Imported, deep: int) -> Values:
        module = self.code.find(one.base)
        if module and one.name in module.scope.names:
            bindings = module.scope.names[one.name]
            if deep > 2 * DEEPEST:
                return ()
            return self.bound(bindings, one.name, Context(module.scope), deep + 1)
        return (External(f"{one.base}.{one.name}".strip(".")),)

    def attribute(self, node: ast.Attribute, at: Context, deep: int) -> Iterable[Value]:
        name, found = node.attr, list[Value]()
        match node.value:
            case ast.Call(func=ast.Name(id="super")) if isinstance(at.owner, Made | Kind):
                scope: Scope | None = at.scope
                while scope is not None and not scope.is_class:
                    scope = scope.parent
                return self.member(scope, name, at.owner, deep, after=True) if scope else ()
            case _:
                pass
        for one in self.values(node.value, at, deep):
            match one:
                case External(path=path):
                    module = self.code.find(path)
                    if module and name in module.scope.names:
                        names = module.scope.names[name]
                        found += self.bound(names, name, Context(module.scope), deep)
                    else:
                        found.append(one._replace(path=f"{path}.{name}"))
                case Made(scope=scope) | Kind(of=scope):
                    found += self.member(scope, name, one, deep)
                case _:
                    pass
        return found

    def ancestors(self, scope: Scope, deep: int = 0) -> list[Scope | str]:
        """Return a class and its bases, in their order; a class of another library as its path."""
        found: list[Scope | str] = [scope]
        if isinstance(scope.node, ast.ClassDef) and deep < DEEPEST:
            around = Context(scope.parent or scope)
            for base in scope.node.bases:
                node = base.value if isinstance(base, ast.Subscript) else base
                for one in self.values(node, around):
                    if isinstance(one, Kind):
                        found += [o for o in self.ancestors(one.of, deep + 1) if o not in found]
                    elif isinstance(one, External):
                        found.append(one.path)
        return found

    def member(
        self, scope: Scope, name: str, owner: Made | Kind, deep: int, *, after: bool = False
    ) -> Values:
        """Return an attribute of an instance or class; `after`: as `super()` finds it."""
        for one in self.ancestors(scope)[after:]:
            if isinstance(one, str):
                return (External(f"{one}().{name}"),) if isinstance(owner, Made) else ()
            assigned = self.assigned(one).get(name, []) if isinstance(owner, Made) else []
            found: list[Value] = []
            for function, value in assigned[:MOST]:
                env = owner.env if function.name == "__init__" and isinstance(owner, Made) else ()
                at = Context(function, env, owner)
                found += self.bound([value], f"self.{name}", at, deep)
            if found:
                return tuple(found)
            if name in one.names:
                return self.in_class(one, name, owner, deep)
        return ()

    def in_class(self, scope: Scope, name: str, owner: Made | Kind, deep: int) -> Values:
        found: list[Value] = []
        given = dict(owner.env).get(name) if isinstance(owner, Made) else None
        for one in given or self.bound(scope.names[name], name, Context(scope, (), owner), deep):
            method = isinstance(one, Closure) and one.scope.parent is scope
            if not isinstance(one, Closure) or not method:
                found.append(one)
                continue
            bound = one._replace(owner=None if one.scope.decorated("staticmethod") else owner)
            if one.scope.decorated("property", "cached_property"):
                found += self.returned(bound, Context(one.scope, (), owner), deep)
            else:
                found.append(bound)
        return tuple(found)

    def assigned(self, scope: Scope) -> dict[str, list[tuple[Scope, ast.expr | Annotated]]]:
        """Return the values that the methods of a class assign to each attribute of `self`."""
        if scope not in self.fields:
            found = self.fields[scope] = {}
            for method in scope.inner.values():
                for node in own(method.body):
                    if isinstance(node, ast.Assign):
                        targets, value = node.targets, node.value
                    elif isinstance(node, ast.AnnAssign):
                        targets, value = [node.target], node.value or Annotated(node.annotation)
                    else:
                        continue
                    for one in targets:
                        match one:
                            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                                found.setdefault(name, []).append((method, value))
                            case _:
                                pass
        return self.fields[scope]

    def result(self, node: ast.Call, at: Context, deep: int) -> Iterator[Value]:
        for one in self.values(node.func, at, deep):
            match one:
                case Closure():
                    yield from self.returned(one, self.entered(one, node, at, deep), deep)
                case Kind(of=scope):
                    [init] = self.member(scope, "__init__", one, deep)[:1] or [None]
                    if isinstance(init, Closure):
                        yield Made(scope, self.entered(init, node, at, deep).env, exact=True)
                    else:
                        yield Made(scope, frozen(self.keywords(node, at, deep)), exact=True)
                case External():
                    yield from self.made(one, node, at, deep)
                case _:
                    pass

    def made(self, function: External, node: ast.Call, at: Context, deep: int) -> Iterable[Value]:
        """Return the result of a function of another library."""
        path, _, name = function.path.rpartition(".")
        given = self.keywords(node, at, deep)
        for index, argument in enumerate(node.args[:4]):
            values = self.values(argument, at, deep) or (UNKNOWN,)
            given[f"{name.strip('()')}:{index}" if index else name.strip("()")] = values
        first = given.get(name.strip("()"), ())
        if path == "builtins" and name in FIRST or function.path == "functools.partial":
            return first
        if name in ("Field", "field") and "default" in given | {"default": first}:
            return given.get("default", first)
        if function.path == "builtins.len":
            return (Const(len(one.items)) for one in first if isinstance(one, Items))
        if function.path in ("os.getenv", "os.environ.get"):
            texts = [one.value for one in given.get(f"{name}:1", ()) if isinstance(one, Const)]
            return (Const(int(t) if str(t).isdecimal() else t) for t in texts)
        if function.path == "typing.cast":
            return self.annotated(node.args[0], at, deep) if node.args else ()
        known = frozen(dict(function.given) | given)
        if name in COPIES and path.endswith("()"):
            return (External(path, known),)
        return (External(f"{function.path}()", known),)

    def keywords(self, node: ast.Call, at: Context, deep: int) -> dict[str, Values]:
        found: dict[str, Values] = {}
        for one in node.keywords:
            values = self.values(one.value, at, deep) or (UNKNOWN,)
            if one.arg is not None:
                found[one.arg] = values
                continue
            found["**"] = (UNKNOWN,)
            for items in values:
                if isinstance(items, Items):
                    pairs = zip(items.keys, items.items)
                    found |= {str(key): value or (UNKNOWN,) for key, value in pairs}
        return found

    def entered(self, function: Closure, node: ast.Call | None, at: Context, deep: int) -> Context:
        """Return the context in a function that is called, with the values of its parameters."""
        scope = function.scope
        names = [one.arg for one, _ in scope.parameters]
        env = {name: values for name, values in function.env if name not in names}
        if node is not None and not isinstance(scope.node, ast.Module | ast.ClassDef):
            given = self.keywords(node, at, deep)
            ordered = [one.arg for one in (*scope.node.args.posonlyargs, *scope.node.args.args)]
            if scope.is_method and function.owner is not None:
                ordered = ordered[1:]
            for name, argument in zip(ordered, node.args):
                if isinstance(argument, ast.Starred):
                    break
                given[name] = self.values(argument, at, deep)
            env |= {k: v for k, v in given.items() if k in names and v not in ((), (NOTHING,))}
            env = {k: v for k, v in env.items() if v != (UNKNOWN,)}
        return Context(scope, frozen(env), function.owner)

    def returned(self, function: Closure, at: Context, deep: int) -> Values:
        scope = function.scope
        generator = scope.decorated("contextmanager", "asynccontextmanager", "fixture")
        kinds = (ast.Return, ast.Yield) if generator else (ast.Return,)
        found = [
            value
            for node in own(scope.body)
            if isinstance(node, kinds)
            for value in self.values(node.value, at, deep)
        ]
        if isinstance(scope.node, ast.Lambda):
            return self.values(scope.node.body, at, deep)
        returns = getattr(scope.node, "returns", None)
        around = Context(scope.parent or scope)
        return tuple(found) or self.annotated(returns, around, deep)
