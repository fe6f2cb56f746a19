"""Digests of commands: equal for equal commands, in every process."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any, NamedTuple

from .._words.call_commands import Calling
from .._words.commands import Command
from .._words.equality_by_fields import fields_of
from .._words.standard_commands import Delay, Together, issued_in_line
from .codec import JSON, Unrecordable, derives, encode, module_of, shown

DIGITS = 24


class CommandDigest(NamedTuple):
    """The part of an entry that identifies a command."""

    kind: str  # the name of the command's class; "Twice" for a hedge, "Line" for a place in line
    digest: str
    shown: str  # its `repr` or a description, without secrets of standard commands


def digest_of(command: Command[Any]) -> CommandDigest:
    if isinstance(command, Together):  # only the number of effects: attempts cannot be compared
        number = len(command.effects)
        if command.hedge is not None:
            return CommandDigest("Twice", "1", "a hedged effect")
        return CommandDigest("Together", str(number), f"{number} concurrent effects")
    if issued_in_line(command):
        return CommandDigest("Line", "", "a place in line")
    if isinstance(command, Delay):
        return CommandDigest(
            "Delay", f"{command.seconds!r} on {command.rung}", shown(str(command))[1:-1]
        )
    text = json.dumps(content(command), sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
    return CommandDigest(command.__class__.__name__, digest, shown(command))


def content(value: Any) -> JSON:
    """Return `value` as JSON that can be compared, but not decoded.

    Functions are compared by name. Objects that cannot be recorded are compared by class.
    """
    kind: type = value.__class__
    if derives(kind, Calling):
        given = [content(list(value.arguments)), content(dict(value.keywords))]
        return [content(value.function), *given]
    if derives(kind, Command):
        return [name_of_class(kind), content(fields_of(value))]
    if derives(kind, partial):
        return [content(value.func), content(list(value.args)), content(value.keywords)]
    if derives(kind, (list, tuple)):
        return list(map(content, value))
    if derives(kind, dict):
        return {str(content(key)): content(value[key]) for key in value}
    if derives(kind, BaseException):
        return [name_of_class(kind), str(value)]
    if derives(kind, type):
        return name_of_class(value)
    if hasattr(value, "__qualname__"):
        return name_of_function(value)
    try:
        return encode(value)
    except Unrecordable:
        return name_of_class(kind)


def name_of_function(function: Any) -> str:
    """Return the qualified name of a function; for a bound method, with the class in front."""
    owner: Any = getattr(function, "__self__", None)
    of = "" if owner is None else f"{name_of_class(owner.__class__)}."
    place: Any = getattr(function, "__objclass__", function)  # `str.upper` lacks `__module__`
    return f"{of}{module_of(str(place.__module__))}:{function.__qualname__}"


def name_of_class(kind: type) -> str:
    return f"{module_of(kind.__module__)}:{kind.__qualname__}"
