"""One run of a program: the rung where it stands, and what it has tried and waited."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._limits import events
from .._limits.breakers import CircuitBreaker
from .._limits.deadlines import Expired, Limit
from .._limits.nesting import REFUSED, RUNNING, Mark, check_not_refused
from .._words.commands import Misuse
from .._words.failures import CircuitOpen, Predicate
from .._words.nat import DEEPEST, ENDLESS, name_of
from .._words.reasons import NOTE, TRIES, Reason, Story, story_note
from .._words.verdicts import is_transient, judge
from .._words.vocabulary import Delay, delay
from ..schedules.timings import Chance, Timing, WaitFunction
from .chains import Chain, Ladder, Position, Step, check_start
from .defaults import ONCE
from .descents import ONE_TRY, After, descents, drawn
from .names import name_of_program

if TYPE_CHECKING:
    from logging import Logger

__tracebackhide__ = True


class InAttempt:
    """The inside of an attempt, where there is no rung: nothing waits, and nothing goes down.

    Attributes:
        breakers: those that the present try goes through.
        limits: the time limits of the whole run, the innermost last.
        breaker: nothing, since a breaker guards whole tries of the run that the attempt is in.
        expired: nothing, since a time limit ends the run that the attempt is in.
        tries: nobody asks for it: the commands of an attempt are one try.
    """

    __slots__ = ("breakers", "limits", "tries")
    breaker: CircuitBreaker | None = None
    expired: Expired | None = None

    def __init__(self, limits: list[Limit]) -> None:
        self.breakers: tuple[CircuitBreaker, ...] = ()
        self.limits = limits
        self.tries = 0

    def recoverable(self, failure: BaseException) -> bool:
        """Return true if a step may recover from this failure: not from a misuse."""
        return isinstance(failure, Exception) and not isinstance(failure, Misuse)


class Run(events.Run):
    """One run: the rung where it stands, and what it has tried and waited.

    Attributes:
        breaker: guards each try, if there is one.
        wait: the one that it waits now.
        not_waited: the failure of a wait, if one failed.
        refused: why that wait was not begun, if it was refused.
        unchosen: the failure that was not tried again, since `on` did not choose it.
        unchosen_note: what to note on it.
        retries: how many waits followed a failure.
        mark: the mark of the run, which knows these, too.
        logger: where its waits are logged, if they really take time.
        expired: what ended the run, if its time was over.
        limits: the time limits that hold now, the innermost last.
        top: the rung where the whole program starts.
        rung: the rung where the run stands.
        sure: whether it stands exactly there. Nobody knows where a `bind` that was passed over
            would have ended, unless it says so; then the rung is an upper bound, until the next
            program that is joined says where it starts.
    """

    # Class attributes, since most runs change few of them.
    breaker: CircuitBreaker | None = None
    seconds: WaitFunction | None = None
    shortest = 0.0
    sure = True
    wait: Delay | None = None
    not_waited: BaseException | None = None
    refused: Reason | None = None
    unchosen: BaseException | None = None
    unchosen_note = ""
    expired: Expired | None = None
    retries = 0
    mark: Mark | None = None
    logger: Logger | None = None
    _inside: InAttempt | None = None

    def __init__(self, program: Chain, timing: Timing, chance: Chance | None = None) -> None:
        self.program = program
        start = program._start if isinstance(program, Ladder) else None
        self.ladder = start is not None
        self.top = self.rung = start or 0
        self.timing = timing
        self.chance = chance
        self.limits: list[Limit] = []

    @property
    def name(self) -> str:
        """The name of the program, or of the first function or command in it."""
        return name_of_program(self.program)

    @property
    def once(self) -> bool:
        """True if decorated functions inside it are tried once."""
        return isinstance(self.program, Ladder) and self.program._defaults.nested == ONCE

    def __str__(self) -> str:
        """Its name and rung, as errors of what is called inside it say them."""
        made = isinstance(self.program, Ladder) and self.program._defaults.nested is not None
        return f"{self.name} ({'backoff' if made else 'at'} {name_of(self.top)})"

    @property
    def inside(self) -> InAttempt:
        """The inside of its attempts."""
        if self._inside is None:
            self._inside = InAttempt(self.limits)
        return self._inside

    @property
    def number(self) -> int:
        """The number of waits left: on a ladder without end as on the deepest one, and then 1."""
        return number_after(ENDLESS, self.wait_count) if self.rung == ENDLESS else self.rung

    def descend(self, step: Step) -> tuple[int, bool]:
        """Go down as far as the step does, taken or passed over; where the run stood, if surely."""
        stood = self.rung, self.sure
        if step.unknown:
            self.sure = False
            return stood
        if not self.sure and step.start is not None:
            self.rung, self.sure = min(self.rung, step.start), True
        below = step.below(self.rung if self.sure else None)
        self.sure = below is not None
        if below is None:
            self.rung = step.bound(self.rung)
        elif below < self.rung:
            self.rung = below
        return stood

    def entered(self, step: Any, given: Any, rung: int, sure: bool) -> Ladder:
        """The program that a `bind` goes on with, if it starts where the run stood before it."""
        program: object = step.function(given)
        if not isinstance(program, Ladder):
            raise Misuse(
                f"The function of a bind returned {program!r}, which is not a program: return one "
                "that starts with at(...), or use .then(...) or .or_else(...) for an effect."
            )
        start = program._start
        if start != rung and (sure or start > rung):
            check_start(start, rung)
        if step.end is not None and program.ends_at not in (None, step.end):
            raise Misuse(
                f"The function of a bind says that its program ends at {name_of(step.end)}, and "
                f"returned one that ends at {name_of(program.ends_at)}: change either."
            )
        self.rung, self.sure = start, True
        return program

    def left(self, end: Position) -> None:
        """A program that was entered has ended, at a rung that is known if `end` is one."""
        if end is not None and not self.sure:
            self.rung, self.sure = min(self.rung, end), True

    def descent(self, rung: int) -> After:
        """The function that gives the seconds after failures that are chosen, from this rung."""
        first, shortens = self.top - rung, self.timing.shortens
        return descents(rung, object, bool, self.begin, first=first, shortens=shortens)()

    def begin(self) -> WaitFunction:
        """The waits of the run, which are begun once."""
        if self.seconds is None:
            self.seconds = drawn(self.timing, self.chance)
        return self.seconds

    def begin_wait(self, rung: int, k: int, after: After, failure: Any) -> Delay | None:
        """The k-th wait, on `rung`, after this failure, which begins now, if there is one."""
        try:
            if REFUSED and (around := RUNNING.get())[0] is not None:
                check_not_refused(around, failure)
            seconds = after(failure, k, self.shortest)
            if seconds is None:
                return None
            self.shortest = seconds
            self.wait = delay(seconds, rung, failure, self)
        except BaseException as error:
            self.not_waited = error
            raise
        finally:  # an exception must not be kept alive by a frame in its own traceback
            failure = None
        return self.wait

    def end_wait(self) -> None:
        """The wait is over."""
        wait = self.wait
        if wait is not None and wait._failure is not None:
            self.retries = again = self.retries + 1
            mark = self.mark
            if mark is not None:
                mark[1] = again
        self.wait = None
        self.wait_count += 1
        self.wait_seconds += self.shortest

    def pass_on(self, failure: Exception, chosen: Predicate) -> None:
        """Note that a failure is not tried again, although a rung is left: it is not chosen."""
        self.unchosen = failure
        self.unchosen_note = not_chosen(failure, chosen is is_transient)

    def recoverable(self, failure: BaseException) -> bool:
        """Return true if a step may recover: not from a misuse, and not from a wait that failed."""
        return (
            isinstance(failure, Exception)
            and failure is not self.not_waited
            and self.expired is None
            and not isinstance(failure, Misuse)
        )

    def expire(self, expired: Expired) -> None:
        """The time of the run is over, or that of a run around it; not only of one attempt."""
        if expired.limit.whole or expired.limit not in self.limits:
            self.expired = expired

    @property
    def story(self) -> Story:
        """The run until now."""
        return Story(self.tries, self.wait_count, self.wait_seconds, self.reason)

    def ended(self, value: Any, failure: BaseException | None) -> Any:
        """The value, or the failure, with a note of what was done about it.

        Raises:
            Misuse: the program has not come down to N0, which a type checker would not let pass.
        """
        if self.expired is not None and (failure is None or isinstance(failure, Exception)):
            failure = self.expired
        try:
            if failure is None:
                if self.rung and self.sure:
                    raise Misuse(
                        f"The program ended at {name_of(self.rung)}, not at N0: end it with "
                        ".end(), or go down with .retry(...)."
                    )
                return value
            note = ""
            if failure is self.not_waited:
                self.reason = self.refused or self.reason
            elif isinstance(failure, CircuitOpen):
                self.reason = "circuit open"
            elif failure is self.unchosen:
                self.reason, note = "not worth another try", self.unchosen_note
            elif isinstance(failure, Misuse):
                self.reason = "misuse"
            if self.ladder and isinstance(failure, Exception | Expired):
                noted(failure, self.story, note, refused=failure is self.not_waited)
            raise failure
        finally:
            failure = None


def number_after(top: int, waits: int) -> int:
    """How many waits are left after so many waits on a ladder from `top`.

    >>> number_after(3, 2), number_after(ENDLESS, 2), number_after(ENDLESS, 200)
    (1, 18, 1)
    """
    return max(DEEPEST - waits, 1) if top == ENDLESS else top - waits


def not_chosen(failure: Exception, by_default: bool) -> str:
    """The note on a failure that was not tried again, since `on` does not choose it.

    >>> not_chosen(KeyError("id"), by_default=False)
    'ixbackoff: not tried again: on=... does not choose KeyError'
    >>> not_chosen(KeyError("id"), by_default=True)
    'ixbackoff: not tried again: KeyError is not known to pass by itself; on=... says otherwise'
    """
    kind = failure.__class__.__qualname__
    if not by_default:
        return f"{NOTE} not tried again: on=... does not choose {kind}"
    why = judge(failure).why or f"{kind} is not known to pass by itself"
    return f"{NOTE} not tried again: {why}; on=... says otherwise"


def noted(
    failure: BaseException, story: Story, note: str = "", refused: bool = False
) -> BaseException:
    """Add notes of what was done about a failure, and take away those of a run before.

    If its wait was `refused`, there is a note of this run that says so.
    """
    with suppress(Exception):  # there are exceptions that take no note
        notes = getattr(failure, "__notes__", [])
        stale = TRIES if refused else NOTE
        notes[:] = [kept for kept in notes if not str(kept).startswith(stale)]
        if note:
            failure.add_note(note)
        failure.add_note(
            story_note(story, " (each ladder tries once: testing.single_try())" if ONE_TRY else "")
        )
    return failure
