"""The values that an expression may have, as far as the source shows them."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, TypeAlias

from .code_base import Binding, CodeBase, Imported, Scope, first_name, name_of

MOST, DEEPEST, LONGEST = 6, 40, 50  # at most: values of an expression; nested expressions; items
MOST_READ = 2_000  # expressions that one evaluation may visit
COPIES = ("with_options", "replace", "copy", "options")  # methods that return a changed copy
SAME = ("int", "float", "max", "min", "uniform", "tuple", "list", "partial")  # return an argument
DEFAULTS = ("Field", "field", "getenv", "get")  # return `default`, else the 2nd or 1st argument
IMPORTS = ("importlib.import_module", "builtins.__import__")


@dataclass(eq=False)
class Env:
    """Values by names or keys. Compared by identity, as `Reader.env` never makes two equal ones."""

    named: dict[Any, Values]

    @property
    def values(self) -> Values:
        return tuple(value for values in self.named.values() for value in values)


EMPTY = Env({})
ANNOTATED = Env({"**": ()})  # the arguments of a client of which only the class is known


class Const(NamedTuple):
    value: Any


class Items(NamedTuple):
    inside: Env


class External(NamedTuple):
    """A name of another library, such as `openai.OpenAI()`, with the arguments that it was given.

    Positional arguments are stored under the name of the function: `retry`, `retry:1`, `retry:2`.
    """

    path: str
    given: Env = EMPTY


class Closure(NamedTuple):
    """A function, with the values of the parameters of the functions around it."""

    scope: Scope
    env: Env = EMPTY
    owner: Made | None = None


class Made(NamedTuple):
    """A class, or an instance of it."""

    scope: Scope
    env: Env = EMPTY
    instance: bool = True


class Ready(NamedTuple):
    """A function that is passed to its decorator; `stacks` are the `stacks.Stack`s of its calls."""

    stacks: tuple[Any, ...]


Value: TypeAlias = Const | Items | External | Closure | Made | Ready
Values: TypeAlias = tuple[Value, ...]
UNKNOWN, NOTHING, NO_MORE = External("?"), Const(None), Items(EMPTY)
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


class Context(NamedTuple):
    """Where an expression stands, and the values of the parameters there."""

    scope: Scope
    env: Env = EMPTY
    owner: Made | None = None

    @property
    def around(self) -> Context:
        return Context(self.scope.parent or self.scope, self.env, self.owner)


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
    """Evaluates expressions; ignores the order of statements, but follows arguments into calls."""

    def __init__(self, code: CodeBase) -> None:
        self.code = code
        self.deciding: set[str] = set()  # the names that conditions of `if` compare or test
        self.reaching: set[str] | None = None
        """Functions and classes that lead to a layer; while it is `None`, arguments are ignored."""
        self.done: dict[object, Values] = {}
        self.envs: dict[object, Env] = {}
        self.busy: dict[object, int] = {}
        self.incomplete: dict[object, Values] = {}  # cut off by a cycle or limit, so not in `done`
        self.cut, self.left = inf, 0

    def solved(self, mark: object, read: Callable[[], Iterable[Value]]) -> Values:
        """Return what `read` yields, cached under `mark`; nothing in a cycle, or beyond a limit."""
        known = self.done.get(mark, self.incomplete.get(mark))
        if known is not None:
            return known
        place = len(self.busy)
        self.left = self.left - 1 if place else MOST_READ
        if mark in self.busy or place > DEEPEST or self.left < 0:
            self.cut = min(self.cut, self.busy.get(mark, 0))
            return ()
        self.busy[mark] = place
        found = tuple(dict.fromkeys(read()))
        del self.busy[mark]
        if self.cut < place:
            self.incomplete[mark] = found
        else:
            self.done[mark], self.cut = found, inf
        if not place:
            self.incomplete.clear()
        return found

    def env(self, named: dict[Any, Values]) -> Env:
        return self.envs.setdefault((*named.items(),), Env(named)) if named else EMPTY

    def values(self, node: ast.expr | None, at: Context) -> Values:
        return self.solved((node, at), lambda: self.read(node, at))[:MOST] if node else ()

    def read(self, node: ast.expr, at: Context) -> Iterable[Value]:
        match node:
            case ast.Constant(value=value):
                return (Const(value),)
            case ast.Await(value=of) | ast.Starred(value=of) | ast.NamedExpr(value=of):
                return self.values(of, at)
            case ast.IfExp(body=one, orelse=other):
                return (*self.values(one, at), *self.values(other, at))
            case ast.BoolOp(values=nodes):
                found = [value for one in nodes for value in self.values(one, at)]
                return [one for one in found if one != NOTHING] or found
            case ast.Tuple(elts=nodes) | ast.List(elts=nodes) | ast.Set(elts=nodes):
                items = {key: self.values(one, at) for key, one in enumerate(nodes[:LONGEST])}
                return (Items(self.env(items)),)
            case ast.Dict(keys=keys, values=nodes):
                names = [key and getattr(key, "value", "?") for key in keys]
                pairs = self.pairs(zip(names[:LONGEST], nodes, strict=False), at)
                return (Items(self.env(pairs)),)
            case ast.Lambda() if node in at.scope.inner:
                return (Closure(at.scope.inner[node], at.env, at.owner),)
            case ast.BinOp(left=left, op=op, right=right):
                return combined(op, self.values(left, at), self.values(right, at))
            case ast.Subscript(value=of, slice=ast.Constant(value=key)):
                known = [one for one in self.values(of, at) if isinstance(one, Items)]
                found = [value for one in known for value in one.inside.named.get(key, ())]
                return [one for one in found if isinstance(one, Const | External)]
            case ast.Name(id=name):
                return self.named(name, at)
            case ast.Attribute():
                return self.attribute(node, at)
            case ast.Call():
                return self.result(node, at)
            case _:
                return ()

    def named(self, name: str, at: Context) -> Values:
        if found := at.env.named.get(name):
            return found
        if name in ("self", "cls") and at.owner is not None:
            return (at.owner,)
        scope: Scope | None = at.scope
        while scope is not None:
            here = at._replace(scope=scope) if scope.parent else Context(scope)
            if name in scope.names and (scope is at.scope or not scope.is_class):
                mounted = scope.names.get(f"{name}.mount", [])
                return self.mounted(self.bound(scope.names[name], here), mounted, here)
            for parameter, default in scope.parameters:
                if parameter.arg == name:
                    around = here.around._replace(owner=None)
                    found = self.values(default, around)
                    known = found not in ((), (NOTHING,))
                    return found if known else (*self.annotated(parameter.annotation, around),)
            scope = scope.parent
        return (External(f"builtins.{name}"),) if hasattr(builtins, name) else ()

    def annotated(self, node: ast.expr | None, at: Context) -> Iterator[Value]:
        """Yield an instance, with unknown arguments, of each class that an annotation names."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError):
                node = ast.parse(node.value, mode="eval").body
        for part in ast.walk(node) if node else ():
            for one in self.values(part, at) if isinstance(part, ast.Name | ast.Attribute) else ():
                if isinstance(one, Made):
                    yield Made(one.scope)
                elif isinstance(one, External):
                    yield External(f"{one.path}()", ANNOTATED)

    def bound(self, bindings: list[Binding], at: Context) -> Values:
        found: list[Value] = []
        for one in bindings[:MOST]:
            if isinstance(one, Scope):
                owner = None if one.is_method else at.owner
                made = Made(one, instance=False)
                found.append(made if one.is_class else Closure(one, at.env, owner))
            elif isinstance(one, Imported):
                found += self.imported(one)
            elif isinstance(one, ast.AnnAssign):
                found += self.values(one.value, at) or (*self.annotated(one.annotation, at),)
            else:
                found += self.values(one, at)
        return tuple(found)

    def mounted(self, values: Values, adapters: list[Binding], at: Context) -> Values:
        """Return sessions of `requests`, each with the adapters that are mounted on it."""
        if not adapters or self.reaching is None:
            return values
        mount = {"mount": self.bound(adapters, at)}
        known = [(one, one.given.named) for one in values if isinstance(one, External)]
        return tuple(one._replace(given=self.env(given | mount)) for one, given in known)

    def imported(self, one: Imported) -> Values:
        module = self.code.find(one.base)
        if module and one.name in module.scope.names:
            bindings = module.scope.names[one.name]
            return self.solved((one, module), lambda: self.bound(bindings, Context(module.scope)))
        return (External(f"{one.base}.{one.name}".strip(".")),)

    def attribute(self, node: ast.Attribute, at: Context) -> Iterator[Value]:
        of = node.value
        if isinstance(of, ast.Call) and name_of(of.func) == "super" and at.owner is not None:
            kinds = self.ancestors(at.scope.parent or at.scope)[1:]
            yield from self.member(kinds, node.attr, at.owner)
            return
        for one in self.values(of, at):
            if isinstance(one, External):
                known = self.code.find(one.path)
                if known and node.attr in known.scope.names:
                    yield from self.imported(Imported(known.name, node.attr))
                else:
                    yield one._replace(path=f"{one.path}.{node.attr}")
            elif isinstance(one, Made):
                yield from self.member(self.ancestors(one.scope), node.attr, one)
            elif isinstance(one, Const) and node.attr == "value":  # of an enumeration
                yield one

    def ancestors(self, scope: Scope) -> Values:
        """Return a class and its bases, in their order."""

        def found() -> Iterator[Value]:
            yield Made(scope, instance=False)
            for base in getattr(scope.node, "bases", []):
                node = base.value if isinstance(base, ast.Subscript) else base
                for one in self.values(node, Context(scope).around):
                    yield from self.ancestors(one.scope) if isinstance(one, Made) else (one,)

        return self.solved(("bases", scope), found)

    def member(self, kinds: Values, name: str, owner: Made) -> Values:
        """Return an attribute of an instance or a class."""
        for one in kinds:
            if isinstance(one, External):
                return (External(f"{one.path}().{name}"),) if owner.instance else ()
            if not isinstance(one, Made):
                continue
            scope = one.scope
            found: list[Value] = [*owner.env.named.get(name, ())] if name in scope.names else []
            mounted = [one for _, one in scope.fields.get(f"{name}.mount", [])]
            for method, value in scope.fields.get(name, [])[:MOST]:
                env = self.initial(method, owner) if method.name == "__init__" else EMPTY
                here = Context(method, env, owner)
                found += self.mounted(self.bound([value], here), mounted, here)
            if not found and name in scope.names:
                for known in self.bound(scope.names[name], Context(scope, EMPTY, owner)):
                    found += self.bound_method(known, owner)
            if found:
                return tuple(found)
        return ()

    def initial(self, method: Scope, owner: Made) -> Env:
        """Return the arguments of `__init__`: the instance's, or those that a subclass passes."""
        for kind in self.ancestors(owner.scope):
            inner = kind.scope.inner.values() if isinstance(kind, Made) else ()
            first = [one for one in inner if one.name == "__init__"]
            if first == [method]:
                break
            for one in first[0].nodes if first else ():
                if isinstance(one, ast.Call) and name_of(one) == "__init__":
                    at = Context(first[0], owner.env, owner)
                    return self.entered(Closure(method, EMPTY, owner), one, at).env
        return owner.env

    def bound_method(self, value: Value, owner: Made) -> Values:
        if not isinstance(value, Closure) or not value.scope.is_method:
            return (value,)
        if value.scope.decorated("property", "cached_property"):
            return self.returned(Context(value.scope, EMPTY, owner))
        return (value if value.scope.decorated("staticmethod") else value._replace(owner=owner),)

    def result(self, node: ast.Call, at: Context) -> Iterator[Value]:
        for one in self.values(node.func, at):
            if isinstance(one, Closure):
                yield from self.returned(self.entered(one, node, at))
            elif isinstance(one, External):
                yield from self.made(one, node, at)
            elif isinstance(one, Made) and not one.instance:
                found = self.member(self.ancestors(one.scope), "__init__", one)
                init = [self.entered(one, node, at) for one in found if isinstance(one, Closure)]
                yield Made(one.scope, init[0].env if init else self.kept(self.keywords(node, at)))

    def made(self, function: External, node: ast.Call, at: Context) -> Values:
        """Return the result of a function of another library."""
        if function.path in IMPORTS and node.args:
            named = [one.value for one in self.values(node.args[0], at) if isinstance(one, Const)]
            return tuple(External(one) for one in named if isinstance(one, str))
        path, _, name = function.path.rpartition(".")
        name = name.strip("()")
        root = path.partition(".")[0]
        plain = path in ("builtins", "functools", "random") and name in SAME
        if not (plain or name in (*DEFAULTS, "len") or root in self.code.libraries):
            return (External(f"{function.path}()"),)
        given = self.keywords(node, at)
        for index, argument in enumerate(node.args[:4]):
            values = self.values(argument, at) or (UNKNOWN,)
            given[f"{name}:{index}" if index else name] = values
        if plain:
            return given.get(f"{name}:1" if name == "uniform" else name, ())
        if name in DEFAULTS and root not in self.code.libraries:
            return given.get("default") or given.get(f"{name}:1") or given.get(name, ())
        if name == "len" and path == "builtins":
            found = [one for one in given.get(name, ()) if isinstance(one, Items)]
            return tuple(Const(len(one.inside.named)) for one in found)
        known = {**function.given.named, **given} if self.reaching is not None else {}
        copy = name in COPIES and path.endswith("()")
        return (External(path if copy else f"{function.path}()", self.env(known)),)

    def keywords(self, node: ast.Call, at: Context) -> dict[str, Values]:
        found = self.pairs([(one.arg, one.value) for one in node.keywords], at)
        return {str(name): values for name, values in found.items()}

    def pairs(self, named: Iterable[tuple[object, ast.expr]], at: Context) -> dict[object, Values]:
        """Return values by their names; "**" is one of the names if some arguments are unknown."""
        found: dict[object, Values] = {}
        for name, node in named:
            values = self.values(node, at) or (UNKNOWN,)
            if name is None and isinstance(values[0], Items):
                found |= values[0].inside.named
            else:
                found["**" if name is None else name] = values
        return found

    def entered(self, function: Closure, node: ast.Call | None, at: Context) -> Context:
        """Return the context inside a called function, with the values of its parameters."""
        scope = function.scope
        names = [one.arg for one, _ in scope.parameters]
        env = {
            name: values
            for name, values in function.env.named.items()
            if name.lstrip("=") not in names
        }
        if node is not None and self.reaching is not None:
            given = self.keywords(node, at)
            bound = scope.is_method and function.owner is not None
            nodes = {str(one.arg): one.value for one in node.keywords}
            for name, argument in zip(names[bound:], node.args, strict=False):
                given[name], nodes[name] = self.values(argument, at), argument
            if more := getattr(getattr(scope.node, "args", None), "kwarg", None):
                rest = {name: one for name, one in given.items() if name not in names}
                env[more.arg] = (Items(self.env(rest)),)
            env |= {name: one for name, one in given.items() if name in names}
            for name in self.deciding.intersection(names, nodes):
                with suppress(ValueError):
                    env[f"={name}"] = (Const(self.constant(nodes[name], at)),)  # for `holds`
        return Context(scope, self.kept(env), function.owner)

    def constant(self, node: ast.expr, at: Context) -> Any:
        """Return the value of an expression if it is surely one constant, or raise ValueError."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return tuple(self.constant(one, at) for one in node.elts)
        plain = isinstance(node, ast.Constant) or first_name(node)[:1].isupper()
        known = self.values(node, at) if plain else ()
        if isinstance(node, ast.Name) and node.id not in at.scope.names:
            known = at.env.named.get(f"={node.id}", known)
        [found] = (one.value for one in known if isinstance(one, Const) and len(known) == 1)
        return found

    def holds(self, test: ast.expr, at: Context) -> bool | None:
        """Return whether a condition is true for the arguments; `None` if that is not known."""
        with suppress(ValueError, TypeError, AttributeError):
            match test:
                case ast.UnaryOp(op=ast.Not(), operand=of):
                    known = self.holds(of, at)
                    return known if known is None else not known
                case ast.BoolOp(op=op, values=nodes):
                    all_, decisive = {self.holds(one, at) for one in nodes}, isinstance(op, ast.Or)
                    return decisive if decisive in all_ else None if None in all_ else not decisive
                case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                    return COMPARED[type(op)](self.constant(left, at), self.constant(right, at))
                case ast.Call(func=ast.Attribute(value=of, attr="startswith"), args=[start]):
                    return str(self.constant(of, at)).startswith(self.constant(start, at))
                case _:
                    return bool(self.constant(test, at))
        return None

    def returned(self, at: Context) -> Values:
        found = tuple(value for one in at.scope.results for value in self.values(one, at))
        returns = getattr(at.scope.node, "returns", None)
        return found or (*self.annotated(returns, Context(at.scope).around),)

    def kept(self, named: dict[str, Values]) -> Env:
        """Return the arguments that can make a difference to the layers below a function."""
        if self.reaching is None:
            return EMPTY
        known = {name: filter(self.matters, named[name]) for name in named if name[0] != "="}
        found = named | {name: tuple(values) for name, values in known.items()}
        return self.env({name: found[name] for name in sorted(found) if found[name]})

    def matters(self, value: Value) -> bool:
        """Return whether a value can have a layer below it, or can be a count or an exception."""
        match value:
            case Const():
                return value != NOTHING and number([value]) is not None
            case Items(inside=inside):
                return value == NO_MORE or any(map(self.matters, inside.values))
            case External(path=path):
                library = path.partition(".")[0] in self.code.libraries
                return library or (path.startswith("builtins.") and path[9].isupper())
            case Made(scope=scope, instance=False) if not self.entering(value):
                return any(isinstance(one, External) for one in self.ancestors(scope))
            case Made() | Closure():
                return self.entering(value)
            case Ready():
                return True

    def entering(self, function: Closure | Made) -> bool:
        """Return whether a layer may be below a function or class, or below its arguments."""
        owner = function.owner if isinstance(function, Closure) else None
        return (
            function.scope.key in (self.reaching or ())
            or (owner is not None and self.entering(owner))
            or any(not isinstance(one, Const) and one != NO_MORE for one in function.env.values)
        )


def fits(function: Closure, node: ast.Call, named: Iterable[str]) -> bool:
    """Return whether a function accepts a call; `partial` may supply arguments that are missing."""
    given = getattr(function.scope.node, "args", None)
    if not isinstance(given, ast.arguments) or (function.owner and not function.owner.instance):
        return True
    names = {one.arg for one, _ in function.scope.parameters}
    bound = function.scope.is_method and function.owner is not None
    single = [one for one in node.args if not isinstance(one, ast.Starred)]
    many = len(single) + bound > len([*given.posonlyargs, *given.args])
    odd = {*named} - {"**"} - names
    return not ((many and not given.vararg) or (odd and not given.kwarg))


def combined(op: ast.operator, left: Values, right: Values) -> Iterator[Value]:
    """Yield the result of an operator; for any `|`, as of types or tenacity's stops, both sides."""
    one, other = number(left), number(right)
    if isinstance(op, ast.BitOr):
        yield from (*left, *right)
    elif one is not None and other is not None and type(op) in OPERATORS:
        yield Const(OPERATORS[type(op)](one, other))
