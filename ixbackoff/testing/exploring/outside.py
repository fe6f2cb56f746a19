"""State outside of the world: what handlers hold, and what functions and classes share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..._words.commands import Misuse
from .states import frozen

__tracebackhide__ = True

Place = tuple[str, Any, str]
"""The name of a shared variable, the dict that holds it, and its key there."""


def holds_only(handler: Any, world: object) -> bool:
    """Return whether a handler holds nothing but the world; if not, its state is compared too."""
    if handler.__class__ is MethodType:
        return handler.__self__ is world
    if handler.__class__ is not FunctionType:
        return False
    cells = handler.__closure__ or ()
    return all(cell.cell_contents is world for cell in cells) and not (
        handler.__defaults__ or handler.__kwdefaults__ or handler.__dict__
    )


class Outside:
    """The variables that all histories share; the functions of a model must not change them.

    They are the module variables that the functions read, the variables around them, their defaults
    and attributes, and the attributes of the class of the world.
    """

    def __init__(self, world: object, functions: Iterable[Any], checks: Iterable[Any]) -> None:
        kinds = world.__class__.__mro__[:-1]
        held = [*functions, *[one for kind in kinds for one in vars(kind).values()]]
        own = [getattr(one, "__func__", one) for one in held]
        excluded = [getattr(one, "__func__", one) for one in checks]
        self.places: list[Place] = []
        for one in own:
            if one.__class__ is FunctionType and one not in excluded:
                self.places += places_of(one)
        for kind in kinds:
            names = [name for name in vars(kind) if not name.startswith("__")]
            self.places += [(f"{kind.__name__}.{name}", vars(kind), name) for name in names]
        self.before = self.seen()

    def seen(self) -> list[Any]:
        return [state_at(place) for place in self.places]

    def check(self) -> None:
        """Raise Misuse if a shared variable has changed."""
        for place, before, now in zip(self.places, self.before, self.seen(), strict=True):
            if before != now:
                raise Misuse(
                    f"{place[0]} changes when handlers run, but it is no part of the world: keep "
                    "it in the world, which is fresh in each history."
                )


def places_of(function: FunctionType) -> Iterator[Place]:
    """Yield the variables outside of a function that it can reach."""
    name = function.__name__
    for used in names_in(function.__code__):
        if used in function.__globals__:
            yield used, function.__globals__, used
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield free, cell, ""
    defaults = {"defaults": [function.__defaults__, function.__kwdefaults__], "own": vars(function)}
    yield f"A default of {name}", defaults, "defaults"
    yield f"An attribute of {name}", defaults, "own"


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def state_at(place: Place) -> Any:
    """Return a stand-in for a shared variable; `None` if it has no visible state."""
    _, holder, key = place
    try:
        return frozen(holder[key] if key else holder.cell_contents)
    except Exception:
        return None
