"""Hashable stand-ins for worlds and answers, equal if and only if the originals are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ..._words.commands import Misuse
from ..._words.values import slots_of

__tracebackhide__ = True

UNSET = object()
"""The stand-in for a slot that is not set."""

LARGE = 2**61 - 1
"""The modulus of Python's hash of whole numbers."""

Freezer = Callable[[Any], Any]


def frozen(value: Any) -> Any:
    """Return a hashable stand-in for a value. Stand-ins are equal only if their values are.

    The order of dicts and sets does not matter. 1, 1.0 and True differ, and so do the hashes of -1
    and -2, which are equal in Python.

    >>> frozen({"a": [1], "b": None}) == frozen({"b": None, "a": [1]})
    True
    >>> frozen(1) == frozen(True), hash(frozen(-1)) == hash(frozen(-2))
    (False, False)

    Raises:
        TypeError: `value` has no visible state, such as a lock or a file.
    """
    kind: type = value.__class__
    return value if kind is str or value is None else FREEZERS[kind](value)


def may_change(value: Any) -> bool:
    """Return whether a value may change: true unless it is an atom or a tuple of such values.

    >>> may_change(("a", (1, None))), may_change(("a", [1]))
    (False, True)
    """
    kind: type = value.__class__
    return any(map(may_change, value)) if issubclass(kind, tuple) else kind not in ATOMS


def state_of(value: Any, what: str) -> int:
    """Hash a value; if it cannot be frozen, raise Misuse with a message that begins with `what`."""
    try:
        return hash(frozen(value))
    except RecursionError:
        raise Misuse(f"{what}: it refers to itself.") from None
    except TypeError as error:
        raise Misuse(f"{what}: {error}") from None


def of_int(value: int) -> Any:
    return value if 0 <= value < LARGE else (int, str(value))


def of_float(value: float) -> Any:
    return (float, value.hex())


def of_dict(value: Any) -> Any:
    items = [
        (key if key.__class__ is str else frozen(key), frozen(item)) for key, item in value.items()
    ]
    return (value.__class__, frozenset(items))


def of_sequence(value: Any) -> Any:
    return (value.__class__, *map(frozen, value))


def of_set(value: Any) -> Any:
    return (value.__class__, frozenset(map(frozen, value)))


def of_exceptions(kind: type) -> Freezer:
    names = slots_in(kind)

    def of_exception(value: BaseException) -> Any:
        slots = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
        attributes = dict(slots) | vars(value)
        held = [(k, frozen(v)) for k, v in attributes.items() if not k.startswith("__")]
        return (kind, frozen(value.args), frozenset(held))

    return of_exception


def of_dataclass(kind: type, names: list[str]) -> Freezer:
    if len(names) < 2:
        return lambda value: (kind, *[frozen(getattr(value, name)) for name in names])
    held = attrgetter(*names)
    return lambda value: (kind, *map(frozen, held(value)))


def of_function(value: FunctionType) -> Any:
    """Freeze a function; an inner function by its parts, because each call makes another object."""
    if not value.__closure__ and not value.__defaults__ and "<locals>" not in value.__qualname__:
        return value
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return (value.__code__, frozen(cells), frozen(value.__defaults__))


def of_method(value: MethodType) -> Any:
    return (value.__func__, frozen(value.__self__))


def of_fields(kind: type) -> Freezer:
    names = slots_in(kind)

    def of_slots(value: Any) -> Any:
        return (kind, *[frozen(getattr(value, name, UNSET)) for name in names])

    def of_both(value: Any) -> Any:
        return (*of_slots(value), of_dict(vars(value)))

    return of_both if kind.__dictoffset__ else of_slots


def slots_in(kind: type) -> list[str]:
    return [name for base in reversed(kind.__mro__) for name in slots_of(base)]


def of_reduced(value: Any) -> Any:
    """Freeze an object by its `__reduce_ex__`, which returns all of its state."""
    reduced: Any = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return (value.__class__, reduced)
    make, given, *rest = reduced
    return (
        value.__class__,
        frozen(make),
        frozen(given),
        *[frozen([*part] if hasattr(part, "__next__") else part) for part in rest],
    )


def itself(value: Any) -> Any:
    return value


def with_kind(value: Any) -> Any:
    return (value.__class__, value)


class Freezers(dict[type, Freezer]):
    """The freezer of each class, made when it is first needed."""

    def __missing__(self, kind: type) -> Freezer:
        made = self[kind] = freezer_of(kind)
        return made


ATOMS: dict[type, Freezer] = {
    str: itself,
    type(None): itself,
    int: of_int,
    float: of_float,
    bool: with_kind,
    bytes: with_kind,
    complex: lambda value: (complex, repr(value)),
}
"""The freezers of classes whose values never change and contain no other values."""

FREEZERS = Freezers(
    ATOMS
    | {
        list: of_sequence,
        tuple: of_sequence,
        dict: of_dict,
        set: of_set,
        frozenset: of_set,
        FunctionType: of_function,
        MethodType: of_method,
        BuiltinFunctionType: itself,
        ModuleType: itself,
        type: itself,
        object: itself,
    }
)


def freezer_of(kind: type[Any]) -> Freezer:
    if issubclass(kind, Enum):
        return lambda value: (kind, value.name)
    if issubclass(kind, BaseException):
        return of_exceptions(kind)
    if issubclass(kind, type):
        return itself
    if is_dataclass(kind):
        return of_dataclass(kind, [one.name for one in fields(kind) if one.compare])
    if issubclass(kind, dict):
        return of_dict
    if issubclass(kind, list | tuple | deque):
        return of_sequence
    if issubclass(kind, set | frozenset):
        return of_set
    return of_fields(kind) if is_plain(kind) else of_reduced


def is_plain(kind: type) -> bool:
    """Return whether the values of a class have no state besides their slots and attributes."""
    usual = all(
        getattr(kind, name, None) is getattr(object, name, None)
        for name in ("__reduce__", "__reduce_ex__", "__getstate__")
    )
    bases = [base for base in kind.__mro__ if base is not object]
    return usual and all(base.__dictoffset__ or "__slots__" in vars(base) for base in bases)
