"""Switches for a whole test suite: waits that take no time, ladders with a single try."""

from __future__ import annotations

from typing import Any, Self, final

from .._meaning.retrying import ONE_TRY
from .._running.sleeping import SWITCHES
from .._words.commands import Misuse

__tracebackhide__ = True


class SuiteSwitch:
    """A switch that is on the list `switches`, for the whole process, during its block."""

    switches: list[Any] = SWITCHES

    def __enter__(self) -> Self:
        self.switches.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.switches.remove(self)


@final
class NoWaits(SuiteSwitch):
    """A block in which waits take no time; `no_waits` makes it.

    Attributes:
        waited: the seconds of the waits of the whole process during the block, in order.
    """

    skips = True

    def __init__(self) -> None:
        self.waited: list[float] = []

    def take(self, seconds: float) -> None:
        self.waited.append(seconds)


def no_waits() -> NoWaits:
    """Make waits take no time in this block, in the whole process, and record them.

    This holds for the waits of `live()` and of `@backoff`, sync and awaited, in all threads and
    event loops. In an event loop other tasks still run at a wait, and cancellation is delivered.
    The clock is real: `within` counts real seconds, and a program at `FOREVER` retries without
    end. A wait keeps running if it began before the block.

    Blocks can overlap: waits take no time until the last block ends, and each block records the
    waits during it.

    >>> from ixbackoff import N3, NotReady, backoff
    >>> from ixbackoff.testing import no_waits
    >>> @backoff(N3)
    ... def page() -> str:
    ...     raise NotReady
    >>> with no_waits() as waits:
    ...     page()
    Traceback (most recent call last):
    ixbackoff.NotReady
    ixbackoff: tries: 4, waits: 3, 7 s in all
    >>> waits.waited
    [1.0, 2.0, 4.0]
    """
    return NoWaits()


@final
class SingleTry(SuiteSwitch):
    """A block in which every ladder tries once; `single_try` makes it."""

    switches = ONE_TRY

    def __str__(self) -> str:
        return "testing.single_try()"


def single_try() -> SingleTry:
    """Make every ladder try once in this block, in the whole process.

    A retry of a program, of `@backoff` or of `for one_try in ...` ends with its first failure, and
    later steps, such as `.or_else`, are taken as usual. A program that has failed ends at its next
    `.backoff()`. A `.wait()` still waits. A retry keeps its tries if its first wait began before
    the block.

    >>> from ixbackoff import N3, NotReady, backoff
    >>> from ixbackoff.testing import single_try
    >>> @backoff(N3)
    ... def page() -> str:
    ...     raise NotReady
    >>> with single_try():
    ...     page()
    Traceback (most recent call last):
    ixbackoff.NotReady
    ixbackoff: tries: 1, waits: 0, 0 s in all (each ladder tries once: testing.single_try())
    """
    return SingleTry()


@final
class NoRealWaits(SuiteSwitch):
    """A block in which a real wait, even of 0 s, is an error: for tests that must not wait."""

    skips = False

    def __init__(self) -> None:
        self.refused: list[Misuse] = []  # the errors, in order, even if the test has caught them

    def take(self, seconds: float) -> None:
        """Refuse the wait by raising `Misuse`, which no step retries."""
        refused = Misuse(
            f"This test would really wait {seconds:g} s: run it in virtual time, with the fixture "
            "`virtual`; let waits take no time, with the fixture `no_waits`; or mark it "
            "@pytest.mark.real_waits."
        )
        self.refused.append(refused)
        raise refused
