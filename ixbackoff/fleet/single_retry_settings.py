"""The settings that clients of `at(rung).retry(effect)` share, and the log of a run.

These clients skip the trampoline. They wait as `ixbackoff._meaning.retrying` says, like every retry
of this package. tests/fleet/test_tries.py compares their events with those of the program's stream.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from .._limits.gate_base import checked_gates
from .._limits.nesting import check_begun
from .._meaning.chains import Chain, Ladder, Step
from .._meaning.retrying import begins, descents
from .._meaning.run_defaults import checked_longest
from .._meaning.run_state import InAttempt, not_chosen, noted, number_after
from .._meaning.semantics import attempted, in_turn, performed
from .._meaning.steps import DoStep, FirstStep, Guard, Guarded, Limited, RetryStep, StartStep
from .._meaning.trampoline import Enter, Task
from .._running.traces import Performed
from .._words.commands import Command
from .._words.end_reasons import Reason
from .._words.failure_classes import CircuitOpen, Crowded, Predicate
from .._words.judging import is_transient
from .._words.notes import Story, too_long
from .._words.standard_commands import WITHOUT_SERVICE, Reserve, Together, delay
from ..schedules.base import After, Timing
from .environment import Done, Environment


def retried(program: Ladder) -> RetryStep | None:
    step = only_step(program)
    return step if step.__class__ is RetryStep and isinstance(step, RetryStep) else None


def is_single(effect: Any) -> bool:
    return isinstance(effect, Command) and not isinstance(effect, Together)


def limited_command(effect: Any) -> tuple[Any, float] | None:
    """Return the command and its seconds if `effect` is one command with a limit, else `None`."""
    effect = unwrapped(effect)
    if effect.__class__ is Limited and effect.seconds > 0:
        command = unwrapped(effect.chain)
        return (command, effect.seconds) if is_single(command) else None
    return None


def unwrapped(effect: Any) -> Any:
    """Return the effect inside of attempts that only perform it."""
    while isinstance(effect, Chain) and isinstance(step := only_step(effect), DoStep):
        effect = step.effect
    return effect


def only_step(steps: Chain) -> Step | None:
    found = steps._flat or steps.steps()
    return found[0] if len(found) == 1 else None


def task_of(effect: Any, inside: InAttempt) -> Task:
    asked: Any = performed(effect, inside)
    return asked.task if asked.__class__ is Enter else asked.__iter__()  # `asked` is a command


Refusal: TypeAlias = tuple[Reason, str]
"""Why a limit or a budget has ended a run, and the note on the failure; "" for no note."""


class RunLog:
    """The waits of one run, for the trace and for the note on its last failure."""

    __slots__ = ("_count", "_seconds", "_top", "_trace", "wait")

    def __init__(self, top: int, trace: list[Performed]) -> None:
        self._top = top
        self._trace = trace
        self._count = 0
        self._seconds = 0.0
        self.wait: Performed | None = None

    def begin_wait(self, client: int, now: float, seconds: float, failure: Any) -> None:
        wait = delay(seconds, number_after(self._top, self._count), failure)
        self.wait = Performed(now, wait, None, None, client)
        self._count += 1
        self._seconds += seconds

    def end_wait(self) -> None:
        if self.wait is not None:
            self._trace.append(self.wait)
            self.wait = None

    def end(
        self, failure: BaseException | None, chosen: Predicate | None, refusal: Refusal | None
    ) -> None:
        """Note tries and waits on the last failure, and, if a rung is left, why no try follows."""
        if failure is None:
            return
        reason: Reason = "gave up"
        note = too_long(failure)
        if refusal is not None:
            reason, note = refusal
        elif note:
            reason = "asked for too long"
        elif isinstance(failure, CircuitOpen):
            reason = "circuit open"
        elif isinstance(failure, Crowded):
            reason = "crowded"
        elif chosen is not None and self._count != self._top and isinstance(failure, Exception):
            reason, note = "not worth another try", not_chosen(failure, chosen is is_transient)
        noted(failure, Story(self._count + 1, self._count, self._seconds, reason), note)


class Retrying:
    def __init__(
        self,
        environment: Environment,
        program: Ladder,
        step: RetryStep,
        timing: Timing,
        within: float | None,
        done: Done,
    ) -> None:
        check_begun(program)
        self.environment: Final = environment
        self.events: Final = environment.events
        self.from_start: Final = timing.from_start
        self.top: Final = program.start
        self.done: Final = done  # called at the end of each run
        self.within: Final = within  # the seconds of a run
        self.chosen: Final = step.chosen  # decides whether a failure is retried
        # Whether each try goes through the gates and the breaker.
        self.guarded: Final = not isinstance(step.effect, WITHOUT_SERVICE)
        through = program._defaults.through
        self.gates: Final = checked_gates("through", () if through is None else through)
        effect, guards = unwrapped(step.effect), list[Guard]()
        while effect.__class__ is Guarded and effect.guard.__class__ is not Reserve:
            guards.append(effect.guard)
            effect = unwrapped(effect.chain)
        self.guards: Final[tuple[Guard, ...]] = tuple(guards)  # around the effect, outermost first
        # The only command of the effect, or `None`, and the seconds for each try of it.
        single: tuple[Any, float | None] = effect if is_single(effect) else None, None
        limited = limited_command(effect) if within is None else None  # two limits need a task
        self.command: Final[Any] = (limited or single)[0]
        self.limit: Final = (limited or single)[1]
        kind = self.command.__class__
        self.serving: Final = None if self.command is None else environment.find(kind)
        start: Any = only_step(effect) if isinstance(effect, Chain) else None
        self.function: Callable[[], Task] | None = None  # makes the generator of an attempt
        if start.__class__ is StartStep and start.fresh:
            self.function = partial(start.function, *start.arguments, **start.keywords)
        self.effect: Any = effect
        if isinstance(effect, Limited) and isinstance(inner := unwrapped(effect.chain), Chain):
            self.effect = Limited(inner, effect.seconds)
        self.perform: Any = attempted if isinstance(effect, Chain) else task_of
        if start.__class__ is FirstStep:  # tested once here; `attempted` would test it in each try
            self.effect, self.perform = start, in_turn
        waits = begins(timing, program.start, environment.events.random, checked=False)
        longest = checked_longest(program._defaults.longest)
        how = (program.start, (), step.chosen, *waits, 0, timing.shortens, longest)
        self.descent: Final[Callable[[], After]] = descents(*how)  # begins the waits of a run

    def log(self) -> RunLog | None:
        trace = self.environment.trace
        return None if trace is None else RunLog(self.top, trace)
