"""State outside of the world: what handlers hold, and the variables that all histories share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..._words.commands import Misuse
from .states import frozen

__tracebackhide__ = True


# A function that uses one of these names may notice the `Recorder` in `shared_cells`, or evade it.
WAYS_ROUND = {"type", "__getattribute__", "__setattr__", "__delattr__", "__getstate__"}


def holds_only(handler: Any, world: object) -> bool:
    """Return whether a handler holds only the world; one that holds more is part of the state."""
    if handler.__class__ is MethodType:
        return handler.__self__ is world
    if handler.__class__ is not FunctionType:
        return False
    own = handler.__defaults__ or handler.__kwdefaults__ or handler.__dict__
    return not own and all(cell.cell_contents is world for cell in handler.__closure__ or ())


def variables(world: object, functions: Iterable[Any], checks: Iterable[Any]) -> dict[str, Any]:
    """Return stand-ins for the variables, outside of the world, that a model's functions use."""
    found: dict[str, Any] = {}
    held = [*functions, *checks]
    for kind in world.__class__.__mro__[:-1]:
        for name, value in vars(kind).items():
            held.append(getattr(value, "__func__", getattr(value, "fget", value)))
            if not name.startswith("__") and not callable(value):
                found[f"{kind.__name__}.{name}"] = value
    for one in held:
        if one.__class__ is FunctionType:
            used = {*names_in(one.__code__)}
            found |= dict.fromkeys(used & WAYS_ROUND)
            if one not in checks:
                found |= {name: one.__globals__[name] for name in used & one.__globals__.keys()}
                found[f"A variable of {one.__qualname__}"] = one
    shown: dict[str, Any] = {}
    for name, value in found.items():
        with suppress(Exception):  # skip a value without visible state
            shown[name] = frozen(value)
    return shown


def check_unchanged(before: dict[str, Any], now: dict[str, Any]) -> None:
    for name, value in before.items():
        if now.get(name, value) != value:
            raise Misuse(
                f"{name} changes when the model runs, but it is no part of the world: keep it in "
                "the world, which is fresh in each history."
            )


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)
