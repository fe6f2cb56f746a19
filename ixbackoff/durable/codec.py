"""Encoding of values and failures as portable JSON; nothing is pickled."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from .._words.call_commands import shown as without_secrets
from .._words.commands import Misuse
from .._words.equality_by_fields import fields_of
from .._words.judging import RECORDED

A = TypeVar("A")

JSON: TypeAlias = Any
"""A value that `json` reads and writes."""

TAG = "$"
"""The key of the type's name in an encoded value; a dict with this key is encoded as pairs."""

LONGEST = 200  # the greatest number of characters of a value in a message
NESTED = 100  # the greatest depth of a value; a tuple or a set counts twice
DEEPEST = 5  # the greatest length of a recorded chain of causes


class Unrecordable(Misuse):
    """A value that cannot be recorded or decoded: use plain data, or register its class.

    >>> from ixbackoff.durable.codec import encode
    >>> encode(print)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ixbackoff.durable.Unrecordable: <built-in function print> cannot be recorded: ...
    """


class Kind(NamedTuple):
    """The encoding of the values of one class, and its inverse."""

    kind: type
    to: Callable[[Any], Any]
    back: Callable[[Any], Any]


def base64_of(value: bytes) -> str:
    return base64.b64encode(value).decode()


def parts_of_moment(value: datetime | time) -> list[Any]:
    """Return the text of a datetime or a time, its `fold`, and the name of its zone."""
    zone = getattr(value.tzinfo, "key", None)
    plain = value if zone is None else value.replace(tzinfo=None)
    return [plain.isoformat(), value.fold, zone]


def timedelta_of(parts: list[int]) -> timedelta:
    return timedelta(*parts)


def moment_of(kind: type[datetime | time], parts: list[Any]) -> datetime | time:
    text, fold, zone = parts
    made = kind.fromisoformat(text).replace(fold=fold)
    return made if zone is None else made.replace(tzinfo=ZoneInfo(zone))


KINDS: dict[str, Kind] = {
    "bytes": Kind(bytes, base64_of, base64.b64decode),
    "bytearray": Kind(bytearray, bytes, bytearray),
    "tuple": Kind(tuple, list, tuple),
    "set": Kind(set, list, set),
    "frozenset": Kind(frozenset, list, frozenset),
    "datetime": Kind(datetime, parts_of_moment, partial(moment_of, datetime)),
    "date": Kind(date, date.isoformat, date.fromisoformat),
    "time": Kind(time, parts_of_moment, partial(moment_of, time)),
    "timedelta": Kind(timedelta, attrgetter("days", "seconds", "microseconds"), timedelta_of),
    "Decimal": Kind(Decimal, str, Decimal),
    "UUID": Kind(UUID, str, UUID),
    "complex": Kind(complex, repr, complex),
}

NAMES: dict[type, str] = {one.kind: name for name, one in KINDS.items()}


def recordable(kind: type[A], to: Callable[[A], Any], back: Callable[[Any], A]) -> None:
    """Register a class: `to` converts its values to recordable ones, and `back` converts them back.

    Call `recordable` at the top level of the module of the class, so that each process that may
    continue a run calls it.

    >>> from fractions import Fraction
    >>> from ixbackoff.durable import recordable
    >>> recordable(Fraction, str, Fraction)

    Raises:
        TypeError: `kind` is not a class.
        Unrecordable: `kind` is made inside a function, so no other process finds it.
    """
    given: object = kind
    if not isinstance(given, type):
        raise TypeError(f"recordable({kind!r}, ...): give a class.")
    name = named(kind)
    KINDS[name] = Kind(kind, to, back)
    NAMES[kind] = name


def encode(value: Any, depth: int = 0) -> JSON:
    """Return `value` as JSON; raise Unrecordable if a part of it cannot be encoded."""
    kind: type = value.__class__
    if depth > NESTED:
        raise Unrecordable(f"A value cannot be recorded: its JSON is nested over {NESTED} deep.")
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        return text_of(value)
    if kind is float:
        return value if value - value == 0 else {TAG: "float", "v": repr(value)}
    if kind is list:
        return [encode(item, depth + 1) for item in value]
    if kind is dict:
        if TAG not in value and all(key.__class__ is str and key.isprintable() for key in value):
            return {key: encode(item, depth + 1) for key, item in value.items()}
        pairs = [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in value.items()]
        return {TAG: "dict", "v": pairs}
    name = NAMES.get(kind)
    if name is not None:
        encoded = encode(KINDS[name].to(value), depth + 1)
        ordered = sorted(encoded, key=repr) if kind in (set, frozenset) else encoded
        return {TAG: name, "v": ordered}  # sorted: the order of a set differs between processes
    return encode_by_base(value, kind, depth + 1)


def text_of(value: str) -> JSON:
    """Return a text as JSON; databases do not store lone surrogates, and some do not store NUL."""
    if value.isascii() and "\0" not in value:
        return value
    try:
        value.encode()
    except UnicodeEncodeError:  # the name of a file may contain lone surrogates
        return {TAG: "str", "v": base64_of(value.encode("utf-8", "surrogatepass"))}
    return {TAG: "str", "v": base64_of(value.encode())} if "\0" in value else value


def encode_by_base(value: Any, kind: type, depth: int) -> JSON:
    if derives(kind, BaseException):
        return encode_failure(value)
    if derives(kind, Enum):
        given = value.value if derives(kind, Flag) else value.name
        return {TAG: "enum", "k": named(kind), "v": given}
    if derives(kind, PurePath):
        return {TAG: "path", "k": named(kind), "v": encode(str(value))}
    if derives(kind, tuple) and hasattr(kind, "_make"):
        return {TAG: "named", "k": named(kind), "v": [encode(item, depth) for item in value]}
    if is_dataclass(kind):
        encoded = {one.name: encode(getattr(value, one.name), depth) for one in fields(kind)}
        return {TAG: "data", "k": named(kind), "v": encoded}
    if kind is type:
        return {TAG: "type", "v": named(value)}
    name = type(value).__name__
    raise Unrecordable(
        f"{shown(value)} cannot be recorded: {name} is neither plain data nor a "
        "dataclass; answer with plain data, or register the class with recordable(...)."
    )


def derives(kind: type, base: type | tuple[type, ...]) -> bool:
    """Return `issubclass(kind, base)`; type checkers do not narrow `kind` by this function."""
    return issubclass(kind, base)


def decode(encoded: JSON) -> Any:
    """Return the value that `encode` has encoded; raise Unrecordable if its class is gone."""
    if encoded.__class__ is list:
        return [decode(item) for item in encoded]
    if encoded.__class__ is not dict:
        return encoded
    tag = encoded.get(TAG)
    if tag is None:
        return {key: decode(item) for key, item in encoded.items()}
    if tag in DECODERS:
        return DECODERS[tag](encoded)
    if tag not in KINDS:
        raise Unrecordable(
            f"A value of {tag} is in the journal, and this process cannot decode it: call "
            "recordable(...) in a module that this process imports."
        )
    return KINDS[tag].back(decode(encoded["v"]))


def decode_data(encoded: JSON) -> Any:
    """Make a dataclass instance without calling `__init__`, which would check the values again.

    Fields that were added since have their defaults, and removed ones are dropped.
    """
    kind = found(encoded["k"])
    if not is_dataclass(kind) or not isinstance(kind, type):
        raise Unrecordable(f"{encoded['k']} is not a dataclass any more.")
    made = object.__new__(kind)
    for field in fields(kind):
        if field.name in encoded["v"]:
            value = decode(encoded["v"][field.name])
        elif field.default is not MISSING:
            value = field.default
        elif field.default_factory is not MISSING:
            value = field.default_factory()
        else:
            raise Unrecordable(
                f"{encoded['k']} in the journal has no {field.name}: give a default."
            )
        object.__setattr__(made, field.name, value)
    return made


def decode_enum(encoded: JSON) -> Any:
    kind, given = found_kind(encoded["k"], Enum), encoded["v"]
    return kind(given) if derives(kind, Flag) else kind[given]


def decode_named(encoded: JSON) -> Any:
    """Make a named tuple; new fields have their defaults."""
    kind = found_kind(encoded["k"], tuple)
    values = list(map(decode, encoded["v"]))
    return kind._make(values + [kind._field_defaults[name] for name in kind._fields[len(values) :]])


def encode_failure(failure: BaseException, depth: int = 0) -> JSON:
    """Return an exception as JSON, without its traceback.

    An exception that could not be decoded is encoded as its nearest decodable base class, with a
    note; if there is no such class, as a `RuntimeError`.
    """
    for kind in failure.__class__.__mro__:
        if not issubclass(kind, Exception):
            continue
        encoded = encode_as(failure, kind)
        if encoded is None:
            continue
        notes = [str(note) for note in getattr(failure, "__notes__", ())]
        if kind is not failure.__class__:
            notes.append(f"recorded as {kind.__name__}: it was a {failure.__class__.__qualname__}")
        if notes:
            encoded["notes"] = [encode(note) for note in notes]
        if failure.__cause__ is not None and depth < DEEPEST:
            encoded["cause"] = encode_failure(failure.__cause__, depth + 1)
        return encoded
    return encode_failure(RuntimeError(shown(failure)), DEEPEST)


def encode_as(failure: BaseException, kind: type) -> JSON:
    """Encode an exception as one of `kind`; return `None` if it could not be decoded again."""
    exact = kind is failure.__class__
    try:
        encoded = {
            TAG: "failure",
            "k": named(kind),
            "args": [encode(item) for item in (arguments(failure) if exact else [str(failure)])],
            "state": encode(state_of(failure) if exact else {}),
            "text": encode(str(failure)),
        }
        back = decode_failure(encoded)
        same = back.__class__ is kind and str(back) == str(failure)
        if same and (not exact or state_of(back).keys() == state_of(failure).keys()):
            return encoded
    except Exception:
        return None
    return None


def state_of(failure: BaseException) -> dict[str, Any]:
    """Return the attributes of an exception, without its notes and its recorded judgement."""
    state = fields_of(failure)
    return {name: value for name, value in state.items() if name not in ("__notes__", RECORDED)}


def arguments(failure: BaseException) -> tuple[Any, ...]:
    """Return the arguments in `failure.__reduce__()` if that method is built-in, else the `args`.

    The `args` are not always enough: for example, those of an `OSError` lack the file name.
    """
    reduced: Any = failure.__reduce__()
    made, given = reduced[:2]
    theirs: Any = failure.__class__.__reduce__
    usual = theirs is built_in(failure.__class__).__reduce__ and made is failure.__class__
    if not usual or given.__class__ is not tuple:
        return failure.args
    arguments: tuple[Any, ...] = given
    return arguments


def decode_failure(encoded: JSON) -> BaseException:
    """Return the exception that `encode_failure` encoded; call only a built-in `__init__`."""
    kind = found_kind(encoded["k"], BaseException)
    given = tuple(decode(item) for item in encoded["args"])
    made: BaseException = kind.__new__(kind, *given)
    if made.__class__ is not kind:
        raise Unrecordable(f"{encoded['k']}.__new__ returned an instance of another class.")
    begin: Any = vars(built_in(kind)).get("__init__", BaseException.__init__)
    try:
        begin(made, *given)
    except TypeError:  # the arguments are not those of the built-in base class
        made.args = given
    for name, value in decode(encoded["state"]).items():
        object.__setattr__(made, name, value)
    for note in encoded.get("notes", ()):
        made.add_note(decode(note))
    if "cause" in encoded:
        made.__cause__ = decode_failure(encoded["cause"])
    return made


def built_in(kind: type) -> type:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


DECODERS: dict[str, Callable[[JSON], Any]] = {
    "float": lambda encoded: float(encoded["v"]),
    "str": lambda encoded: base64.b64decode(encoded["v"]).decode("utf-8", "surrogatepass"),
    "dict": lambda encoded: {decode(key): decode(item) for key, item in encoded["v"]},
    "failure": decode_failure,
    "enum": decode_enum,
    "path": lambda encoded: found_kind(encoded["k"], PurePath)(decode(encoded["v"])),
    "named": decode_named,
    "data": decode_data,
    "type": lambda encoded: found_kind(encoded["v"], object),
}


def named(kind: type) -> str:
    """Return the name by which another process finds a class."""
    if "<locals>" in kind.__qualname__:
        raise Unrecordable(
            f"{kind.__qualname__} is made inside a function, so no other process finds it: move it "
            "to the top of its module."
        )
    return f"{module_of(kind.__module__)}:{kind.__qualname__}"


def module_of(name: str) -> str:
    """Return the name by which a module can be imported, even if `python -m` runs it."""
    if name != "__main__":
        return name
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return getattr(spec, "name", None) or name


def found(name: str) -> Any:
    """Find an object by its name, as `named` returns it; raise Unrecordable if it is gone."""
    where, _, path = name.partition(":")
    if where == module_of("__main__"):
        where = "__main__"
    try:
        known = where.partition(".")[0] in sys.modules  # a journal imports no new package
        place: Any = sys.modules.get(where) or (import_module(where) if known else None)
        for part in path.split("."):
            place = getattr(place, part)
    except (ImportError, AttributeError) as error:
        raise Unrecordable(
            f"{name} is in the journal and cannot be found: leave it in its module until the runs "
            "that use it have ended."
        ) from error
    return place


def found_kind(name: str, base: type) -> Any:
    """Find a class that derives from `base`, as `found` does."""
    kind = found(name)
    if not isinstance(kind, type) or not issubclass(kind, base):
        raise Unrecordable(
            f"The class {name} of a value in the journal is {shown(kind)}, which does not derive "
            f"from {base.__name__}."
        )
    return kind


def shown(value: object) -> str:
    """Return the `repr` of a value without secrets, cut if it is long."""
    try:
        text = without_secrets(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
