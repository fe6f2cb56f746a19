"""Circuit breakers, shared by many programs: they stop requests to a service that is down."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from .._words.checks import between, inf
from .._words.commands import Misuse
from .._words.failure_classes import CircuitOpen, Crowded, NotReady, On, Predicate, predicate
from .._words.judging import is_transient
from .._words.logger import default_logger
from ..schedules.base import After
from .deadlines import Expired, caller_has_gone
from .events import BreakerChanged, BreakerState
from .nesting import this_thread
from .observers import Notifier, current_observer

if TYPE_CHECKING:
    from datetime import timedelta

MOST = 1_000_000  # failures
EARLY = 1e-6  # seconds of tolerance: clocks round, but after `retry_after` a try must be admitted
LEAST, LONGEST = 1e-3, 1e9  # seconds
SPREAD = 2.0  # multiples of `open_for` over which tries refused during a probe are spread
SILENT = (Misuse, CircuitOpen, Crowded)
"""Failures that say nothing about the service: no request was sent."""
GOLDEN = 0.618033988749895  # its first n multiples modulo 1 are spread evenly, for every n
LEVELS = {"open": 30, "closed": 20}  # logging.WARNING and INFO; logging itself costs 16 ms


@final
class CircuitBreaker:
    """A circuit breaker: after some failures it refuses requests to a service for a while.

    It is *closed* at first, and every try reaches the service. `failures` failures within `within`
    seconds *open* it: then a try fails at once with `CircuitOpen`, without a request. `CircuitOpen`
    carries the remaining seconds of `open_for`, and a ladder waits at least that long. After that
    it admits one try, the probe, and is *half open* while the probe runs. If the probe succeeds,
    the breaker closes and forgets the failures; if it fails, it opens for another `open_for`.

    Use one breaker for each service, for all programs, threads and tasks that depend on it. `run`,
    `run_async` and `backoff` take it as `breaker`; `do(effect).guarded(breaker)` is for programs
    that ask several services. A breaker is equal only to itself.

    With `rate=0.5, of=20` in place of `failures`, a failure opens it if half of the last 20 tries
    failed and all 20 ended within `within` seconds. Use a rate if so many clients share the breaker
    that some tries always fail. Changes go to the logger `ixbackoff` and to the observers.

    >>> from ixbackoff import N2, Call, NotReady, at, call
    >>> from ixbackoff.testing import Virtual, always
    >>> breaker = CircuitBreaker(failures=2, within=10, open_for=30)
    >>> world = Virtual(Call.handled_by(always(NotReady())))
    >>> at(N2).retry(call(print)).run(world.interpreter, breaker=breaker)
    Traceback (most recent call last):
    ixbackoff.CircuitOpen: circuit open: the service is not asked for 28 s
    ixbackoff: tries: 3, waits: 2, 3 s in all
    >>> breaker
    <CircuitBreaker: open, opens for 30 s after 2 failures within 10 s>

    - A try is a command at a rung, or an attempt with all of its commands. The commands of an
      attempt are not tries: half an attempt may succeed while the service is down. `Log`, `Now`,
      `Pick` and `Throw` need no service, so the breaker does not refuse a step that is one of them.
    - A failure counts if `on` chooses it, or if a deadline of yours has interrupted a command. Any
      other failure, such as a 404, and an answer that `until` or `.expect` rejects, count as
      answers of the service: they do not open the breaker, and a probe that ends with one closes
      it. `Misuse`, `Crowded`, a cancellation and the `CircuitOpen` of another breaker do not count
      at all, nor do failures while serving a request whose caller no longer waits for the answer.
    - Successes between failures change nothing, except with a `rate`. So choose a number above the
      failures that a healthy service causes, for all programs that share the breaker.
    - A try that is refused during a probe waits until the probe's time is over: with no wait, it
      would be refused again, and lose a rung. Further refused tries wait up to two more `open_for`,
      evenly spread: if all woke together, they could open the breaker again.
    - A probe that is cancelled or dropped leaves its place to the next try. A probe that hangs, or
      whose thread has died, loses its place after `open_for`.
    - A failure counts if the breaker is closed when the failure occurs, whenever its try began.
      While the breaker is not closed, only the outcome of the probe matters.
    - The clock is that of the interpreter (`Now`), read after a failure, after each try if there is
      a `rate`, and while the breaker is not closed. If the clock is set back, `open_for` restarts.

    Args:
        failures: the number of failures that opens the breaker, 1 or more.
        within: the seconds within which they have to occur, or a `timedelta`.
        open_for: the seconds that the breaker stays open and a probe may take, or a `timedelta`.
        on: the failures that count, chosen as by `on` of a retry.
        rate: the share of the last `of` tries that have to fail, above 0 and up to 1.
        of: the number of tries for `rate`, 1 or more.
        name: the name for the log and for observers.

    Raises:
        ValueError: neither `failures` nor `rate` and `of` are given, or both; `failures` or `of` is
            not a whole number from 1 to 10**6; `rate` is not 10**-6 to 1; or `within` or `open_for`
            is not 0.001 to 10**9 seconds.
        TypeError: `on` does not choose exceptions.
    """

    __slots__ = (
        *("_chosen", "_counted", "_failures", "_lock", "_open_for", "_probe"),
        *("_probing", "_rate", "_refused", "_times", "_until", "_within", "name"),
    )

    def __init__(
        self,
        *,
        failures: int | None = None,
        within: float | timedelta,
        open_for: float | timedelta,
        on: On = is_transient,
        rate: float | None = None,
        of: int | None = None,
        name: str = "",
    ) -> None:
        if (failures is None) != (rate is not None) or (rate is None) != (of is None):
            raise ValueError("How often may tries fail? Give failures=5, or rate=0.5 and of=20.")
        what, number = ("failures", failures) if failures is not None else ("of", of)
        whole = isinstance(number, int) and not isinstance(number, bool)
        if number is None or not (whole and 1 <= number <= MOST):
            raise ValueError(f"{what}={number!r}: give a whole number, 1 to {MOST}.")
        self.name = name
        self._failures = number
        self._rate = None if rate is None else between("rate", rate, 1e-6, 1, "failures a try")
        self._counted: deque[bool] = deque(maxlen=number)
        self._within = between("within", within, LEAST, LONGEST, "seconds")
        self._open_for = between("open_for", open_for, LEAST, LONGEST, "seconds")
        self._chosen = of_the_service(predicate(on))
        self._times: deque[float] = deque(maxlen=number)
        self._until: float | None = None
        self._probing = False
        self._probe = self._refused = 0
        self._lock = RLock()

    @property
    def closed(self) -> bool:
        return self._until is None

    @property
    def rated(self) -> bool:
        """True if tries that succeed count, too."""
        return self._rate is not None

    @property
    def state(self) -> str:
        """One of `"closed"`, `"open"`, and `"half open"` while a probe runs."""
        with self._lock:
            if self._until is None:
                return "closed"
            return "half open" if self._probing else "open"

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        opens = f"opens for {self._open_for:g} s after {self._limit}"
        return f"<CircuitBreaker{named}: {self.state}, {opens}>"

    @property
    def _limit(self) -> str:
        number = self._failures
        if self._rate is None:
            return f"{number} failure{'s' * (number > 1)} within {self._within:g} s"
        return f"{self._rate:.0%} of {number} tries failed within {self._within:g} s"

    def admit(self, now: float) -> int:
        """Admit a try, or raise `CircuitOpen`; return the number of a probe, 0 for other tries."""
        with self._lock:
            if self._until is None:
                return 0
            left = self._until - now
            if left > EARLY:
                if left > self._open_for:  # the clock was set back
                    self._until, left = now + self._open_for, self._open_for
                if self._probing:
                    left += self._open_for * SPREAD * (self._refused * GOLDEN % 1.0)
                    self._refused += 1
                refusal = CircuitOpen(left)
                refusal._refused_by = id(self)  # an id: failures are pickled, breakers cannot be
                raise refusal
            self._probe += 1
            self._until = now + self._open_for
            self._probing, self._refused = True, 0
            return self._probe

    def blames(self, failure: BaseException) -> bool | None:
        """Return whether a failure counts; `None` if it says nothing about the service."""
        if isinstance(failure, CircuitOpen) and failure._refused_by == id(self):
            raise guarded_twice() from failure
        if isinstance(failure, Expired):
            return True if failure.limit.blames else None
        if not isinstance(failure, Exception) or isinstance(failure, SILENT) or caller_has_gone():
            return None
        return bool(self._chosen(failure))

    def fail(self, probe: int, now: float) -> None:
        """Count a failed try; a failed probe opens the breaker again."""
        if self._until is None:
            self._fail_while_closed(now)
            return
        with self._lock:
            if not self._is_current(probe):
                return
            self._open(now)
        self._tell("open", "its probe failed")

    def counting(self, after: After, clock: Callable[[], float]) -> After:
        """Return a function like `after`; it also counts chosen failures while `self` is closed."""
        chosen = self._chosen
        failures, within = (0, 0) if self.rated else (self._failures, self._within)

        def counted(failure: Any, k: int, shortest: float) -> float | None:
            if self._until is None and chosen(failure) and not isinstance(failure, SILENT):
                now, times = clock(), self._times
                if not failures:
                    self._fail_while_closed(now)
                    return after(failure, k, shortest)
                times.append(now)
                if len(times) == failures and now - times[0] <= within:
                    self._open_after_failures(now)
            return after(failure, k, shortest)

        return counted

    def succeed(self, probe: int) -> None:
        with self._lock:
            if not self._is_current(probe):
                return
            self._forget()
            self._until = None
        self._tell("closed", "its probe succeeded")

    def release(self, probe: int) -> None:
        """Forget the probe if it is the current one: the next try takes its place."""
        with self._lock:
            if self._is_current(probe):
                self._until = -inf
                self._probing = False

    def _is_current(self, probe: int) -> bool:
        return self._probing and probe == self._probe

    def count(self, failed: bool, now: float) -> None:
        """Count a try, if the breaker is closed; only for a breaker with a `rate`."""
        with self._lock:
            if self._until is None:
                self._times.append(now)
                self._counted.append(failed)

    def _fail_while_closed(self, now: float) -> None:
        if self._rate is not None:
            self.count(True, now)
        else:
            self._times.append(now)
        if len(self._times) == self._failures:
            self._open_after_failures(now)

    def _open_after_failures(self, now: float) -> None:
        with self._lock:
            times, rate = self._times, self._rate
            enough = len(times) == self._failures and 0 <= now - times[0] <= self._within
            if self._until is not None or not enough:
                return
            if rate is not None and sum(self._counted) < rate * self._failures:
                return
            self._open(now)
        self._tell("open", self._limit)

    def _open(self, now: float) -> None:
        self._until = now + self._open_for
        self._forget()

    def _forget(self) -> None:
        self._probing = False
        # a new deque: another thread may be reading the old one
        self._times = deque(maxlen=self._failures)
        self._counted.clear()

    def _tell(self, state: BreakerState, why: str) -> None:
        """Log a change and call the observers, except inside a simulation or an observer."""
        if this_thread().notifying:
            return
        observer = current_observer()
        if observer is not None:
            Notifier(observer).notify(BreakerChanged(self.name, state))
        extra = {"ixbackoff_breaker": self.name, "ixbackoff_state": state}
        named = f"{self.name!r} " if self.name else ""
        seconds = f" for {self._open_for:g} s" if state == "open" else ""
        text = "circuit breaker %sis %s%s: %s"
        words = (named, state, seconds, why)
        default_logger().log(LEVELS[state], text, *words, extra=extra)


def of_the_service(chosen: Predicate) -> Predicate:
    """Return a predicate like `chosen`, but false for answers that a program rejects (`until`)."""

    def counts(failure: Exception) -> bool:
        return not (isinstance(failure, NotReady) and failure.answered) and bool(chosen(failure))

    return counts


def guarded_twice() -> Misuse:
    return Misuse(
        "A try goes through one circuit breaker twice, so it would refuse its own probe: guard the "
        "try once, where the service is asked or where the program is run."
    )


def checked_breaker(name: str, breaker: object) -> CircuitBreaker:
    if not isinstance(breaker, CircuitBreaker):
        raise Misuse(f"{name}={breaker!r} is not a circuit breaker: give a CircuitBreaker(...).")
    return breaker
