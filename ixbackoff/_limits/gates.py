"""Gates, shared by many programs: each try passes through them, at once, later or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from .._words.checks import inf
from .._words.commands import Misuse
from .._words.failures import Crowded
from .breakers import SILENT
from .deadlines import Expired, Limit, time_around

__tracebackhide__ = True


class Gate(ABC):
    """A decision when a try may begin, and what its outcome means for the next ones.

    Derive from it for a rule that `Limiter` and `Throttle` do not have. A gate is a function of the
    time and of the outcomes that it hears: no thread or task waits in it, holds it or is woken by
    it. So one object serves threads, tasks of any event loop, virtual time and simulated clients.
    Its methods must be quick, and threads may call them at the same time.

    `run`, `run_async` and `backoff` take gates as `through`; `do(effect).through(gate)` is for
    programs that ask several services. A try that has to wait for its turn stands in line. That is
    not a wait of the ladder: it takes no rung, and a deadline or `enter` bounds it. A try that the
    gate refuses fails with `Crowded`, and waits on its ladder like any failed try.

    >>> from ixbackoff import N0, Call, Crowded, Gate, at, call
    >>> from ixbackoff.testing import Virtual, always
    >>> class OnlyOnce(Gate):
    ...     passed = 0
    ...     def enter(self, now: float, came: float, until: float) -> float:
    ...         if self.passed:
    ...             raise Crowded(why="one try has passed")
    ...         self.passed += 1
    ...         return now
    >>> once, world = OnlyOnce(), Virtual(Call.handled_by(always("page")))
    >>> at(N0).do(call(print)).run(world.interpreter, through=once)
    'page'
    >>> at(N0).do(call(print)).run(world.interpreter, through=once)
    Traceback (most recent call last):
    ixbackoff.Crowded: not asked: one try has passed
    ixbackoff: tries: 1, waits: 0, 0 s in all

    All times are seconds on the interpreter's clock (`Now`).

    Attributes:
        timed: whether `hear` needs the time at which a try succeeded. Without it, `now` of a
            success is the time at which the try began.
        longest: the longest time that a try can stand in line, for plans; by default without limit.
    """

    timed: bool = True
    longest: float = inf

    @abstractmethod
    def enter(self, now: float, came: float, until: float) -> float:
        """Return the time at which a try may begin: `now`, or its turn if it has to stand in line.

        Args:
            now: the time.
            came: the time at which the try came to the gate.
            until: the deadline of the try, `inf` without one. If its turn is not before that, raise
                `Crowded` and reserve no turn.

        Raises:
            Crowded: the try is refused.
        """

    def turn(self, turn: float, now: float, came: float, until: float) -> float:  # noqa: ARG002
        """Return the time at which a try may begin that has stood in line until its `turn`.

        By default that is `now`. Return a later time if the gate has closed in the meantime.

        Raises:
            Crowded: the try is refused; `leave` is called.
        """
        return now

    def answer(self, value: object) -> None:  # noqa: B027
        """Take the answer of a try that succeeded; `hear` follows."""

    def hear(  # noqa: B027
        self, failure: Exception | None, now: float, began: float
    ) -> None:
        """Take the outcome of a try that began at `began`: its failure, `None` for a success."""

    def leave(self, now: float) -> None:  # noqa: B027
        """Forget a try without an outcome: it was cancelled, or refused before the service."""


def checked_gates(name: str, given: object) -> tuple[Gate, ...]:
    """Return gates as a tuple, outermost first.

    Raises:
        Misuse: `given` is not a gate, or a sequence of distinct gates.
    """
    gates: list[Any] = [given] if isinstance(given, Gate) else []
    if isinstance(given, Sequence):
        gates = list(given)
    wrong = [gate for gate in gates if not isinstance(gate, Gate)]
    if wrong or (not gates and given != ()):
        raise Misuse(
            f"{name}={(wrong or [given])[0]!r} is not a gate: give a Limiter(...), a Throttle(), "
            "or another Gate."
        )
    return tuple(gates)


def deadline_of(limits: Sequence[Limit], now: float) -> float:
    """Return the time by which a try has to begin, `inf` without a limit."""
    around = time_around()
    left = [] if around is None else [now + around.seconds]
    return min([*left, *(limit.deadline for limit in limits if not limit.ending)], default=inf)


def too_late(turn: float, now: float, until: float) -> Crowded:
    """Return the refusal of a try whose turn is not before its deadline."""
    wait, left = turn - now, max(until - now, 0.0)
    return Crowded(wait, f"the turn of a try comes in {wait:g} s, and {left:g} s are left")


def heard(failure: BaseException) -> Exception | None:
    """Return what a gate hears of a failed try; `None` if it says nothing about the service."""
    if isinstance(failure, Expired):
        return TimeoutError() if failure.limit.refused is None else None
    return None if isinstance(failure, SILENT) or not isinstance(failure, Exception) else failure
