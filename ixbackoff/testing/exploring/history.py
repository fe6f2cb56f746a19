"""Histories: a run and its surprises, as they are searched, drawn, written and counted."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from ..virtual import stable
from .surprises import Surprise

__tracebackhide__ = True

A_co = TypeVar("A_co", covariant=True)


class Occurrence(NamedTuple):
    """A surprise beside the commands: another program goes on, the world changes, and so on.

    Attributes:
        kind: of which kind it is.
        place: the number of the program, of the change, of the late command, or the number picked.
        text: how it is written in a history.
        path: the branch that goes on, if it is one.
    """

    kind: Literal["turn", "change", "landing", "pick"]
    place: int
    text: str
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text


Option: TypeAlias = Surprise | Occurrence


class History(tuple[tuple[int, Option], ...]):
    """The steps of a run at which something else happens than usual, and what.

    Printed, it can be given as `only=`.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(f"{step} {option}" for step, option in self) or NOTHING


NOTHING = "nothing"


class Drawn(tuple[tuple[int, int], ...]):
    """A history as hypothesis draws and shrinks it; `histories` makes it.

    Each pair has the number of commands before a surprise, and which of the surprises it is that
    can happen there.
    """

    __slots__ = ()


class End(NamedTuple, Generic[A_co]):
    """How one program ended.

    Attributes:
        value: its value, if it was well.
        failure: its failure, if it failed.
        died: true if its process died for good.
    """

    value: A_co | None
    failure: BaseException | None
    died: bool


class Explored(NamedTuple):
    """How much was looked at.

    Attributes:
        histories: how many runs there were.
        states: how many different states they reached.
        commands: how many commands were performed.
    """

    histories: int
    states: int
    commands: int


class Broken(AssertionError):
    """A history in which something does not hold; printed, it is the table of what happened.

    Attributes:
        reason: what does not hold.
        history: the surprises; as text, it can be given as `only=`.
        number: how many histories had been looked at when it was found, it included.
    """

    def __init__(self, text: str, reason: str, history: History, number: int) -> None:
        super().__init__(text)
        self.reason = reason
        self.history = history
        self.number = number

    def __reduce__(self) -> Any:
        return (Broken, (self.args[0], self.reason, self.history, self.number))


def short(value: Any, most: int = 64) -> str:
    """Write a value in at most so many characters, without its middle if it is longer.

    >>> short("x" * 20, 12)
    "'xxxx..xxxx'"
    """
    text = " ".join(stable(repr(value)).split())
    return text if len(text) <= most else f"{text[: most // 2 - 1]}..{text[-(most // 2) + 1 :]}"
