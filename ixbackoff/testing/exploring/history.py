"""Histories, which are runs with their surprises, and the results of a search."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from ..virtual import stable
from .surprises import Surprise

__tracebackhide__ = True

A_co = TypeVar("A_co", covariant=True)


class Occurrence(NamedTuple):
    """A surprise that is not one of the `faults` of a command."""

    # a turn of another program or branch, a change of the world, a late command, a random pick
    kind: Literal["turn", "change", "landing", "pick"]
    place: int  # the number of the program, the change or the command, or the number picked
    text: str
    path: tuple[int, ...] = ()  # the numbers of the branch that continues, outermost first

    def __str__(self) -> str:
        return self.text


Option: TypeAlias = Surprise | Occurrence


class History(tuple[tuple[int, Option], ...]):
    """The surprises of a run, with the numbers of their steps; its text can be given as `only=`."""

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(f"{step} {option}" for step, option in self) or "nothing"


class Drawn(tuple[tuple[int, int], ...]):
    """A history as hypothesis draws and shrinks it; `histories` makes it.

    Each pair is a surprise: the number of steps without one since the last surprise or the start,
    and its index among the surprises that are possible at its step.
    """

    __slots__ = ()


class End(NamedTuple, Generic[A_co]):
    """The end of one program.

    Attributes:
        value: its value, if it succeeded.
        failure: its failure, if it failed.
        died: whether its process died for good.
    """

    value: A_co | None
    failure: BaseException | None
    died: bool


class Explored(NamedTuple):
    """The size of a search.

    Attributes:
        histories: the number of runs.
        states: the number of different states that the runs reached; 0 with `only=`. With
            `merge=False` repeated states are counted, too.
        commands: the number of performed commands.
    """

    histories: int
    states: int
    commands: int


class Broken(AssertionError):
    """A history in which a check fails; its text is a table of the history.

    Attributes:
        reason: the message of the check.
        history: the surprises; as text, it can be passed as `only=`.
        number: the number of this history in the search, from 1.
    """

    def __init__(self, text: str, reason: str, history: History, number: int) -> None:
        super().__init__(text)
        self.reason = reason
        self.history = history
        self.number = number

    def __reduce__(self) -> Any:
        return (Broken, (self.args[0], self.reason, self.history, self.number))


def short(value: Any, most: int = 64) -> str:
    """Write a value in at most `most` characters, without its middle if it is longer.

    >>> short("x" * 20, 12)
    "'xxxx..xxxx'"
    """
    text = " ".join(stable(repr(value)).split())
    return text if len(text) <= most else f"{text[: most // 2 - 1]}..{text[-(most // 2) + 1 :]}"
