"""A ladder without an end, for persistent clients."""

from __future__ import annotations

from typing import Any

from .._meaning.chains import Ladder
from .._meaning.descents import After, Kinds, descents, drawn
from .._meaning.semantics import unrolled
from .._words.commands import Misuse, Stream
from .._words.failures import Predicate, Transient
from .._words.vocabulary import Delay, delay
from ..schedules.kinds import Chance, Schedule, Timing, Waits, usable


def endless(program: Ladder, timing: Timing, chance: Chance, within: float | None) -> Stream:
    """`program`, again and again until it ends well, as if its ladder had no end.

    After each failure of it comes the wait that its schedule says next, and no wait begins anew.
    Only a wait that was refused, or could not be told, ends it.

    >>> from random import Random
    >>> from ixbackoff import N1, Exponential, Log, NotReady, at
    >>> stream = endless(at(N1).retry(Log("try")), Exponential(), Random(1), within=None)
    >>> command = next(stream)
    >>> for _ in range(4):
    ...     command = stream.throw(NotReady())
    ...     print(repr(command))
    ...     command = next(stream)
    Delay(seconds=1.0, rung=1)
    Delay(seconds=2.0, rung=0)
    Delay(seconds=4.0, rung=1)
    Delay(seconds=8.0, rung=0)
    """
    waits = Endless(timing, chance)
    while True:
        run = unrolled(program, Rest(waits), within=within)
        try:
            return (yield from waits.counted(run))
        except Misuse:
            raise
        except Exception as error:
            if waits.refused:
                raise
            wait = waits.next(error)
        yield wait
        waits.waited(wait)


class Endless:
    """The waits of all ladders, and how many there were.

    Attributes:
        refused: whether what runs the program had none begun.
    """

    __slots__ = ("_asked", "_chance", "_count", "_shortest", "_timing", "_waits", "refused")

    def __init__(self, timing: Timing, chance: Chance) -> None:
        self._timing = timing
        self._chance = chance
        self._waits: Waits | None = None
        self._count = 0
        self._asked = 0  # for which of them
        self._shortest = 0.0
        self.refused = False

    def begin(self) -> Waits:
        """Begin the waits of one more ladder."""
        before = self._count
        return lambda k: self.seconds(before + k)

    def seconds(self, k: int) -> float:
        """The seconds of the k-th wait in all."""
        if self._waits is None:
            self._waits = self._timing.begin(self._chance)
        self._asked = k
        seconds = float(usable(self._waits(k), k, self._timing))
        return max(self._shortest, seconds) if isinstance(self._timing, Schedule) else seconds

    def next(self, failure: Exception) -> Delay:
        """The wait between two ladders."""
        seconds = self.seconds(self._count)
        asked = failure.retry_after if isinstance(failure, Transient) else None
        return delay(max(seconds, float(asked or 0)), 0, failure)

    def waited(self, wait: Delay) -> None:
        """One of them is over."""
        self._count = self._asked + 1
        self._shortest = wait.seconds

    def counted(self, run: Stream) -> Stream:
        """`run`, the waits of which are counted."""
        failure: BaseException | None = None
        try:
            command = next(run)
            while True:
                answer = None
                try:
                    answer = yield command
                    if isinstance(command, Delay):
                        self.waited(command)
                except BaseException as error:
                    failure = error
                    self.refused = isinstance(command, Delay)
                command = run.send(answer) if failure is None else run.throw(failure)
                failure = None
        except StopIteration as end:
            return end.value
        finally:  # an exception must not be kept alive by a frame in its own traceback
            failure = None


class Rest(Timing):
    """The waits of one of the ladders, which begins at 0 again."""

    __slots__ = ("waits",)

    def __init__(self, waits: Endless) -> None:
        self.waits = waits

    def begin(self, chance: Chance | None = None) -> Waits:  # noqa: ARG002
        return self.waits.begin()


class EndlessDescent:
    """The seconds after each failure of one run of `at(rung).retry(effect)`, ladder after ladder.

    Attributes:
        rung: where the wait that it gave last stands; one between two ladders is at the bottom.
    """

    __slots__ = (
        "_after",
        "_chance",
        "_chosen",
        "_count",
        "_next",
        "_shortens",
        "_shortest",
        "_timing",
        "_top",
        "_waits",
        "rung",
    )

    def __init__(
        self, top: int, chosen: Predicate, timing: Timing, chance: Chance, shortens: bool
    ) -> None:
        self._top = self._next = self.rung = top
        self._chosen = chosen
        self._timing = timing
        self._chance = chance
        self._shortens = shortens
        self._waits: Waits | None = None
        self._count = 0
        self._shortest = 0.0
        self._after = self._ladder(top, (), chosen)

    def __call__(self, failure: Any) -> float | None:
        """The seconds to wait; `None`, if it is not a failure."""
        try:
            seconds = self._after(failure)
        except Exception as error:  # of a predicate: the ladder has failed with it
            failure, seconds = error, None
        ended = seconds is None
        if seconds is None:
            seconds = self._ladder(1, Exception, bool)(failure)
            if seconds is None:
                return None
        self._count += 1
        self._shortest = seconds
        self.rung = 0 if ended else self._next
        self._next -= 1
        if ended:
            self._next = self._top
            self._after = self._ladder(self._top, (), self._chosen)
        return seconds

    def _ladder(self, rungs: int, kinds: Kinds, chosen: Predicate) -> After:
        first, floor = self._count, self._shortest
        return descents(rungs, kinds, chosen, self._begin, first, floor, self._shortens)()

    def _begin(self) -> Waits:
        """The waits of all ladders, which are begun once."""
        if self._waits is None:
            self._waits = drawn(self._timing, self._chance)
        return self._waits
