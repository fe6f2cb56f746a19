"""The commonest program, `at(rung).retry(command)`, without a stream: many times as fast.

A law says that what it does is what its stream of commands does, event by event.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

from ..algebra import steady
from ..chains import Chain, Ladder
from ..commands import Command, Misuse
from ..failures import Predicate, Transient
from ..nesting import check_begun
from ..runs import noted
from ..schedules import Schedule, Timing, Waits
from ..steps import Do, Retry
from ..timings import usable
from ..vocabulary import Together, delay
from .services import Request
from .traces import Happened
from .worlds import World

Done: TypeAlias = Callable[["Retrier", Any, BaseException | None], None]


class Tried(NamedTuple):
    """What is tried again: a command, and after which failures."""

    command: Command[Any]
    chosen: Predicate


def tried(program: Ladder) -> Tried | None:
    """What `program` tries again, if that is all that it does and it is a command."""
    steps = program.steps()
    step = steps[0] if len(steps) == 1 else None
    if not isinstance(step, Retry) or step.resumes:
        return None
    effect = step.effect
    while isinstance(effect, Chain):  # an attempt at one command
        inner = effect.steps()
        if len(inner) != 1 or not isinstance(inner[0], Do):
            return None
        effect = inner[0].effect
    if isinstance(effect, Command) and not isinstance(effect, Together):
        return Tried(effect, step.chosen)
    return None


class Retries:
    """What the clients of one such program share.

    Attributes:
        top: how often it waits at most.
        ask: asks for the command.
        persistent: whether its ladder has no end.
        known: its waits, where they are always the same, or always the same but for `spread`.
        spread: what each wait is multiplied by at most.
        shortens: whether a wait may be shorter than the one before.
        from_start: whether a wait is measured from the start of the try before it.
        done: called with a client and the failure that its program ended with.
    """

    __slots__ = (
        "ask",
        "chosen",
        "command",
        "done",
        "events",
        "from_start",
        "known",
        "persistent",
        "random",
        "shortens",
        "spread",
        "tally",
        "timing",
        "top",
        "trace",
    )

    def __init__(
        self,
        world: World,
        program: Ladder,
        tried: Tried,
        timing: Timing,
        persistent: bool,
        done: Done,
    ) -> None:
        check_begun(program)
        self.events: Final = world.events
        self.random: Final = world.events.random.random
        self.tally: Final = world.tally
        self.trace: Final = world.trace
        self.top: Final = program.start
        self.command: Final = tried.command
        self.chosen: Final = tried.chosen
        self.ask: Final = world.services[tried.command.__class__].ask
        self.done: Final = done
        self.timing: Final = timing
        self.from_start: Final = timing.from_start
        self.persistent: Final = persistent
        self.shortens: Final = not isinstance(timing, Schedule)
        self.known, self.spread = known(timing)


class Retrier:
    """A client that runs such a program.

    Attributes:
        number: which client it is.
    """

    __slots__ = (
        "_asked",
        "_came",
        "_held",
        "_k",
        "_left",
        "_retries",
        "_shortest",
        "_wait",
        "_waited",
        "_waits",
        "number",
    )

    def __init__(self, retries: Retries, number: int) -> None:
        self._retries = retries
        self._k = 0  # waits so far
        self._left = retries.top  # rungs
        self._shortest = self._waited = self._asked = 0.0
        self._waits: Waits | None = None
        self._wait: Happened | None = None  # for the trace, when it is over
        self._held = False  # whether what comes of a try is kept until `ask` has returned
        self._came: tuple[Any, Exception | None] | None = None
        self.number = number

    def begin(self) -> None:
        """Try: for the first time, or after a wait."""
        retries = self._retries
        if self._wait is not None:
            self._waited_for(self._wait)
        retries.tally.asked += 1
        self._asked = now = retries.events.now
        self._held = True
        retries.ask(Request(retries.command, self.number, now, None, self))
        self._held = False
        if self._came is not None:
            (value, failure), self._came = self._came, None
            self._go_on(value, failure)

    def close(self) -> None:
        """Nothing is left open."""

    def settled(self, request: Request, value: Any, failure: Exception | None) -> None:
        """A try has ended."""
        retries = self._retries
        tally = retries.tally
        if failure is None:
            tally.answered += 1
            tally.latency += retries.events.now - request.begun
        else:
            tally.failed += 1
            if isinstance(failure, TimeoutError):
                tally.late += 1
        if self._held:
            self._came = value, failure
        else:
            self._go_on(value, failure)

    def _go_on(self, value: Any, failure: Exception | None) -> None:
        retries = self._retries
        trace = retries.trace
        if trace is not None:
            trace.append(Happened(self._asked, self.number, retries.command, value, failure))
        if failure is not None:
            try:
                if self._left and not isinstance(failure, Misuse) and retries.chosen(failure):
                    self._begin_wait(failure)
                    return
            except Exception as error:
                failure = error
            if isinstance(failure, Misuse):
                raise failure
            if retries.persistent:
                self._left = 0
                try:
                    self._begin_wait(failure)
                except Exception as error:
                    failure = error
                else:
                    return
            if trace is not None:  # without, nobody sees it
                noted(failure, self._k + 1, self._k, self._waited)
        self._k = 0
        self._left = retries.top
        self._shortest = self._waited = 0.0
        self._waits = None
        retries.done(self, value, failure)

    def _begin_wait(self, failure: Exception) -> None:
        retries, k = self._retries, self._k
        known = retries.known
        if known is None:
            if self._waits is None:
                self._waits = retries.timing.begin(retries.events.random)
            seconds = self._waits(k)
        else:
            seconds = known.seconds[k] if k < len(known.seconds) else known.more(k)
            if retries.spread != 1.0:
                seconds *= 1.0 + (retries.spread - 1.0) * retries.random()  # as random.uniform
        if seconds.__class__ is not float or not 0.0 <= seconds < inf:
            seconds = float(usable(seconds, k, retries.timing))
        if seconds < self._shortest and not retries.shortens:
            seconds = self._shortest
        if isinstance(failure, Transient) and failure.retry_after is not None:
            seconds = max(seconds, float(failure.retry_after))
        if retries.trace is not None:
            wait = delay(seconds, self._left, failure)
            self._wait = Happened(retries.events.now, self.number, wait, None, None)
        self._k = k + 1
        self._left = self._left - 1 if self._left else retries.top
        self._shortest = seconds
        self._waited += seconds
        events = retries.events
        if retries.from_start:
            events.at(max(events.now, self._asked + seconds), Retrier.begin, self)
        else:
            events.after(seconds, Retrier.begin, self)

    def _waited_for(self, wait: Happened) -> None:
        if self._retries.trace is not None:
            self._retries.trace.append(wait)
        self._wait = None


def known(timing: Timing) -> tuple[Known | None, float]:
    """The waits of every run, and what each is multiplied by at most.

    `None`, if each run has its own.
    """
    try:
        common = steady(timing)
    except Exception:  # the run that comes to a wait fails with it
        common = None
    if common is None:
        return None, 1.0
    waits, spread = common
    return Known(waits), spread


class Known:
    """Waits that are asked for once, each of them, and then known.

    Attributes:
        seconds: of those that are known.
    """

    __slots__ = ("_waits", "seconds")

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self.seconds: list[float] = []

    def more(self, k: int) -> float:
        """The k-th, which is known from now on."""
        while k >= len(self.seconds):
            self.seconds.append(self._waits(len(self.seconds)))
        return self.seconds[k]
