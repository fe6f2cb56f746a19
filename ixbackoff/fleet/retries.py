"""The commonest program, `at(rung).retry(effect)`: its clients drive the effect itself, try by try.

There is no stream around the tries; what a retry means is asked of a `descent`, as it is everywhere.
A law says that what such a client does is what its stream of commands does, event by event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from .._limits.nesting import check_begun
from .._meaning.chains import Chain, Ladder
from .._meaning.descents import begins, descents, drawn, shortening
from .._meaning.machine import close, driven
from .._meaning.runs import Run, noted
from .._meaning.semantics import chained
from .._meaning.steps import Do, Limited, Retry, Start
from .._words.commands import Command, Misuse, Stream
from .._words.failures import DeadlineExceeded, Predicate
from .._words.vocabulary import Together, delay
from ..schedules.kinds import Timing
from .clients import NOTHING, Client
from .services import Request
from .traces import Happened
from .worlds import World

Done: TypeAlias = Callable[[Any, Any, BaseException | None], None]


class Tried(NamedTuple):
    """What is tried again, after which failures, and how long each try may take."""

    effect: Any
    chosen: Predicate
    limit: float | None = None


def tried(program: Ladder) -> Tried | None:
    """What `program` tries again, if that is all that it does."""
    steps = program.steps()
    step = steps[0] if len(steps) == 1 else None
    if step.__class__ is not Retry:
        return None
    effect, limit = alone(step.effect), None
    if effect.__class__ is Limited and isinstance(alone(effect.chain), Command):
        effect, limit = alone(effect.chain), effect.seconds
    plain = isinstance(effect, Command | Chain) and not isinstance(effect, Together)
    return Tried(effect, step.chosen, limit) if plain else None


def alone(effect: Any) -> Any:
    """The effect of an attempt that performs this one only."""
    while (
        isinstance(effect, Chain) and len(effect.steps()) == 1 and effect.steps()[0].__class__ is Do
    ):
        effect = effect.steps()[0].effect
    return effect


class Retries:
    """What the clients of one such program share."""

    __slots__ = (
        "ask", "chance", "chosen", "command", "descent", "done", "effect", "events", "from_start", "limit", "persistent",
        "serving", "shortens", "start", "tally", "timing", "top", "trace", "world",
    )  # fmt: skip

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
        self.world: Final = world
        self.events: Final = world.events
        self.chance: Final = world.events.random
        self.tally: Final = world.tally
        self.trace: Final = world.trace
        self.top: Final = program.start
        self.effect: Final = tried.effect
        self.chosen: Final = tried.chosen
        self.limit: Final = tried.limit
        self.timing: Final = timing
        self.from_start: Final = timing.from_start
        self.persistent: Final = persistent
        self.done: Final = done
        begin = begins(timing, self.top, world.events.random, checked=False)
        self.shortens: Final = shortening(timing)
        self.descent: Final = descents(self.top, (), tried.chosen, begin, shortens=self.shortens)
        if isinstance(tried.effect, Command):
            self.serving: Any = world.services[tried.effect.__class__]
            self.ask: Any = self.serving.ask
        else:
            steps = tried.effect.steps()
            alone = len(steps) == 1 and steps[0].__class__ is Start
            self.start: Any = steps[0] if alone else None

    def client(self, number: int) -> Any:
        """One of them."""
        return (Retrier if isinstance(self.effect, Command) else Attempter)(self, number)

    def stream(self) -> Stream:
        """One try of an attempt."""
        start = self.start
        if start is None:
            run = Run(NOTHING, self.timing, None)
            return driven(chained(self.effect, run.inside), run, {}, chained)
        return start.function(*start.arguments, **start.keywords)


PLACE = ("_after", "_k", "_left", "_retries", "_shortest", "_tried", "_waited", "_waits")


class Descending:
    """A client that goes down a ladder, try by try.

    Attributes of it: `_after` gives the seconds after each failure; `_k`, `_left`, `_waited` and
    `_tried` are for the trace.
    """

    __slots__ = ()

    def _rest(self, retries: Retries) -> None:
        self._retries = retries
        self._after: Any = None
        self._waits: Any = None
        self._tried: Happened | None = None
        self._left = retries.top
        self._k = 0
        self._waited = self._shortest = 0.0

    def _ended(self, value: Any, failure: BaseException | None) -> None:
        """A try has ended."""
        retries = self._retries
        if failure is not None:
            failure.__traceback__ = None  # or it would be kept alive by frames in it
            if isinstance(failure, Misuse):
                raise failure
            try:
                seconds = (self._after or self._first())(failure)
                if seconds is None and retries.persistent:
                    seconds = self._more(failure)
                if seconds is not None:
                    self._begin_wait(seconds, failure)
                    return
            except Exception as error:
                failure = error
            if retries.trace is not None:  # without, nobody sees it
                noted(failure, self._k + 1, self._k, self._waited)
        self._after = self._waits = None
        if retries.trace is not None or retries.persistent:
            self._rest(retries)
        retries.done(self, value, failure)

    def _first(self) -> Any:
        """What gives the seconds after each failure, from the first one on."""
        retries = self._retries
        if retries.persistent:
            self._after = self._ladder(retries.top, (), retries.chosen)
        else:
            self._after = retries.descent()
        return self._after

    def _more(self, failure: Any) -> float | None:
        """A ladder that has no end: one wait more, and then a ladder anew."""
        self._left, self._after = 0, None
        return self._ladder(1, Exception, bool)(failure)

    def _ladder(self, rungs: int, kinds: Any, chosen: Predicate) -> Any:
        """One of its ladders; the waits go on."""
        shortens = self._retries.shortens
        return descents(
            rungs, kinds, chosen, self._begin_waits, self._k, self._shortest, shortens
        )()

    def _begin_waits(self) -> Any:
        if self._waits is None:
            self._waits = drawn(self._retries.timing, self._retries.events.random)
        return self._waits

    def _begin_wait(self, seconds: float, failure: Any) -> None:
        retries = self._retries
        events = retries.events
        if retries.persistent or retries.trace is not None:
            self._k += 1
            self._shortest = seconds
        if retries.trace is not None:
            wait = delay(seconds, self._left, failure)
            self._tried = Happened(events.now, self.number, wait, None, None)
            self._left = self._left - 1 if self._left else retries.top
            self._waited += seconds
        if retries.from_start:
            events.at(max(events.now, self._begun + seconds), self.__class__.begin, self)
        else:
            events.after(seconds, self.__class__.begin, self)

    def _waited_for(self, wait: Happened) -> None:
        self._retries.trace.append(wait)
        self._tried = None


class Retrier(Descending):
    """A client that tries a command."""

    __slots__ = (*PLACE, "_begun", "_came", "_held", "_late", "number")

    def __init__(self, retries: Retries, number: int) -> None:
        self._rest(retries)
        self._held = False  # whether what comes of a try is kept until `ask` has returned
        self._came: tuple[Any, Exception | None] | None = None
        self._late: Exception | None = None
        self.number = number

    def begin(self) -> None:
        """Try: for the first time, or after a wait."""
        retries = self._retries
        if self._tried is not None:
            self._waited_for(self._tried)
        retries.tally.asked += 1
        self._begun = now = retries.events.now
        self._held = True
        limit = retries.limit
        request = Request(retries.effect, self.number, now, limit, self)
        if limit is not None:
            retries.events.after(limit, self._expired, request)
        retries.ask(request)
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
        if retries.trace is not None:
            retries.trace.append(Happened(self._begun, self.number, retries.effect, value, failure))
        if failure is not None and failure is self._late:
            where = f" ({retries.effect.__class__.__name__} was running)"
            failure = DeadlineExceeded(f"not done within {retries.limit:g} s{where}")
        if failure is None and self._after is None and not retries.persistent:
            retries.done(self, value, None)
        else:
            self._ended(value, failure)

    def _expired(self, request: Request) -> None:
        if not request.over:
            request.over = True
            retries = self._retries
            retries.serving.abandoned(request)
            self._late = TimeoutError(f"nothing came for {retries.limit:g} s")
            self.settled(request, None, self._late)
            self._late = None


class Attempter(Client, Descending):
    """A client that tries an attempt: its commands come from the attempt's own generator."""

    __slots__ = PLACE

    def __init__(self, retries: Retries, number: int) -> None:
        super().__init__(retries.world, number, retries.stream, Attempter._ended)
        self._rest(retries)

    def begin(self) -> None:
        """Try: for the first time, or after a wait."""
        if self._tried is not None:
            self._waited_for(self._tried)
        super().begin()

    def close(self) -> None:
        """Time is over."""
        stream, self._stream = self._stream, None
        super().close()
        if stream is not None:
            close([stream])

    def _wait(self, wait: Any) -> None:  # noqa: ARG002
        raise Misuse("An attempt cannot wait: raise NotReady instead.")
