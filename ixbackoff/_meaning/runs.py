"""One run of a program: where it stands on its ladder, and how long it waits there."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import Any

from .._limits.deadlines import NOTE, Expired
from .._words.commands import Misuse
from .._words.failures import Predicate
from .._words.vocabulary import Delay, delay
from ..schedules.kinds import Chance, Timing, Waits
from .chains import Chain, Ladder, Step, continued
from .descents import After, Kinds, descents, drawn, shortening

TRIES = f"{NOTE} attempts made:"


class Run:
    """One run: where it stands on its ladder, and what it has tried and waited.

    Attributes:
        wait: the one that it waits now.
        not_waited: what went wrong with a wait, if something did.
        expired: what ended it, if its time was over.
        top: the rung where the whole program starts.
        rung: where the run stands.
        sure: whether it stands exactly there. A `bind` that was passed over was never asked where
            it would have ended, so from then on the rung is an upper bound, until the next program
            that is bound says where it starts.
    """

    __slots__ = (
        "chance",
        "expired",
        "ladder",
        "not_waited",
        "rung",
        "seconds",
        "shortest",
        "sure",
        "timing",
        "top",
        "tries",
        "wait",
        "waited_seconds",
        "waits",
    )

    def __init__(self, program: Chain, timing: Timing, chance: Chance | None) -> None:
        self.ladder = isinstance(program, Ladder)
        self.top = self.rung = program.start if isinstance(program, Ladder) else 0
        self.sure = True
        self.timing = timing
        self.chance = chance
        self.seconds: Waits | None = None
        self.shortest = 0.0
        self.tries = 0
        self.wait: Delay | None = None
        self.not_waited: BaseException | None = None
        self.expired: BaseException | None = None
        self.waits = 0
        self.waited_seconds = 0.0

    def descend(self, step: Step) -> None:
        """Go down as far as the step does, whether it is taken or passed over."""
        if not self.sure and step.start is not None:
            self.rung, self.sure = min(self.rung, step.start), True
        below = step.below(self.rung if self.sure else None)
        self.sure = below is not None
        self.rung = step.bound(self.rung) if below is None else below

    def entered(self, step: Any, given: Any) -> Ladder:
        """The program that a `bind` goes on with, if it starts where the run stands."""
        rung, sure = self.rung, self.sure
        self.descend(step)
        program: object = step.function(given)
        if not isinstance(program, Ladder):
            raise Misuse(
                f"The function of a bind returned {program!r}, which is no program: return one "
                "that starts with at(...), or use .then(...) or .or_else(...) for what is none."
            )
        continued(program, rung if sure else min(rung, program.start))
        self.rung, self.sure = program.start, True
        return program

    def descent(self, rung: int, kinds: Kinds = (), chosen: Predicate = bool) -> After:
        """What gives the seconds after failures, from this rung down."""
        k, shortens = self.top - rung, shortening(self.timing)
        return descents(rung, kinds, chosen, self.begin, k, self.shortest, shortens)()

    def begin(self) -> Waits:
        """The waits of the run, which are begun once."""
        if self.seconds is None:
            self.seconds = drawn(self.timing, self.chance)
        return self.seconds

    def waited(self, rung: int, after: After, failure: Any) -> Generator[Delay, Any, bool]:
        """Wait, on `rung`, if there is a wait after this failure."""
        try:
            seconds = after(failure)
            if seconds is None:
                return False
            self.shortest = seconds
            self.wait = delay(seconds, rung, failure)
            failure = None
            yield self.wait
            self.waits += 1
            self.waited_seconds += seconds
        except BaseException as error:
            self.not_waited = error
            raise
        finally:  # a wait holds its failure
            failure = self.wait = None
        return True

    def ended(self, value: Any, failure: BaseException | None) -> Any:
        """The value, or the failure, with a note of what was done about it.

        Raises:
            Misuse: a program that typed code can run has come down to N0, and this one has not.
        """
        if self.expired is not None and (failure is None or isinstance(failure, Exception)):
            failure = self.expired
        try:
            if failure is None:
                if self.rung and self.sure:
                    raise Misuse(
                        f"The program ended at N{self.rung}, not at N0: end it with .give_up(), or "
                        "go down with .retry(...)."
                    )
                return value
            if self.ladder and isinstance(failure, Exception | Expired):
                gave_up = failure is self.not_waited
                noted(failure, self.tries, self.waits, self.waited_seconds, gave_up)
            raise failure
        finally:
            failure = None


def recoverable(failure: Exception, run: Run | None) -> bool:
    """Whether a step can recover: not from a misuse, and not from a wait that was not waited."""
    return not isinstance(failure, Misuse) and (
        run is None or (failure is not run.not_waited and run.expired is None)
    )


def noted(
    failure: BaseException, tries: int, waits: int, waited: float, gave_up: bool = False
) -> BaseException:
    """`failure`, with a note of what was done about it, and without those of a run before."""
    with suppress(Exception):  # there are exceptions that take no note
        notes = getattr(failure, "__notes__", [])
        stale = TRIES if gave_up else NOTE
        notes[:] = [note for note in notes if not note.startswith(stale)]
        failure.add_note(f"{TRIES} {tries}, waits: {waits}, {waited:g} s in all")
    return failure
