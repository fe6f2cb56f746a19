"""Values: objects that are compared, hashed and printed by their fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .attribute_advice import no_attribute


class Value:
    """A base for objects that are equal if they are of one class and all their fields are equal.

    The fields are the slots, those of base classes first, and then the attributes without a slot. A
    dataclass may derive from `Value`, and replaces its methods.
    """

    __slots__ = ()
    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return fields_of(self) == fields_of(other)

    def __hash__(self) -> int:
        return hash((self.__class__, *fields_of(self).items()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in fields_of(self).items())
        return f"{self.__class__.__name__}({fields})"


def fields_of(value: object) -> dict[str, object]:
    """Return the attributes of an object that are set, by their names."""
    names = [name for kind in reversed(value.__class__.__mro__) for name in slots_of(kind)]
    slotted = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return slotted | getattr(value, "__dict__", {})


def slots_of(kind: type) -> list[str]:
    """Return the slots that a class defines itself, with private names mangled."""
    slots: str | Iterable[str] = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else slots
    owner = kind.__name__.lstrip("_")
    return [
        f"_{owner}{name}" if name.startswith("__") else name
        for name in names
        if not name.endswith("__")  # such as __dict__ and __weakref__
    ]
