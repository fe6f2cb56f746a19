"""Rungs, which are natural numbers as types: the number of waits that are left.

`Z` is the last rung, where no wait is left; `Succ[N]` is one rung above `N`. `N0` to `N20` name
them, in annotations and as arguments. `Forever` is a ladder without end. All of them are phantom
types: they have no instances.
"""

from __future__ import annotations

from types import GenericAlias
from typing import (
    TYPE_CHECKING,
    Generic,
    Never,
    Protocol,
    Self,
    TypeVar,
    final,
    get_args,
    get_origin,
)

from .attribute_advice import no_attribute

DEEPEST = 20
"""The highest finite rung: above it, pyright takes any two rungs for equal, without a message."""

ENDLESS = DEEPEST + 1
"""The position of `FOREVER`: one above the highest finite rung, so no finite rung has it."""


class _Seal:
    """The key that a class must show to derive from `Nat`; only this module has it."""


if TYPE_CHECKING:
    T_exact = TypeVar("T_exact")

    class Exactly(Generic[T_exact]):
        """An invariant type: because of it, `N3` is a `Rung[N3]`, and not a `Rung[Nat]`."""

        __slots__ = ()

    RungType = type  # with any other metaclass, mypy accepts `class Nine(Nat)`
else:

    class RungType(type):
        """The metaclass of rungs: it makes the error message of `N3.retry(...)`."""

        __getattr__ = no_attribute


class Nat(metaclass=RungType):
    """The base of all rungs: `Z`, `Succ[N]` and `Forever`. No other class can derive from it."""

    __slots__ = ()

    # Type checkers and Python print the name of this keyword when another class derives from Nat.
    def __init_subclass__(
        cls,
        *,
        only_Z_Succ_and_Forever_are_rungs: type[_Seal],  # noqa: N803
    ) -> None:
        if only_Z_Succ_and_Forever_are_rungs is not _Seal:
            raise TypeError(
                f"{cls.__name__} cannot be a rung: the rungs are N0 to N{DEEPEST} and FOREVER."
            )
        super().__init_subclass__()


class _Exact:
    """What a rung has and `Nat` lacks: a `type[Nat]`, which could be any rung, is not a `Rung`."""

    __slots__ = ()

    @classmethod
    def exactly(cls) -> Exactly[Self]:
        """Show type checkers the exact type of a rung; nothing calls this."""
        raise TypeError("A rung is a type, and does nothing.")


P_inner = TypeVar("P_inner", bound=Nat)
R_rung = TypeVar("R_rung", bound=Nat)


class Rung(Protocol[R_rung]):
    """The type of a rung as an argument: `N3` is a `Rung[N3]`, and no `Rung` of a wider type.

    `type[N3]` in its place would also be a `type[Nat]`, so `at(N3)` could pass for a program at
    `Nat`, which could continue on any rung.
    """

    def exactly(self) -> Exactly[R_rung]: ...


@final
class Z(Nat, _Exact, only_Z_Succ_and_Forever_are_rungs=_Seal):
    """The last rung: no wait is left."""

    __slots__ = ()

    def __init__(self, _no_instances: Never) -> None:
        raise TypeError("A rung is a type and has no instances: write at(N0), not at(Z()).")


@final
class Succ(Nat, _Exact, Generic[P_inner], only_Z_Succ_and_Forever_are_rungs=_Seal):
    """One rung above `P_inner`: one more wait is left."""

    __slots__ = ()
    if not TYPE_CHECKING:  # `Generic` would walk through all rungs below, for each rung
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, _no_instances: Never) -> None:
        raise TypeError("A rung is a type and has no instances: write at(N3), not at(Succ(...)).")


@final
class Forever(Nat, _Exact, only_Z_Succ_and_Forever_are_rungs=_Seal):
    """The rung of a ladder without end: `.retry` there has no last try.

    The waits are those of a ladder from `N20`, and then the last wait repeatedly, with new jitter.
    Only `.retry`, `.resume`, `.retry_with` and `.end` leave it, and they lead to `N0`.
    """

    __slots__ = ()

    def __init__(self, _no_instances: Never) -> None:
        raise TypeError(
            "A rung is a type and has no instances: write at(FOREVER), not at(Forever())."
        )


N0 = Z
N1 = Succ[N0]
N2 = Succ[N1]
N3 = Succ[N2]
N4 = Succ[N3]
N5 = Succ[N4]
N6 = Succ[N5]
N7 = Succ[N6]
N8 = Succ[N7]
N9 = Succ[N8]
N10 = Succ[N9]
N11 = Succ[N10]
N12 = Succ[N11]
N13 = Succ[N12]
N14 = Succ[N13]
N15 = Succ[N14]
N16 = Succ[N15]
N17 = Succ[N16]
N18 = Succ[N17]
N19 = Succ[N18]
N20 = Succ[N19]
FOREVER = Forever


def reflect(rung: Rung[R_rung]) -> int:
    """Return the number of waits that are left on a rung.

    >>> reflect(N3)
    3
    >>> reflect(Succ[N3])
    4

    Raises:
        TypeError: `rung` is not one of `N0` to `N20`.
    """
    inner: object = rung
    number = 0
    if inner is FOREVER:
        raise TypeError("FOREVER has no number: a ladder without end has no last wait.")
    while inner is not Z:
        arguments = get_args(inner) if get_origin(inner) is Succ else ()
        if not arguments:
            raise TypeError(f"{rung!r} is not a rung: {_instead_of(rung)}.")
        number += 1
        if number > DEEPEST:
            raise TypeError(
                f"N{DEEPEST} is the highest rung: for more than {DEEPEST} waits, use FOREVER."
            )
        inner = arguments[0]
    return number


def position(rung: Rung[R_rung]) -> int:
    """Return the number of a rung, or `ENDLESS` for `FOREVER`, or raise TypeError."""
    start: object = rung
    return ENDLESS if start is FOREVER else reflect(rung)


def name_of(position: int) -> str:
    return "FOREVER" if position == ENDLESS else f"N{position}"


def _instead_of(given: object) -> str:
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= DEEPEST:
        return f"write N{given}"
    return f"use one of N0 to N{DEEPEST}"
