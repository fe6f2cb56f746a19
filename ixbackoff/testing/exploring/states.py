"""Hashable stand-ins for worlds and answers, equal only if no handler tells the originals apart.

A stand-in has every attribute (not only dataclass fields), and shows where an object occurs again.
It lacks the order of a set, the order of a dict unless an object occurs twice, parts that a class
does not pickle, notes of a failure, and the state of classes and modules (see `hidden_state`).
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from enum import Enum
from io import BufferedRandom, BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, TypeAlias

from ..._words.commands import Misuse

__tracebackhide__ = True


class Places(dict[int, tuple[int, Any]]):
    """The numbers of frozen objects, by `id`; `repeats` is true once an object was found twice."""

    repeats = False


Memo: TypeAlias = Places | None

UNSET = object()  # the stand-in for a slot that is not set
NOT_PLAIN = "A command or a failure cannot be compared, so make it of plain data"

LARGE = 2**61 - 1  # the modulus of Python's hash of whole numbers

Freezer = Callable[[Any, Memo], Any]


def frozen(value: Any, memo: Memo = None) -> Any:
    """Return a hashable stand-in for a value, equal only if a handler would read the same.

    The order of a set does not matter, nor does that of a dict unless `memo.repeats`. 1, 1.0 and
    True differ, and so do the hashes of -1 and -2, unlike in Python. With a `memo`, a mutable part
    that occurs again is replaced by its number, because a change of it shows in both places.

    Raises:
        TypeError: `value` hides its state, as a lock or an open file does.
    """
    kind: type = value.__class__
    return value if kind is str or value is None else FREEZERS[kind](value, memo)


def may_change(value: Any) -> bool:
    """Return whether a value may change: true unless it is an atom or a tuple of fixed values."""
    kind: type = value.__class__
    fixed = issubclass(kind, tuple) and not kind.__dictoffset__
    return any(map(may_change, value)) if fixed else kind not in ATOMS


def state_of(value: Any, what: str, memo: Memo = None) -> int:
    """Hash a value; if it cannot be frozen, raise Misuse with a message that begins with `what`."""
    try:
        made = frozen(value, memo)
        if memo is not None and memo.repeats:
            memo.clear()
            made = frozen(value, memo)  # now with the order of dicts: part numbers depend on it
        return hash(made)
    except RecursionError:
        raise Misuse(f"{what}: it refers to itself.") from None
    except Exception as error:
        raise Misuse(f"{what}: {error}") from None


def of_dict(value: Any, memo: Memo) -> Any:
    kind, *items = of_items(value, memo)
    return (kind, *items) if memo is not None and memo.repeats else (kind, counted(items))


def of_sequence(value: Any, memo: Memo) -> Any:
    return (value.__class__, *[frozen(item, memo) for item in value])


def of_items(value: Any, memo: Memo) -> Any:
    items = [
        (key if key.__class__ is str else of_member(key, memo), frozen(item, memo))
        for key, item in value.items()
    ]
    return (value.__class__, *items)


def of_set(value: Any, memo: Memo) -> Any:
    return (value.__class__, counted([of_member(one, memo) for one in value]))


def of_member(value: Any, memo: Memo) -> Any:
    """Freeze a key, or a member of a set; number its parts from 0, because a set has no order."""
    if memo is None or value.__class__ in ATOMS:
        return frozen(value)
    own = Places()
    made = frozen(value, own)
    for place, (number, part) in own.items():
        if place in memo:
            memo.repeats, made = True, (made, number, memo[place][0])
        memo.setdefault(place, (hash((number, made)), part))
    return made


def counted(items: list[Any]) -> frozenset[Any]:
    """Return the items as a set; if some are equal, return each item with its count."""
    found = frozenset(items)
    return found if len(found) == len(items) else frozenset(Counter(items).items())


def of_function(value: FunctionType, memo: Memo) -> Any:
    """Freeze a function: by parts if it holds values, or if calls of another one make it anew."""
    held = [cell.cell_contents for cell in value.__closure__ or ()]
    held += [value.__defaults__, value.__kwdefaults__, vars(value)]
    if held == [None, None, {}] and "<locals>" not in value.__qualname__:
        return value
    return (value.__code__, *[frozen(one, memo) for one in held])


def of_method(value: MethodType | BuiltinFunctionType, memo: Memo) -> Any:
    return (getattr(value, "__func__", value.__name__), frozen(value.__self__, memo))


def of_fields(kind: type, content: Freezer | None = None) -> Freezer:
    """Return the freezer of all attributes, and of the content of a list, a dict or a set."""
    names, has_dict = slots_in(kind), bool(kind.__dictoffset__)

    def of_attributes(value: Any, memo: Memo) -> Any:
        held = [kind, *[frozen(getattr(value, name, UNSET), memo) for name in names]]
        if has_dict:
            space: dict[str, Any] = value.__dict__
            present = sorted(space.keys() - {"__notes__"} if "__notes__" in space else space)
            held += [*present, *[frozen(space[name], memo) for name in present]]
        if content is not None:
            held.append(content(value, memo))
        return tuple(held)

    return of_attributes


def slots_in(kind: type) -> list[str]:
    """Return the slots of a class; for a class written in C, its member descriptors."""
    held = [pair for base in reversed(kind.__mro__) for pair in vars(base).items()]
    return [name for name, one in held if type(one) is MemberDescriptorType and name[:2] != "__"]


def of_reduced(value: Any, memo: Memo) -> Any:
    """Freeze an object by the value of its `__reduce_ex__`: by all that its class pickles."""
    reduced: Any = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return (value.__class__, reduced)
    parts: list[Any] = [[*part] if isinstance(part, Iterator) else part for part in reduced]
    return (value.__class__, *[frozen(part, memo) for part in parts])


def of_file(value: Any, memo: Memo) -> Any:
    """Refuse an open file, whose position no attribute shows, unless it is a standard stream."""
    standard = value is sys.stdout or value is sys.stderr or value is sys.stdin
    return value if standard else of_reduced(value, memo)


def itself(value: Any, _: Memo) -> Any:
    return value


def with_kind(value: Any, _: Memo) -> Any:
    return (value.__class__, value)


def once(freezer: Freezer) -> Freezer:
    """Return a freezer that freezes each object once for a `memo`, which keeps the object alive."""

    def of_part(value: Any, memo: Memo) -> Any:
        if memo is not None:
            if id(value) in memo:
                memo.repeats = True
                return (of_part, memo[id(value)][0])
            memo[id(value)] = (len(memo), value)
        return freezer(value, memo)

    return of_part


class Freezers(dict[type, Freezer]):
    """The freezer of each class, made when it is first needed."""

    def __missing__(self, kind: type) -> Freezer:
        made = self[kind] = freezer_of(kind)
        return made


ATOMS: dict[type, Freezer] = {
    str: itself,
    type(None): itself,
    int: lambda value, _: value if 0 <= value < LARGE else (int, str(value)),
    float: lambda value, _: (float, value.hex()),
    bool: with_kind,
    bytes: with_kind,
    complex: lambda value, _: (complex, repr(value)),
}
"""The freezers of classes whose values never change and contain no other values."""

CONTENTS: dict[type, Freezer] = {
    OrderedDict: of_items,
    dict: of_dict,
    list: of_sequence,
    tuple: of_sequence,
    set: of_set,
    frozenset: of_set,
}

FILES = (FileIO, BufferedReader, BufferedWriter, BufferedRandom, TextIOWrapper)

FREEZERS = Freezers(
    ATOMS
    | {kind: once(content) for kind, content in CONTENTS.items()}
    | dict.fromkeys(FILES, of_file)
    | {
        tuple: of_sequence,
        frozenset: of_set,
        FunctionType: once(of_function),
        MethodType: of_method,
        BuiltinFunctionType: of_method,
        ModuleType: itself,
        type: itself,
        object: itself,
    }
)


def freezer_of(kind: type[Any]) -> Freezer:
    if issubclass(kind, Enum):
        return lambda value, _: (kind, value.name or frozen(value.value))
    if issubclass(kind, BaseException):
        return of_fields(kind, lambda value, memo: frozen([value.args, value.__cause__], memo))
    if issubclass(kind, type):
        return itself
    for base, content in CONTENTS.items():
        if issubclass(kind, base):
            more = kind.__dictoffset__ or slots_in(kind)
            return once(of_fields(kind, content)) if more else FREEZERS[base]
    plain = is_plain(kind)
    freezer = of_fields(kind) if plain else of_reduced
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    return freezer if plain and parameters and parameters.frozen else once(freezer)


def is_plain(kind: type) -> bool:
    """Return whether the values of a class have no state besides their slots and attributes."""
    usual = all(
        getattr(kind, name, None) is getattr(object, name, None)
        for name in ("__reduce__", "__reduce_ex__", "__getstate__")
    )
    bases = [base for base in kind.__mro__ if base is not object]
    return usual and all(base.__dictoffset__ or "__slots__" in vars(base) for base in bases)
