"""Rungs: natural numbers as types, which say how many waits are left.

`Z` is the last rung, where nothing can be waited for; `Succ[N]` is one rung above `N`. They are
phantom types: no value of them exists. `N0` to `N20` name them, in annotations and as arguments.
"""

from __future__ import annotations

from typing import Generic, Never, Protocol, Self, final, get_args, get_origin

from typing_extensions import TypeVar

DEEPEST = 20
"""The deepest rung: beyond it one type checker stops telling two rungs apart, in silence."""

ENDLESS = DEEPEST + 1
"""The position of a ladder without end: it starts above every rung, and joins none of them."""


class _Seal:
    """What a class must show to derive from `Nat`; only this module has it."""


T_exact = TypeVar("T_exact")


class Exactly(Generic[T_exact]):
    """Invariant in its parameter: what makes a rung fit its own type and no wider one."""

    __slots__ = ()


class Nat:
    """What a rung is: `Z` or `Succ[N]`, and nothing else, for type checkers and at run time."""

    __slots__ = ()

    # The name of the keyword is what a type checker and Python say to a class that lacks it.
    def __init_subclass__(cls, *, only_Z_and_Succ_are_rungs: type[_Seal]) -> None:  # noqa: N803
        if only_Z_and_Succ_are_rungs is not _Seal:
            raise TypeError(f"{cls.__name__} cannot be a rung: the rungs are N0 to N{DEEPEST}.")
        super().__init_subclass__()

    @classmethod
    def exactly(cls) -> Exactly[Self]:
        """For type checkers alone: through it a rung is a `Rung` of its own type only."""
        raise TypeError("A rung is a type, and does nothing.")


P_inner = TypeVar("P_inner", bound=Nat)
R_rung = TypeVar("R_rung", bound=Nat)


class Rung(Protocol[R_rung]):
    """A rung as an argument: `N3` is a `Rung[N3]`, and of no wider type.

    With `type[N3]` for it, a rung could be taken for one that is wider (`Nat`, or a union), and a
    program at another rung could go on there.
    """

    def exactly(self) -> Exactly[R_rung]: ...


@final
class Z(Nat, only_Z_and_Succ_are_rungs=_Seal):
    """The last rung: no wait is left."""

    __slots__ = ()

    def __init__(self, _no_instances: Never) -> None:
        raise TypeError("A rung is a type and has no instances: write at(N0), not at(Z()).")


@final
class Succ(Nat, Generic[P_inner], only_Z_and_Succ_are_rungs=_Seal):
    """One rung above `P_inner`: one more wait is left."""

    __slots__ = ()

    def __init__(self, _no_instances: Never) -> None:
        raise TypeError("A rung is a type and has no instances: write at(N3), not at(Succ(...)).")


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


def position(rung: Rung[R_rung]) -> int:
    """The number of a rung, or `ENDLESS`."""
    return reflect(rung)


def reflect(rung: Rung[R_rung]) -> int:
    """The number that a rung stands for: how many waits are left on it.

    >>> reflect(N3)
    3
    >>> reflect(Succ[N3])
    4

    Raises:
        TypeError: `rung` is not one of `N0` to `N20`.
    """
    inner: object = rung
    number = 0
    while inner is not Z:
        arguments = get_args(inner) if get_origin(inner) is Succ else ()
        if not arguments:
            raise TypeError(f"{rung!r} is not a rung: use one of N0 to N{DEEPEST}.")
        number += 1
        if number > DEEPEST:
            raise TypeError(
                f"N{DEEPEST} is the deepest rung: a ladder cannot wait more than {DEEPEST} times."
            )
        inner = arguments[0]
    return number
