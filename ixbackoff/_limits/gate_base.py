"""Gates, shared by many programs: each try passes through them, at once, later or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from .._words.checks import finite, inf
from .._words.commands import Misuse
from .._words.failure_classes import Crowded
from .breakers import SILENT
from .deadlines import Expired, Limit, caller_has_gone, time_around

__tracebackhide__ = True


class Gate(ABC):
    """A decision on when a try may begin, and on what its outcome means for the next tries.

    Derive from it for a rule that `Limiter` and `Throttle` do not have. A gate is a function of the
    time and of the outcomes that it hears: no thread or task waits in it or is woken by it. So one
    object serves threads, tasks, virtual time and simulated clients. Its methods must be quick, and
    threads may call them concurrently. All times are seconds on the interpreter's clock (`Now`).

    `run`, `run_async` and `backoff` take gates as `through`; `do(effect).through(gate)` is for
    programs that ask several services. A try that has to wait for its turn stands in line. That is
    not a wait of the ladder: it takes no rung. The gate and all deadlines limit its length. A try
    that the gate refuses fails with `Crowded`, and waits on its ladder like any failed try.

    >>> from ixbackoff import N1, Call, Crowded, Gate, at, call
    >>> from ixbackoff.testing import Virtual, always
    >>> class OpensAt(Gate):
    ...     def __init__(self, opens: float) -> None:
    ...         self.opens = opens
    ...     def enter(self, now: float, came: float, until: float) -> float:
    ...         if now < self.opens:
    ...             raise Crowded(self.opens - now)
    ...         return now
    >>> world = Virtual(Call.handled_by(always("page")))
    >>> at(N1).retry(call(print)).run(world.interpreter, through=OpensAt(9)), world.waits
    ('page', [9.0])

    Attributes:
        timed: whether `hear` needs the time at which a try succeeded, not only when it began.
        longest: the seconds that a try can stand in line at most, for plans.
    """

    timed: bool = True
    longest: float = inf

    @abstractmethod
    def enter(self, now: float, came: float, until: float) -> float:
        """Return the time at which a try may begin: `now`, or its turn if it has to stand in line.

        Args:
            now: the time.
            came: the time at which the try came to the gate.
            until: the deadline; refuse the try, and reserve nothing, unless its turn is earlier.

        Raises:
            Crowded: the try is refused.
        """

    def turn(self, turn: float, now: float, came: float, until: float) -> float:  # noqa: ARG002
        """Decide as `enter` does, for a try whose `turn` has come; return `now` by default."""
        return now

    def answer(self, value: object) -> None:  # noqa: B027
        """Take the answer of a try that succeeded; `hear` follows."""

    def hear(self, failure: Exception | None, now: float, began: float) -> None:  # noqa: B027
        """Take the outcome of a try that began at `began`: its failure, `None` for a success."""

    def leave(self, now: float) -> None:  # noqa: B027
        """Forget a try without an outcome: it was cancelled, or did not reach the service."""


def checked_gates(name: str, given: Gate | Sequence[Gate]) -> tuple[Gate, ...]:
    gates = given if isinstance(given, Sequence) else (given,)
    for gate in gates:
        known: object = gate
        if not isinstance(known, Gate):
            write = "give a Limiter(...) or another Gate; only do(effect).through takes a Reserve"
            raise Misuse(f"{name}={known!r} is not a gate: {write}.")
    return tuple(gates)


def checked_turn(gate: Gate, turn: float) -> float:
    """Return the time at which a try may begin, as `gate` gave it."""
    time = finite(turn)
    if time != time:  # nan
        raise Misuse(f"{gate!r} gave {turn!r} for a turn: return a finite time, or raise Crowded.")
    return time


def deadline_of(limits: Sequence[Limit], now: float) -> float:
    """Return the time by which a try has to begin, `inf` without a limit."""
    around = time_around()
    left = [] if around is None else [now + around.seconds]
    return min([*left, *(limit.deadline for limit in limits if not limit.ending)], default=inf)


def too_late(turn: float, now: float, until: float) -> Crowded:
    wait, left = turn - now, max(until - now, 0.0)
    return Crowded(wait, f"the turn of a try comes in {wait:g} s, and {left:g} s are left")


def out_of_line(wait: float, longest: float) -> Crowded:
    turn = f"the turn of a try comes in {wait:g} s"
    return Crowded(wait, f"{turn}, and it stands in line for {longest:g} s at most")


def heard(failure: BaseException) -> Exception | None:
    """Return the failure that a gate hears; `None` if `failure` says nothing about the service."""
    if isinstance(failure, Expired):
        return TimeoutError() if failure.limit.blames else None
    silent = isinstance(failure, SILENT) or caller_has_gone()
    return None if silent or not isinstance(failure, Exception) else failure
