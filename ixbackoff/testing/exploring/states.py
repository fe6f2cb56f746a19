"""States: what is equal, and hashes alike, exactly when two worlds or two answers are equal."""

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
"""In place of a slot that is not set."""

LARGE = 2**61 - 1
"""Python hashes a whole number as its rest in a division by this."""

Freezer = Callable[[Any], Any]


def frozen(value: Any) -> Any:
    """Return a value that can be hashed, and equals that of another value only if both are equal.

    Dicts and sets are equal whatever their order. 1, 1.0 and True are not, nor do -1 and -2 hash
    alike, as they do in Python.

    >>> frozen({"a": [1], "b": None}) == frozen({"b": None, "a": [1]})
    True
    >>> frozen(1) == frozen(True), hash(frozen(-1)) == hash(frozen(-2))
    (False, False)

    Raises:
        Misuse: it has no state that can be seen, such as a lock or a file.
    """
    kind: type = value.__class__
    return value if kind is str or value is None else FREEZERS[kind](value)


def may_change(value: Any) -> bool:
    """Return whether a value may be another one later: not if it is an atom, or a tuple of them.

    >>> may_change(("a", (1, None))), may_change(("a", [1]))
    (False, True)
    """
    kind: type = value.__class__
    return any(map(may_change, value)) if FREEZERS[kind] is of_tuple else kind not in ATOMS


def state_of(value: Any, what: str) -> int:
    """Return the hash of a frozen value.

    Raises:
        Misuse: it cannot be compared; `what` says what it is, and what to do.
    """
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


def of_tuple(value: Any) -> Any:
    """As any sequence; it may change only if one of its items may."""
    return (value.__class__, *map(frozen, value))


def of_set(value: Any) -> Any:
    return (value.__class__, frozenset(map(frozen, value)))


def of_exceptions(kind: type) -> Freezer:
    """Return the function that freezes exceptions of a class by their arguments and attributes."""
    names = slots_in(kind)

    def of_exception(value: BaseException) -> Any:
        slots = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
        attributes = dict(slots) | vars(value)
        held = [(k, frozen(v)) for k, v in attributes.items() if not k.startswith("__")]
        return (kind, frozen(value.args), frozenset(held))

    return of_exception


def of_dataclass(kind: type, names: list[str]) -> Freezer:
    """Return the function that freezes the values of a dataclass by their fields."""
    if len(names) < 2:
        return lambda value: (kind, *[frozen(getattr(value, name)) for name in names])
    held = attrgetter(*names)
    return lambda value: (kind, *map(frozen, held(value)))


def of_function(value: FunctionType) -> Any:
    """A function that is written inside another is another object each time, of the same parts."""
    if not value.__closure__ and not value.__defaults__ and "<locals>" not in value.__qualname__:
        return value
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return (value.__code__, frozen(cells), frozen(value.__defaults__))


def of_method(value: MethodType) -> Any:
    return (value.__func__, frozen(value.__self__))


def of_fields(kind: type) -> Freezer:
    """Return the function that freezes the values of a class by their slots and attributes."""
    names = slots_in(kind)

    def of_slots(value: Any) -> Any:
        return (kind, *[frozen(getattr(value, name, UNSET)) for name in names])

    def of_both(value: Any) -> Any:
        return (*of_slots(value), of_dict(vars(value)))

    return of_both if kind.__dictoffset__ else of_slots


def slots_in(kind: type) -> list[str]:
    """Return the slots of the values of a class, those of the bases first."""
    return [name for base in reversed(kind.__mro__) for name in slots_of(base)]


def of_reduced(value: Any) -> Any:
    """Freeze what `copy` and `pickle` would take: all state of an object, however it is held."""
    reduced: Any = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return (value.__class__, reduced)
    make, given, *rest = reduced
    return (
        value.__class__,
        frozen(make),
        frozen(given),
        *[part if part is None else frozen(list_or(part)) for part in rest],
    )


def list_or(part: Any) -> Any:
    """Return an iterator as a list, and anything else as it is."""
    return list(part) if hasattr(part, "__next__") else part


def itself(value: Any) -> Any:
    return value


def with_kind(value: Any) -> Any:
    return (value.__class__, value)


class Freezers(dict[type, Freezer]):
    """The functions that freeze the values of classes, made when they are first needed."""

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
"""The freezers of classes whose values never change, and hold no others."""

FREEZERS = Freezers(
    ATOMS
    | {
        list: of_sequence,
        tuple: of_tuple,
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
    """Return the function that freezes the values of a class."""
    if issubclass(kind, Enum):
        return lambda value: (kind, value.name)
    if issubclass(kind, BaseException):
        return of_exceptions(kind)
    if issubclass(kind, type):
        return itself
    names = fields_to_compare(kind)
    if names is not None:
        return of_dataclass(kind, names)
    if issubclass(kind, dict):
        return of_dict
    if issubclass(kind, tuple):
        return of_tuple
    if issubclass(kind, list | deque):
        return of_sequence
    if issubclass(kind, set | frozenset):
        return of_set
    if plain(kind):
        return of_fields(kind)
    return of_reduced


def fields_to_compare(kind: Any) -> list[str] | None:
    """Return the fields of a dataclass that tell its values apart; `None` for other classes."""
    return [one.name for one in fields(kind) if one.compare] if is_dataclass(kind) else None


def plain(kind: type) -> bool:
    """Return whether the fields of the values of a class are all of their state."""
    usual = all(
        getattr(kind, name, None) is getattr(object, name, None)
        for name in ("__reduce__", "__reduce_ex__", "__getstate__")
    )
    bases = [base for base in kind.__mro__ if base is not object]
    return usual and all(base.__dictoffset__ or "__slots__" in vars(base) for base in bases)
