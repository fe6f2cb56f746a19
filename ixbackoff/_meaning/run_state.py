"""The state of one run of a program: its rung, its waits and its failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._limits.deadlines import Expired, Limit, time_around
from .._limits.events import Run
from .._limits.nesting import REJECTED, RUNNING, Mark, check_not_rejected, served
from .._words.commands import Misuse
from .._words.end_reasons import Reason
from .._words.failure_classes import CircuitOpen, Crowded, NotBefore, Predicate, Stopped
from .._words.judging import is_transient, judge, raised_name
from .._words.notes import CANCELLED, NOTE, TRIES, Story, add_note, story_note, too_long
from .._words.rungs import DEEPEST, ENDLESS, name_of
from .._words.standard_commands import Delay, delay
from ..schedules.base import After, Chance, Timing, WaitFunction
from .chains import Chain, Ladder, Position, Step, check_start
from .program_names import name_of_program
from .retrying import ONE_TRY, descents, drawn
from .run_defaults import ONCE, checked_longest
from .steps import Guard

if TYPE_CHECKING:
    from datetime import timedelta
    from logging import Logger

__tracebackhide__ = True


class InAttempt:
    """The state of an attempt inside a run. It has no rung, so nothing waits or descends in it.

    `passed` has the circuit breakers and gates that the current try has passed through. The other
    attributes are as in `ProgramRun`, but `guards` is always `None`: only a run has guards.
    """

    __slots__ = ("limits", "ons", "passed", "tries")
    guards: tuple[Guard, ...] | None = None

    def __init__(self, limits: list[Limit], ons: list[Predicate] | None = None) -> None:
        self.passed: tuple[Guard, ...] = ()
        self.limits = limits
        self.ons = ons
        self.tries = 0


class ProgramRun(Run):
    """The state of one run of a program."""

    # Why a rung can be unsure. `bind(f)` continues with a program that f makes of a value, and only
    # that program knows its end. When the run has failed before, f is not called: there is no value
    # to call it with. Yet a later `or_bind` may recover, and its program has to start somewhere.
    #
    # Things that don't work:
    # - Keep the rung before the `bind` as exact: that rejects a right program that starts lower.
    # - Assume N0: that rejects all programs that start higher.
    # - Call f with some value: that runs the user's code on data that never existed.
    #
    # What we do: the run keeps the rung as an upper bound and clears `sure`. The rung becomes exact
    # again at the first step that fixes it: `.at`, a retry, `.end`, an annotated `bind`, or the
    # start of the program that the run enters next. Until then the check only demands that a start
    # is not above the bound, so an unsure run may be lower than `rung` says, and never climbs.

    # Class attributes, not slots or assignments in `__init__`: most runs change few of them.
    # guards: the gates and the circuit breaker that each try passes, outermost first, if any
    guards: tuple[Guard, ...] | None = None
    seconds: WaitFunction | None = None  # the schedule as drawn for this run
    shortest = 0.0  # the seconds of the last wait, which is the floor of the next one
    sure = True  # whether `rung` is exact
    wait: Delay | None = None  # the current wait
    # not_waited: the exception that a wait raised, or the failure after which the run refused one
    not_waited: BaseException | None = None
    refused: Reason | None = None  # why the run refused its last wait, if it did
    # cancelled: tells whether the task was cancelled since the run began; `None` in a sync run
    cancelled: Callable[[], int] | None = None
    # unchosen: the failure that ended the retry because `on` does not choose it
    unchosen: BaseException | None = None
    unchosen_note = ""
    expired: Expired | None = None  # the timeout that ended the run
    retries = 0  # the number of waits after a failure
    retrying = False  # whether the run is in a retry step, which repeats the current effect
    longest: float | timedelta | None = None  # as in `Defaults`; `None`: the program's
    mark: Mark | None = None  # the mark of the run in its context; it also holds `retries`
    logger: Logger | None = None  # of the last wait that `sleeping` logged; `None` before it
    # ons: the `on`s that may choose the next failure, innermost last; `None` without a journal
    ons: list[Predicate] | None = None
    # kept: the answers that the next try of the current retry reuses; only a journal reads `kept`
    kept: Sequence[object] | None = None
    # retries_begin: called when a retry step begins: a durable run may skip recorded tries then
    retries_begin: Callable[[], None] | None = None
    _inside: InAttempt | None = None

    def __init__(self, program: Chain, timing: Timing, chance: Chance | None = None) -> None:
        self.program = program
        start = program._start if isinstance(program, Ladder) else None
        self.ladder = start is not None  # whether the program has rungs
        self.top = self.rung = start or 0  # the first rung; the current one, or its upper bound
        self.timing = timing
        self.chance = chance  # the random numbers for jitter; `None` for the default ones
        self.limits: list[Limit] = []  # the current time limits, innermost last

    @property
    def name(self) -> str:
        return name_of_program(self.program)

    @property
    def once(self) -> bool:
        """True if decorated functions that the program calls get a single try."""
        return isinstance(self.program, Ladder) and self.program._defaults.nested == ONCE

    def __str__(self) -> str:
        """Return the name and the top rung, for the error messages of nested calls."""
        made = isinstance(self.program, Ladder) and self.program._defaults.nested is not None
        return f"{self.name} ({'backoff' if made else 'at'} {name_of(self.top)})"

    @property
    def inside(self) -> InAttempt:
        """The state that the attempts of the run share, made on first use."""
        if self._inside is None:
            self._inside = InAttempt(self.limits, self.ons)
        return self._inside

    @property
    def number(self) -> int:
        """The number of waits left; an endless ladder counts down from the highest rung to 1."""
        return number_after(ENDLESS, self.wait_count) if self.rung == ENDLESS else self.rung

    def descend(self, step: Step) -> tuple[int, bool]:
        """Descend by `step`, be it taken or passed over; return the old `rung` and `sure`."""
        before = self.rung, self.sure
        if step.unknown:
            self.sure = False
            return before
        if not self.sure and step.start is not None:
            self.rung, self.sure = min(self.rung, step.start), True
        below = step.below(self.rung if self.sure else None)
        self.sure = below is not None
        if below is None:
            self.rung = step.bound(self.rung)
        elif below < self.rung:
            self.rung = below
        return before

    def entered(self, step: Any, given: Any, rung: int, sure: bool) -> Ladder:
        """Enter the program that the function of a `bind` or `or_bind` makes, and return it.

        `rung` and `sure` are those of the run before the step.
        """
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

    def leave(self, end: Position) -> None:
        """Leave an entered program that ends at `end`, or at an unknown rung if that is `None`."""
        if end is not None and not self.sure:
            self.rung, self.sure = min(self.rung, end), True

    def descent(self, rung: int) -> After:
        first, shortens = self.top - rung, self.timing.shortens
        longest = self.longest
        if longest is None and isinstance(self.program, Ladder):
            longest = self.program._defaults.longest
        how = (self.begin, False, None, first, shortens, checked_longest(longest))
        return descents(rung, object, bool, *how)()

    def begin(self) -> WaitFunction:
        """Return the schedule as drawn for this run; draw it on the first call."""
        if self.seconds is None:
            self.seconds = drawn(self.timing, self.chance)
        return self.seconds

    def begin_wait(
        self, rung: int, k: int, after: After, failure: Any, chosen: Any = True
    ) -> Delay | None:
        """Begin the k-th wait, on `rung`, after `failure`; return `None` if `after` does.

        Raise `failure` itself if the task was cancelled, or a deadline around this run is too near.
        """
        try:
            if REJECTED and (mark := RUNNING.get())[0] is not None:
                check_not_rejected(mark, failure)
            seconds = after(failure, k, self.shortest)
            if seconds is None:
                if too_long(failure):
                    self.not_waited, self.refused = failure, "asked for too long"
                return None
            if chosen.__class__ is NotBefore and chosen > seconds:
                seconds = float(chosen)
            if failure is not None and self.cancelled is not None and self.cancelled():
                self.refused = "cancelled"
                add_note(failure, CANCELLED)
                raise failure
            around = time_around()
            if failure is not None and around is not None and around.refuses(seconds):
                self.refused = "no time left"
                add_note(failure, around.late)
                raise failure
            self.shortest = seconds
            self.wait = delay(seconds, rung, failure, self)
        except BaseException as error:
            self.not_waited = error
            raise
        finally:  # break the cycle of exception, traceback and this frame
            failure = None
        return self.wait

    def end_wait(self) -> None:
        wait = self.wait
        if wait is not None and wait._failure is not None:
            self.retries = retries = self.retries + 1
            mark = self.mark
            if mark is not None:
                mark[1] = retries
        self.wait = None
        self.wait_count += 1
        self.wait_seconds += self.shortest

    def leave_unchosen(self, failure: Exception, chosen: Predicate) -> None:
        """Record a failure that is not retried, because `on` does not choose it."""
        self.unchosen = failure
        self.unchosen_note = not_chosen(failure, chosen is is_transient)

    def recoverable(self, failure: BaseException) -> bool:
        """Return whether a step may recover from `failure`."""
        return (
            isinstance(failure, Exception)
            and failure is not self.not_waited
            and self.expired is None
            and not isinstance(failure, (Misuse, Stopped))
        )

    def expire(self, expired: Expired) -> None:
        """Record a timeout of this run or of one around it, but not that of a single attempt."""
        if expired.limit.whole or expired.limit not in self.limits:
            self.expired = expired

    @property
    def story(self) -> Story:
        return Story(self.tries, self.wait_count, self.wait_seconds, self.reason)

    def ended(self, value: Any, failure: BaseException | None) -> Any:
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
            elif isinstance(failure, Crowded):
                self.reason = "crowded"
            elif isinstance(failure, Stopped):  # in line at a gate
                self.reason = "stopped"
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
    """Return the number of waits left on a ladder from `top`, after `waits` waits."""
    return max(DEEPEST - waits, 1) if top == ENDLESS else top - waits


def not_chosen(failure: Exception, by_default: bool) -> str:
    kind = raised_name(failure)
    if not by_default:
        return f"{NOTE} not tried again: on=... does not choose {kind}"
    why = judge(failure).why or f"{kind} is not known to pass by itself"
    return f"{NOTE} not tried again: {why}; on=... can choose it"


def noted(
    failure: BaseException, story: Story, note: str = "", refused: bool = False
) -> BaseException:
    """Replace the notes of an earlier run on `failure` by those of this run; return `failure`.

    If this run has `refused` a wait, keep the note in which it gave the reason.
    """
    request = served()
    if request is not None:
        request.hear(failure, story.wait_count > 0)
    switched = "".join(f" (each ladder tries once: {switch})" for switch in ONE_TRY[-1:])
    stale = TRIES if refused else NOTE
    if note:
        add_note(failure, note, stale)
    add_note(failure, story_note(story, switched), None if note else stale)
    return failure
