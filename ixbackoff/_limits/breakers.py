"""Circuit breakers, shared by many programs: a service that is down is left alone for a while."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, final

from .._words.checks import between, inf
from .._words.commands import Misuse
from .._words.failures import CircuitOpen, NotReady, On, Predicate, predicate
from .._words.verdicts import is_transient
from .deadlines import Expired

if TYPE_CHECKING:
    from datetime import timedelta

MOST = 1_000_000  # failures that are remembered
EARLY = 1e-6  # seconds that a clock may be early: a wait of the whole rest must be enough
LEAST, LONGEST = 1e-3, 1e9  # seconds
SPREAD = 2.0  # rests over which those who are refused during a probe come back
SILENT = (Misuse, CircuitOpen)
"""Failures that tell nothing of the service: nobody asked it."""
GOLDEN = 0.618033988749895  # its multiples modulo 1 are spread evenly, however many there are


After: TypeAlias = Callable[[Any, int, float], float | None]
"""From a failure, a number of waits and the last one to the seconds to wait, as in `descents`."""


@final
class CircuitBreaker:
    """A circuit breaker: after some failures it lets nobody ask the service for a while.

    It is *closed* at first, and every try asks the service. `failures` failures within `within`
    seconds *open* it: then a try fails at once with `CircuitOpen`, and the service is not asked.
    `CircuitOpen` says how much of `open_for` is left, and a ladder waits at least so long. After
    the rest the breaker is *half open*: one try is let through, the probe. A success closes the
    breaker and forgets the failures, a failure opens it for another rest.

    Use one breaker for each service, for all programs, threads and tasks that depend on it. `run`,
    `run_async` and `backoff` take it as `breaker`; `do(effect).guarded(breaker)` is for programs
    that ask several services. A breaker is equal only to itself.

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

    - A try is what a step performs at a rung: a command, or an attempt with all of its commands. A
      command of an attempt is not one, since half an attempt may be well while the service is down.
      `Log`, `Now`, `Pick` and `Throw` need no service, so as steps they are never refused.
    - A failure counts if it is `on`. Any other, such as a 404, counts as an answer: the service was
      there to give it. It does not open the breaker, and as the outcome of a probe it closes it.
      `Misuse`, a cancellation and the `CircuitOpen` of another breaker tell nothing of the service.
      A try that is broken off by a deadline while a command runs counts as a failure.
    - Failures are counted whether or not tries succeed between them. So choose a number that is
      above what the service has when it is well, with all who share the breaker.
    - While a probe runs, a try is told to wait as long as the probe may take, which is `open_for`:
      after 0 s it would use up a rung to learn nothing. Only the first is told exactly that; the
      others are spread evenly over two rests more. All who were refused wake when the rest is over,
      and would otherwise stay together, come back at once and open the breaker again.
    - A probe that is cancelled or dropped leaves its place to the next try. One that hangs, or
      whose thread has died, loses it after `open_for`.
    - A failure that comes while the breaker is closed counts, whenever its try was begun. While it
      is not closed, only the outcome of the probe is heard.
    - The time is that of the interpreter (`Now`), which is asked after a failure and while the
      breaker is not closed. If the clock goes back, the rest begins again.

    Args:
        failures: the failures that open it, 1 or more.
        within: the seconds in which there have to be so many, or a `timedelta`; so is `rest`.
        open_for: the seconds for which the service is left alone, and that a probe may take.
        on: the failures that count, as `on` of a retry chooses them.

    Raises:
        ValueError: `failures` is not a whole number from 1 to 10**6, or seconds are not 0.001 to
            10**9.
        TypeError: `on` does not choose exceptions.
    """

    __slots__ = (
        "_chosen",
        "_failed",
        "_failures",
        "_lock",
        "_probe",
        "_probing",
        "_open_for",
        "_told",
        "_until",
        "_within",
    )
    _until: float | None
    _probe: int
    _told: int

    def __init__(
        self,
        *,
        failures: int,
        within: float | timedelta,
        open_for: float | timedelta,
        on: On = is_transient,
    ) -> None:
        number: object = failures
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not (whole and 1 <= failures <= MOST):
            raise ValueError(f"failures={failures!r}: give a whole number, 1 to {MOST}.")
        self._failures = failures
        self._within = between("within", within, LEAST, LONGEST, "seconds")
        self._open_for = between("open_for", open_for, LEAST, LONGEST, "seconds")
        self._chosen = of_the_service(predicate(on))
        self._failed: deque[float] = deque(maxlen=failures)
        self._until = None
        self._probing = False
        self._probe = 0
        self._told = 0
        self._lock = RLock()

    @property
    def closed(self) -> bool:
        """True if every try may ask the service."""
        return self._until is None

    @property
    def state(self) -> str:
        """One of `"closed"`, `"open"`, and `"half open"` while a probe runs."""
        with self._lock:
            if self._until is None:
                return "closed"
            return "half open" if self._probing else "open"

    def __repr__(self) -> str:
        after = f"{self._failures} failure{'s' * (self._failures > 1)} within {self._within:g} s"
        return f"<CircuitBreaker: {self.state}, opens for {self._open_for:g} s after {after}>"

    def admit(self, now: float) -> int:
        """Begin a try at the time `now`: return 0, or its number if it is the probe.

        Raises:
            CircuitOpen: the breaker is open, or there is a probe.
        """
        with self._lock:
            if self._until is None:
                return 0
            left = self._until - now
            if left > EARLY:
                if left > self._open_for:  # the clock went back
                    self._until, left = now + self._open_for, self._open_for
                if self._probing:
                    left += self._open_for * SPREAD * (self._told * GOLDEN % 1.0)
                    self._told += 1
                raise self._refusal(left)
            self._probe += 1
            self._until = now + self._open_for
            self._probing, self._told = True, 0
            return self._probe

    def _refusal(self, seconds: float) -> CircuitOpen:
        refusal = CircuitOpen(seconds)
        refusal._refused_by = id(self)  # a breaker cannot be pickled, a failure can
        return refusal

    def blames(self, failure: BaseException) -> bool | None:
        """Return whether a failure counts; `None` if it tells nothing of the service.

        Raises:
            Misuse: the try was let through, and then refused by the same breaker inside.
        """
        if isinstance(failure, CircuitOpen) and failure._refused_by == id(self):
            raise guarded_twice() from failure
        if isinstance(failure, Expired):
            return True if failure.limit.refused is None else None
        if not isinstance(failure, Exception) or isinstance(failure, SILENT):
            return None
        return bool(self._chosen(failure))

    def fail(self, probe: int, now: float) -> None:
        """Count a failure of a try: that of the probe opens the breaker again."""
        if self._until is None:
            self._failed.append(now)
            self._judge(now)
            return
        with self._lock:
            if self._is(probe):
                self._open(now)

    def told(self, after: After, clock: Callable[[], float]) -> After:
        """Make a function that tells the breaker each failure, and then asks `after`.

        It is for tries other than the probe.
        """
        chosen, failures, within = self._chosen, self._failures, self._within

        def told(failure: Any, k: int, shortest: float) -> float | None:
            if self._until is None and chosen(failure) and not isinstance(failure, SILENT):
                now, failed = clock(), self._failed
                failed.append(now)
                if len(failed) == failures and now - failed[0] <= within:
                    self._judge(now)
            return after(failure, k, shortest)

        return told

    def succeed(self, probe: int) -> None:
        """Count an answer to the probe: it closes the breaker."""
        with self._lock:
            if self._is(probe):
                self._failed = deque(maxlen=self._failures)
                self._until = None
                self._probing = False

    def release(self, probe: int) -> None:
        """Forget the probe: the next try is one."""
        with self._lock:
            if self._is(probe):
                self._until = -inf
                self._probing = False

    def _is(self, probe: int) -> bool:
        """Return whether this is the probe whose outcome decides."""
        return self._probing and probe == self._probe

    def _judge(self, now: float) -> None:
        """Open the breaker if there were too many failures."""
        with self._lock:
            failed = self._failed
            many = len(failed) == self._failures
            if self._until is None and many and 0 <= now - failed[0] <= self._within:
                self._open(now)

    def _open(self, now: float) -> None:
        self._until = now + self._open_for
        self._probing = False
        self._failed = deque(maxlen=self._failures)  # not cleared: another thread may be reading


def of_the_service(chosen: Predicate) -> Predicate:
    """Leave out what is a failure to the program only: an answer that is not what it wants."""

    def counts(failure: Exception) -> bool:
        return not (isinstance(failure, NotReady) and failure.answered) and chosen(failure)

    return counts


def guarded_twice() -> Misuse:
    return Misuse(
        "A try goes through one circuit breaker twice, so it would refuse its own probe: guard it "
        "once, where the service is asked or where the program is run."
    )


def checked_breaker(name: str, breaker: object) -> CircuitBreaker:
    """Return `breaker`, if it is one.

    Raises:
        Misuse: it is not.
    """
    if not isinstance(breaker, CircuitBreaker):
        raise Misuse(f"{name}={breaker!r} is not a circuit breaker: give a CircuitBreaker(...).")
    return breaker
