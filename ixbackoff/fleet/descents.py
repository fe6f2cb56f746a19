"""The retries of simulated clients that run `at(rung).retry(effect)`, without a stream of commands.

`ixbackoff._meaning.descents` has the meaning of a retry, here as everywhere. A law says that such a
client does, event by event, what the program's stream does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Protocol

from .._limits.nesting import check_begun
from .._meaning.chains import Ladder
from .._meaning.descents import After, begins, descents
from .._meaning.runs import not_chosen, noted, number_after
from .._running.traces import Performed
from .._words.commands import Misuse
from .._words.failures import Predicate
from .._words.reasons import Reason, Story
from .._words.verdicts import is_transient
from .._words.vocabulary import delay
from ..schedules.kinds import Timing
from .environments import Done, Environment, Running
from .tries import Tried


class RunLog:
    """The waits of one run, for the trace and for the note of its last failure.

    Attributes:
        wait: the present one.
    """

    __slots__ = ("_count", "_seconds", "_top", "_trace", "wait")

    def __init__(self, top: int, trace: list[Performed]) -> None:
        self._top = top
        self._trace = trace
        self._count = 0
        self._seconds = 0.0
        self.wait: Performed | None = None

    def begin_wait(self, client: int, now: float, seconds: float, failure: Any) -> None:
        """Note a wait, on the rung that is next."""
        wait = delay(seconds, number_after(self._top, self._count), failure)
        self.wait = Performed(now, wait, None, None, client)
        self._count += 1
        self._seconds += seconds

    def end_wait(self) -> None:
        """Add the wait to the trace, if there was one: it is over."""
        if self.wait is not None:
            self._trace.append(self.wait)
            self.wait = None

    def end(self, failure: BaseException | None, chosen: Predicate | None) -> None:
        """Note on the last failure of a run what was done about it.

        Args:
            failure: the failure, if there is one.
            chosen: chooses what is tried again, if it was asked and there was no wait.
        """
        if failure is None:
            return
        reason: Reason = "gave up"
        note = ""
        if chosen is not None and self._count != self._top and isinstance(failure, Exception):
            reason, note = "not worth another try", not_chosen(failure, chosen is is_transient)
        noted(failure, Story(self._count + 1, self._count, self._seconds, reason), note)


class Trying(Running, Protocol):
    """A client that tries an effect.

    Attributes:
        begun: when the present try began, or the one before the present wait.
        after: the waits of this run of the program, from its first failure on.
        wait_count: the number of its waits.
        shortest: how long the last of them was.
        log: the waits of this run, for the trace; `None` without one.
    """

    begun: float
    after: After | None
    wait_count: int
    shortest: float
    log: RunLog | None


class Retrying(ABC):
    """The state that all clients of one program share.

    Attributes:
        done: called at each end of the program.
        descent: begins the waits of one run of it.
    """

    def __init__(
        self, environment: Environment, program: Ladder, tried: Tried, timing: Timing, done: Done
    ) -> None:
        check_begun(program)
        self.events: Final = environment.events
        self.trace: Final = environment.trace
        self.from_start: Final = timing.from_start
        self.top: Final = program.start
        self.done: Final = done
        self.chosen: Final = tried.chosen
        waits = begins(timing, program.start, environment.events.random, checked=False)
        self.descent: Final[Callable[[], After]] = descents(
            program.start, (), tried.chosen, *waits, shortens=timing.shortens
        )

    @abstractmethod
    def client(self, number: int) -> Running:
        """Make one of them."""

    def log(self) -> RunLog | None:
        """Begin the log of a run, if there is a trace."""
        return None if self.trace is None else RunLog(self.top, self.trace)

    def end_try(self, client: Trying, value: Any, failure: BaseException | None) -> None:
        """Have a client wait and try again, or tell that its program has ended."""
        chosen: Predicate | None = None
        if failure is not None:
            failure.__traceback__ = None  # or frames in it would keep the clients alive
            if isinstance(failure, Misuse):
                raise failure
            try:
                if client.after is None:
                    client.after = self.descent()
                seconds = client.after(failure, client.wait_count, client.shortest)
                if seconds is not None:
                    client.wait_count += 1
                    client.shortest = seconds
                    events, log = self.events, client.log
                    if log is not None:
                        log.begin_wait(client.number, events.now, seconds, failure)
                    if self.from_start:
                        when = max(events.now, client.begun + seconds)
                        events.at(when, client.__class__.begin, client)
                    else:
                        events.after(seconds, client.__class__.begin, client)
                    return
                chosen = self.chosen
            except Exception as error:
                failure = error
                failure.__traceback__ = None
        client.after = None
        client.wait_count = 0
        client.shortest = 0.0
        if client.log is not None:
            client.log.end(failure, chosen)
            client.log = self.log()
        self.done(client, value, failure)
