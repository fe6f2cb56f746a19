"""Explanations by the public functions and classes themselves, as they explain mistakes in a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from types import FunctionType
from typing import Any

from ..._words.arguments import example, mistake, shown_name
from ..._words.attributes import STEPS, without
from .checker_output import Error
from .explanation import Explanation
from .printed import described, shown, with_names
from .sources import Source
from .wordings import parse

WITH_METHODS = ("Program", "Attempt", "Backoff", "RetryBudget", "Download", "Interpreter")
ARGUMENTS = ("argument", "overload", "option")


class Written:
    """An argument as the source has it."""

    def __init__(self, node: ast.expr) -> None:
        self.text = ast.unparse(node)

    def __repr__(self) -> str:
        return self.text if len(self.text) < 40 else "..."


def of_a_call(error: Error, source: Source) -> Explanation | None:
    """Explain arguments that a public function does not take."""
    calls = list(called(error.line, source))
    for function, args, kwargs in calls:
        if fits(function, args, kwargs):
            continue
        said, fix = mistake(function, args, kwargs)
        option = said.endswith(")") and not said.endswith("(...)")
        code = "no-such-option" if option or " takes " in said else "wrong-arguments"
        return Explanation(code, f"{said}{' has no such option' if option else ''}.", sentence(fix))
    for one in parse(error.message):
        for function, _, _ in calls:
            name = shown_name(function)
            if one.sort in ARGUMENTS and one.method in ("", name.rpartition(".")[2]):
                wanted = with_names(one.wanted)
                taken = f"{one.argument}=, {wanted}" if one.argument else wanted
                wrong = f"takes {taken}, and this is {described(one.it)}"
                said = wrong if one.sort == "argument" else "does not take these arguments"
                fix = f"Write {example(function)}."
                return Explanation("wrong-arguments", f"{name}(...) {said}.", fix)
    return None


def of_an_attribute(error: Error, source: Source) -> Explanation | None:
    """Explain an attribute that a public class, or a decorated function, does not have."""
    for one in parse(error.message):
        if one.sort != "attribute":
            continue
        name = shown(one.it.removesuffix("*")).name
        rooms = (import_module("ixbackoff"), import_module("ixbackoff.testing"))
        kind = next((getattr(room, name) for room in rooms if name in room.__all__), None)
        if isinstance(kind, type):
            said, fix = without(kind, one.argument)
            return Explanation("no-such-step", f"{said}.", sentence(fix))
        function = source.before_attribute(error.line, one.argument)
        if function and one.argument in STEPS:
            return Explanation(
                "no-such-step",
                f"{function} is a function, and has no .{one.argument}(...).",
                f"Write at(N3).retry({function}()) if it makes an attempt; a function under "
                "backoff retries by itself.",
            )
    return None


def sentence(fix: str) -> str:
    return f"{fix[0].upper()}{fix[1:]}."


def called(line: int, source: Source) -> Iterator[tuple[Any, list[Any], dict[str, Any]]]:
    """Yield the public functions that are called, or decorate, on a line, and their arguments."""
    for node, name in source.calls(line):
        functions = public(name, source) if isinstance(node.func, ast.Name) else ()
        if isinstance(node.func, ast.Attribute) and source.root(node.func) in source.ours:
            functions = methods(name, source.root(node.func))
        kwargs = {one.arg or "*": value(one.value) for one in node.keywords}
        for function in functions:
            yield function, [value(one) for one in node.args], kwargs
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            for one in node.decorator_list:
                if isinstance(one, ast.Name) and line in (one.lineno, node.lineno):
                    yield from ((found, [node.name], {}) for found in public(one.id, source))


def public(name: str, source: Source) -> Iterator[Any]:
    """Yield the public function of a name that the source imports; of a class, its `__init__`."""
    for node in source.nodes:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and module.partition(".")[0] == "ixbackoff":
            for alias in node.names:
                if alias.name == "*" or name == (alias.asname or alias.name):
                    wanted = name if alias.name == "*" else alias.name
                    found: Any = getattr(import_module(module), wanted, None)
                    found = found.__init__ if isinstance(found, type) else found
                    if isinstance(found, FunctionType):
                        yield found


def methods(name: str, root: str) -> Iterator[Any]:
    """Yield the methods of a name; of a class that begins the chain, its own first."""
    library = import_module("ixbackoff")
    for kind in sorted(WITH_METHODS, key=lambda kind: kind != root):
        method = getattr(getattr(library, kind), name, None)
        method = getattr(method, "__func__", method)
        if isinstance(method, FunctionType):
            yield method
            return


def fits(function: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether a function takes these arguments, as far as the source shows them."""
    if "*" in kwargs or any(isinstance(one, ast.Starred) for one in args):
        return True
    taken = signature(function)
    if next(iter(taken.parameters), "") in ("self", "cls"):
        args.insert(0, None)
    try:
        taken.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant | ast.Starred):
        return node.value if isinstance(node, ast.Constant) else node
    return Written(node)
