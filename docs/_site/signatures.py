"""Repairs of the signatures and docstrings that Sphinx makes of public names."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from functools import cache
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.python._object import PyObject
from sphinx.errors import PycodeError
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

from ixbackoff import all_of

SEALED = re.compile(r"\(_\w+: \S*(?:Never|object)\)|\(\*args, \*\*kwargs\)")
REPAIRS = {
    "*args: ~typing.~P": "*args: P.args",
    "**kwargs: ~typing.~P": "**kwargs: P.kwargs",
    "Callable[[~P]": "Callable[P",
    "Callable[[...]": "Callable[...",
    "<factory>": "...",
}


def choose_overloads(app: Sphinx) -> None:
    """Remove overloads that cannot be called: their argument is a message for type checkers.

    Of the overloads of `all_of`, keep those for an iterable, two effects and three.
    """
    programs = ModuleAnalyzer.for_module("ixbackoff._writing.programs")
    programs.analyze()
    for overloads in programs.overloads.values():
        overloads[:] = [
            one
            for one in overloads
            if "Never" not in {parameter.annotation for parameter in one.parameters.values()}
        ]
    public = ModuleAnalyzer.for_module("ixbackoff")
    its_own = ModuleAnalyzer.for_module(inspect.unwrap(all_of).__globals__["__name__"])
    public.analyze()
    its_own.analyze()
    public.overloads["all_of"] = its_own.overloads["all_of"][1:4]


def know_its_types(app: Sphinx, thing: Any, bound: bool) -> None:
    """Import the names that the module of a function imports only for type checkers."""
    scope = getattr(inspect.unwrap(thing), "__globals__", {})
    if str(scope.get("__name__")).startswith("ixbackoff"):
        for imports in imported_for_types(scope["__name__"]):
            exec(imports, scope)  # noqa: S102


@cache
def imported_for_types(module: str) -> list[str]:
    """Return the statements under `if TYPE_CHECKING:` in a module."""
    return [
        ast.unparse(statement)
        for node in ast.parse(inspect.getsource(sys.modules[module])).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
    ]


def signature(
    app: Sphinx,
    kind: str,
    name: str,
    thing: Any,
    options: Any,
    arguments: str | None,
    returned: str,
) -> tuple[str, str] | None:
    """Repair type variables, and show no arguments of classes that users do not instantiate."""
    if arguments is None:
        return None
    for wrong, right in REPAIRS.items():
        arguments = arguments.replace(wrong, right)
    named = re.sub(r"<function (\w+)[^>]*>", r"\1", arguments)
    return SEALED.sub("", named), returned


def docstring(
    app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Find the docstring of a value, and keep a colon in the docstring of an attribute.

    Napoleon takes the text before the first colon for a type, unless a comment comes first.
    """
    if kind == "data":
        lines[:] = documented_after(name.rpartition(".")[2], thing) or lines
    if kind in ("data", "attribute", "property"):
        lines[:] = ["..", "", *GoogleDocstring(lines, app.config, app, "function").lines()]


def documented_after(attribute: str, thing: Any) -> list[str]:
    """Return the docstring after the assignment of a value, in the module that defines it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("ixbackoff.") and getattr(module, attribute, None) is thing:
            try:
                found = ModuleAnalyzer.for_module(name).find_attr_docs()
            except PycodeError:
                continue
            if ("", attribute) in found:
                return found["", attribute]
    return []


def leave_out_fields(
    app: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Skip the fields of a `NamedTuple`: its docstring describes them."""
    return True if str(member.__doc__).startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    app.connect("builder-inited", choose_overloads)
    app.connect("autodoc-before-process-signature", know_its_types)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring, priority=100)
    app.connect("autodoc-skip-member", leave_out_fields)
