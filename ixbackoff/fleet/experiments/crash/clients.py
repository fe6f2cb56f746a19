"""The clients of "Exponential Backoff or how not to crash a server", as a program."""

from __future__ import annotations

from ...._words.commands import Command
from ...._words.nat import FOREVER, Forever, Z
from ...._words.vocabulary import Delay, Now
from ...._writing.attempts import do
from ...._writing.programs import Program, at
from ....schedules.kinds import Constant, Schedule
from ....schedules.published import NormalJitter

CLIENTS = 1000
THINK = 10.0
TIMEOUT = 2.0
WAIT = 0.1
FACTOR = 2.71828
JITTER = 0.1
LONGEST = 300.0
LINGERING = 30.0
"""The seconds for which a dial goes on, in the Go of the post's client."""


class Get(Command[None]):
    """A request over a connection of its own: GET /api."""

    __slots__ = ()


def asking(timeout: float = TIMEOUT) -> Program[Forever, Z, None, Get | Now | Delay]:
    """A program that asks until it is answered; each try has so many seconds.

    >>> asking()
    <Program from FOREVER to N0, 1 step>

    Raises:
        ValueError: `timeout` is not above 0.
    """
    return at(FOREVER).retry(do(Get()).limit(timeout))


def backoffs(wait: float = WAIT) -> dict[str, Schedule]:
    """The two modes of the post, by their names: `wait` seconds each time, or at first.

    >>> [schedule.longest(1) for schedule in backoffs().values()]
    [0.1, inf]

    Raises:
        ValueError: `wait` is not above 0.
    """
    return {
        "fixed": Constant(wait),
        "exponential": NormalJitter(wait, FACTOR, JITTER, max(LONGEST, wait)),
    }
