"""One run of a program: where it stands on its ladder, and what each step means there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .chains import Chain, Ladder, Step, continued
from .commands import Misuse
from .deadlines import NOTE, Expired
from .failures import asked_for
from .replay import Entry
from .schedules import Chance, Schedule, Timing, Waits, usable
from .steps import (
    Again,
    Backoff,
    Bind,
    Do,
    OrBind,
    OrElse,
    Retry,
    Start,
    Then,
    Wait,
    checked_effect,
    checked_task,
    performed,
    tries,
)
from .vocabulary import Delay, delay

TRIES = f"{NOTE} attempts made:"


class Run:
    """One run: where it stands on its ladder, what it has tried and waited, and what a step means.

    Attributes:
        resumed: makes an effect that, performed again, goes on at the command that failed.
        logs: what such effects know.
        not_waited: what went wrong with a wait, if something did.
        top: the rung where the whole program starts.
        rung: where the run stands.
        sure: whether it stands exactly there. A `bind` that was passed over was never asked where
            it would have ended, so from then on the rung is an upper bound, until the next program
            that is bound says where it starts.
    """

    __slots__ = (
        "chance",
        "ladder",
        "logs",
        "not_waited",
        "resumed",
        "rung",
        "seconds",
        "shortest",
        "sure",
        "timing",
        "top",
        "tries",
        "waited",
        "waits",
    )

    def __init__(
        self,
        program: Chain,
        timing: Timing,
        chance: Chance | None,
        resumed: Callable[[Any, list[Entry]], Any],
    ) -> None:
        self.ladder = isinstance(program, Ladder)
        self.top = self.rung = program.start if isinstance(program, Ladder) else 0
        self.sure = True
        self.timing = timing
        self.chance = chance
        self.seconds: Waits | None = None
        self.resumed = resumed
        self.shortest = 0.0
        self.tries = 0
        self.logs: list[list[Entry]] = []
        self.not_waited: BaseException | None = None
        self.waits = 0
        self.waited = 0.0

    def well(self, step: Any, value: Any) -> Any:
        """What a step has to perform when the program is well: an effect, a ladder, or nothing."""
        kind = step.__class__
        if kind is Then:
            return performed(checked_effect(step.function(value)))
        if kind is Do:
            return performed(step.effect)
        if kind is Start:
            return checked_task(step.function(*step.arguments, **step.keywords), step.function)
        if kind is Retry:
            return self.tried(step)
        rung, sure = self.rung, self.sure
        self.descend(step)
        if kind is Bind:
            return self.entered(step.function(value), rung, sure)
        if kind is Wait:
            return self.delayed(rung, None)
        return None

    def failed(self, step: Any, failure: Exception) -> Any:
        """What a step has to perform when the program has failed."""
        kind = step.__class__
        if kind is OrElse:
            return performed(step.effect) if step.chosen(failure) else None
        rung, sure = self.rung, self.sure
        if kind is Again:  # inside a retry it is sure, and a rung is left
            self.rung = rung - 1
            return self.delayed(rung, failure) if step.chosen(failure) else None
        self.descend(step)
        if kind is OrBind and step.chosen(failure):
            return self.entered(step.function(failure), rung, sure)
        if kind is Backoff and step.chosen(failure):
            return self.delayed(rung, failure)
        return None

    def end_retry(self) -> None:
        """The rest of a retry is passed over."""
        self.rung = 0

    def descend(self, step: Step) -> None:
        """Go down as far as the step does, whether it is taken or passed over."""
        if not self.sure and step.start is not None:
            self.rung, self.sure = min(self.rung, step.start), True
        below = step.below(self.rung if self.sure else None)
        self.sure = below is not None
        self.rung = step.bound(self.rung) if below is None else below

    def entered(self, program: Any, rung: int, sure: bool) -> Ladder:
        """The program that a `bind` goes on with, if it starts where the run stands."""
        if not isinstance(program, Ladder):
            raise Misuse(
                f"The function of a bind returned {program!r}, which is no program: return one "
                "that starts with at(...), or use .then(...) or .or_else(...) for what is none."
            )
        continued(program, rung if sure else min(rung, program.start))
        self.rung, self.sure = program.start, True
        return program

    def tried(self, step: Retry) -> Ladder:
        """`retry` in terms of other steps."""
        if not step.resumes:
            return step.from_rung(self.rung)
        log: list[Entry] = []
        self.logs.append(log)
        return tries([self.resumed(step.effect, log)] * (self.rung + 1), step.chosen)

    def over(self, failure: Exception) -> bool:
        """Whether no step recovers: from a misuse, and from a wait that was not waited."""
        return isinstance(failure, Misuse) or failure is self.not_waited

    def delayed(self, rung: int, failure: Exception | None) -> Delay:
        """The wait on `rung`: by the schedule, and never shorter than the last, or than asked for.

        Raises:
            ValueError: the schedule or the failure gave no usable number of seconds.
        """
        try:
            if self.seconds is None:
                self.seconds = self.timing.begin(self.chance)
            k = self.top - rung
            seconds = usable(self.seconds(k), k, self.timing)
            asked = 0.0 if failure is None else asked_for(failure)
        except Exception as error:
            self.not_waited = error
            raise
        if not isinstance(self.timing, Schedule):
            self.shortest = 0.0
        self.shortest = max(self.shortest, float(seconds), asked)
        return delay(self.shortest, rung, failure)

    def told(self, failure: BaseException) -> BaseException:
        """`failure`, with a note of what was done about it."""
        if self.ladder and isinstance(failure, Exception | Expired):
            gave_up = failure is self.not_waited
            return noted(failure, self.tries, self.waits, self.waited, gave_up)
        return failure

    def check_end(self) -> None:
        """A program that typed code can run has come down to N0."""
        if self.rung and self.sure:
            raise Misuse(
                f"The program ended at N{self.rung}, not at N0: end it with .give_up(), or go down "
                "with .retry(...)."
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
