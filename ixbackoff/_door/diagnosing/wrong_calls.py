"""Explanations of wrong calls, made from signatures, in the words of the errors at run time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from inspect import signature
from types import FunctionType
from typing import Any

from ..._words.attribute_advice import STEPS, without
from ..._words.wrong_arguments import documented, example, mistake, shown_name
from ..reading.checker_output import Error
from ..reading.printed import described, split
from ..reading.sources import Place, Source, from_ixbackoff
from ..reading.wordings import parse
from .explanation import Explanation

WITH_METHODS = ("Program", "Attempt", "Backoff", "RetryBudget", "Download", "Interpreter")
RUNG = re.compile(r"(?:type\[)?(?:Succ\[.*|Z|Forever|N\d+)\]?")
ARGUMENTS = ("argument", "overload", "option")


class Written:
    """An argument, whose `repr` is its text in the source, or `...` if that is long."""

    def __init__(self, node: ast.expr) -> None:
        self.text = ast.unparse(node)

    def __repr__(self) -> str:
        return self.text if len(self.text) < 40 else "..."


def wrong_argument(error: Error, source: Source) -> Explanation | None:
    calls = list(called(error.line, source))
    for function, node in calls:
        args, kwargs = given(node)
        if fits(function, args, kwargs):
            continue
        said, fix = mistake(function, args, kwargs)
        option = re.fullmatch(r"(.*?)\((\w+)=.*\)", said)
        said = f"{option[1]}(...) has no option {option[2]}" if option else said
        needs = " needs " in said
        return Explanation(
            "wrong-arguments" if needs else "no-such-option", f"{said}.", sentence(fix)
        )
    method = source.called(Place(error.line, error.column)) if error.column else ""
    for one in parse(error.message):
        for function, node in calls:
            name = shown_name(function)
            if one.kind in ARGUMENTS and (one.method or method) in ("", name.rpartition(".")[2]):
                said, fix = "does not take these arguments", f"write {example(function)}"
                if one.kind == "argument":
                    which = one.argument or argument_at(error, node, function)
                    said = f"does not take {described(one.got)}{which and f' as {which}='}"
                    entry = documented(function, which)
                    fix = f"give {which}: {entry}" if entry else fix
                number = re.match(r"(?:float|int)\b", one.wanted)
                code = "not-seconds" if number else "wrong-arguments"
                return Explanation(code, f"{name}(...) {said}.", sentence(fix))
    return None


def argument_at(error: Error, node: ast.Call, function: Any) -> str:
    """Return the name of the argument that an error is about; "" if the error does not show it."""
    number = re.match(r"Argument (\d+) to ", error.message)
    at = error.column - 1
    named = [one.arg or "" for one in node.keywords if at in (one.col_offset, one.value.col_offset)]
    places = [one.col_offset for one in node.args]
    if named or not (number or at in places):
        return named[0] if named else ""
    index = int(number[1]) - 1 if number else places.index(at)
    names = [one for one in signature(function).parameters if one not in ("self", "cls")]
    return names[index] if index < len(names) else ""


def wrong_attribute(error: Error, source: Source) -> Explanation | None:
    own = {node.name for node in source.nodes if isinstance(node, ast.ClassDef)}
    functions = [one for one in source.nodes if isinstance(one, ast.FunctionDef)]
    decorated = {
        one.name for one in functions if source.ours & {*map(source.root, one.decorator_list)}
    }
    for one in parse(error.message):
        if one.kind != "attribute":
            continue
        got = one.got.removesuffix("*")
        name = "Succ" if RUNG.fullmatch(got) else split(got).name
        rooms = (import_module("ixbackoff"), import_module("ixbackoff.testing"))
        kind = next((getattr(room, name) for room in rooms if name in room.__all__), None)
        if isinstance(kind, type) and name not in own:
            said, fix = without(type(kind) if name == "Succ" else kind, one.argument)
            return Explanation("no-such-step", f"{said}.", sentence(fix))
        function = source.before_attribute(error.line, one.argument)
        if function in decorated and one.argument in STEPS:
            return Explanation(
                "no-such-step",
                f"{function} is a function, and has no .{one.argument}(...).",
                f"Write at(N3).retry({function}()) if {function} makes an attempt; a function "
                "under backoff retries by itself.",
            )
    return None


def sentence(fix: str) -> str:
    return f"{fix[0].upper()}{fix[1:]}."


def called(line: int, source: Source) -> Iterator[tuple[Any, ast.Call]]:
    """Yield the public functions that a line calls or decorates with, each with the call."""
    for call, name in source.calls[line]:
        if isinstance(call.func, ast.Name):
            yield from ((one, call) for one in public(name, source))
        elif isinstance(call.func, ast.Attribute) and source.root(call.func) in source.ours:
            yield from ((one, call) for one in methods(name, source.root(call.func)))


def given(node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    kwargs = {one.arg or "*": value(one.value) for one in node.keywords}
    return [value(one) for one in node.args], kwargs


def public(name: str, source: Source) -> Iterator[Any]:
    """Yield the public function that the source imports as `name`; for a class, its `__init__`."""
    for node in source.nodes:
        if not isinstance(node, ast.ImportFrom) or not from_ixbackoff(node.module):
            continue
        for alias in node.names:
            found: Any = None
            if alias.name == "*" or name == (alias.asname or alias.name):
                with suppress(ImportError, TypeError):  # a missing extra, or a name such as N21
                    wanted = name if alias.name == "*" else alias.name
                    found = getattr(import_module(node.module or ""), wanted, None)
            found = vars(found).get("__init__") if isinstance(found, type) else found
            if isinstance(found, FunctionType):
                yield found


def methods(name: str, root: str) -> Iterator[Any]:
    """Yield the method `name` of the class `root`, or else of another class in `WITH_METHODS`."""
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
