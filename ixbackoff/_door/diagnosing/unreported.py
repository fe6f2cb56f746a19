"""Mistakes that a type checker can miss, found in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias, TypeGuard

from ..reading.checker_output import Error
from ..reading.issued_commands import declared
from ..reading.sources import Source
from .explained_errors import Finding
from .explanation import Explanation

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
YIELDS = (ast.Yield, ast.YieldFrom)
BUILT_IN = {"str", "bytes", "bool", "int", "float", "list", "dict", "tuple", "set", "None"}
MAKERS = {"Now", "Pick", "call", "call_async", "read", "read_async", "all_of", "first_of", "do"}
NUMBERS = ("bool", "int", "float")  # each is accepted where a later one is expected


def unchecked(source: Source) -> Iterator[Finding]:
    if not source.uses_ixbackoff:
        return
    for node in source.nodes:
        if isinstance(node, Function):
            found = [*in_an_attempt(node, source), *under_backoff(node, source)]
            found += of_another_answer(node, source)
        elif isinstance(node, ast.ClassDef):
            found = under_backoff(node, source)
        elif isinstance(node, ast.Call):
            found = of_a_coroutine_function(node, source)
        else:
            continue
        for where, explanation in found:
            yield finding(where, explanation, source)


Found: TypeAlias = list[tuple[ast.expr | ast.stmt, Explanation]]


def finding(where: ast.expr | ast.stmt, explanation: Explanation, source: Source) -> Finding:
    place = source.place(where.lineno, where.col_offset)
    error = Error(str(source.path), place.line, place.column, explanation.sentence, "", ())
    return Finding(error, explanation, place, source.line(place.line))


def decorated(node: Function | ast.ClassDef, name: str, source: Source) -> list[ast.expr]:
    """Return the decorators called `name` that are from ixbackoff."""
    return [
        one
        for one in node.decorator_list
        for function in [one.func if isinstance(one, ast.Call) else one]
        if isinstance(function, ast.Name) and function.id == name and name in source.ours
    ]


def own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without the nodes of functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda):
            yield from own(child)


def in_an_attempt(node: Function, source: Source) -> Found:
    if not decorated(node, "attempt", source):
        return []
    fix = "Write `yield from` before each command."
    bare = "A `yield` without `from` issues its command, and its value has no type."
    unissued = "This line makes a command, but does not issue it."
    found: Found = []
    for one in own(node):
        said = bare if isinstance(one, ast.Yield) else unissued
        if isinstance(one, ast.Yield) or is_a_lost_command(one, source):
            found.append((one, Explanation("not-an-attempt", said, fix)))
    if found:
        return found
    for one in own(node):
        if isinstance(one, ast.YieldFrom | ast.Raise) or (
            isinstance(one, ast.Return) and one.value
        ):
            return []
    said = f"The attempt {node.name} issues no command: it has no `yield from`."
    return [(node, Explanation("not-an-attempt", said, fix))]


def is_a_lost_command(node: ast.AST, source: Source) -> TypeGuard[ast.Expr]:
    """Return whether a statement is a call that makes a command or an attempt."""
    made = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else 0
    name = made.id if isinstance(made, ast.Name) else ""
    return name in MAKERS & source.ours or bool(declared(source, name))


def under_backoff(node: Function | ast.ClassDef, source: Source) -> Found:
    if not decorated(node, "backoff", source):
        return []
    if isinstance(node, ast.ClassDef):
        said = f"backoff decorates a function, but {node.name} is a class."
        return [(node, Explanation("wrong-arguments", said, "Put backoff on its methods."))]
    if any(isinstance(one, YIELDS) for one in own(node)):
        said = f"{node.name} is a generator function: a retry would yield its first items again."
        fix = "Write @backoff(...).stream, which retries it until its first item, or return a list."
        return [(node, Explanation("wrong-arguments", said, fix))]
    return []


def of_another_answer(node: Function, source: Source) -> Found:
    """Find `@backoff(until=f)` if `f` is in this file and does not take the declared answer."""
    functions = {one.name: one for one in source.tree.body if isinstance(one, ast.FunctionDef)}
    found: Found = []
    for one in decorated(node, "backoff", source):
        for key in one.keywords if isinstance(one, ast.Call) else ():
            named = isinstance(key.value, ast.Name) and functions.get(key.value.id)
            if key.arg != "until" or not named or not node.returns:
                continue
            parameters = [*named.args.posonlyargs, *named.args.args]
            taken = parameters[0].annotation if parameters else None
            answers, fitting = built_in(node.returns), built_in(taken)
            if taken and answers and fitting and not answers <= fitting:
                said = (
                    f"until={named.name} takes {ast.unparse(taken)}, but {node.name} answers "
                    f"{ast.unparse(node.returns)}."
                )
                fix = "Give a predicate that takes all answers of the function."
                found.append((key.value, Explanation("wrong-arguments", said, fix)))
    return found


def built_in(node: ast.expr | None) -> set[str]:
    """Return the built-in types that an annotation allows; empty if it names other types."""
    if isinstance(node, ast.BinOp):
        left, right = built_in(node.left), built_in(node.right)
        return left | right if left and right else set()
    name = ast.unparse(node).partition("[")[0] if node else ""
    if name in NUMBERS:
        return {*NUMBERS[: NUMBERS.index(name) + 1]}
    return {name} & BUILT_IN


def of_a_coroutine_function(node: ast.Call, source: Source) -> Found:
    function, first = node.func, node.args[0] if node.args else None
    if not isinstance(function, ast.Attribute) or not isinstance(first, ast.Name):
        return []
    if function.attr != "program" or source.root(function) != "backoff":
        return []
    names = [one.name for one in source.tree.body if isinstance(one, ast.AsyncFunctionDef)]
    if first.id not in names or "backoff" not in source.ours:
        return []
    said = f".program(...) takes a plain function, but {first.id} is a coroutine function."
    return [(first, Explanation("wrong-arguments", said, f"Write .program_async({first.id})."))]
