"""Rate limiters that many programs share, and that follow the limits that the service names."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, final

from typing_extensions import override

from .._words.checks import between, finite, inf
from .._words.failure_classes import NotReady, Throttled
from .._words.headers import RateLimit, rate_limit
from .._words.judging import asked_for
from .._words.standard_commands import LEAST, MOST, Reserve
from .deadlines import time_limit
from .gate_base import Gate, out_of_line, too_late

if TYPE_CHECKING:
    from datetime import timedelta

SPREAD, FIRST, FASTER = 100, 1.0, 0.99
"""The first gap after a pause is 1/100 of the pause, at most 1 s, unless the usual gap is longer.

Each further gap is 1 % shorter. So clients do not rush in at the second that Retry-After names to
all of them, however high the limiter's rate is. That rate is reached again within the length of the
pause, and within 100 s at the latest.
"""
GROWTH, KEPT = 0.4, 0.7  # the constants of CUBIC, and of botocore's adaptive mode
SLOWEST, SAMPLE = 0.5, 0.5  # the least rate that learning sets, per second; seconds of a sample


@final
class Limiter(Gate):
    """After a burst, at most `tries` in `per` seconds for all programs; other tries stand in line.

    Turns are `per / tries` seconds apart, in the order in which tries come; after a rest,
    `burst` tries go at once. A try whose turn would come after more than `line` seconds fails with
    `Crowded` at once, and waits on its ladder. Use one limiter for each service, for all programs,
    threads and tasks that ask it. A limiter is equal only to itself.

    >>> limiter = Limiter(2, per=1, line=1)
    >>> [limiter.enter(now=0.0, came=0.0, until=60.0) for _ in range(3)]
    [0.0, 0.5, 1.0]

    It hears the service. After `Throttled`, or another failure with a Retry-After (`NotReady` does
    not count), all programs pause for that time: places in line before the end of the pause are
    void. Then turns begin again one by one, and at first slowly, because Retry-After names the same
    second to everyone.

    >>> limiter.hear(Throttled(30), now=0.6, began=0.5)
    >>> limiter.turn(1.0, now=1.0, came=0.0, until=60.0)
    Traceback (most recent call last):
    ixbackoff.Crowded: not asked: the turn of a try comes in 29.6 s, and it stands in line for 1 s at most

    Without `tries`, each try goes at once, except in a pause and soon after it. If
    answers have `RateLimit` and `RateLimit-Policy` headers, the limiter takes their rate.

    Args:
        tries: the tries in `per` seconds; `None` for no rate of its own.
        per: the seconds, or a `timedelta`.
        line: the longest time in line, in seconds or as a `timedelta`; 0 for no line.
        burst: the tries that may go at once after a rest.

    Raises:
        ValueError: a number is out of bounds: `tries` and `per` are 0.001 to 10**9, `line` is 0 to
            10**9, and `burst` is 1 to 10**9.
    """  # noqa: E501

    _learning = False
    _most = inf

    def __init__(
        self,
        tries: float | None = None,
        *,
        per: float | timedelta = 1,
        line: float | timedelta,
        burst: int = 1,
    ) -> None:
        seconds = between("per", per, LEAST, MOST, "seconds")
        self._own = tries is not None
        rate = tries if tries is None else between("tries", tries, LEAST, MOST, "tries")
        self._each = 0.0 if rate is None else seconds / rate
        self.longest = between("line", line, 0, MOST, "seconds")
        self._burst = between("burst", burst, 1, MOST, "tries") - 1
        self._next = self._opens = -inf  # the next turn without a burst; the end of a pause
        self._apart = self._each  # the seconds between two turns
        self._usual = -inf  # the time after a pause from which on turns are `_each` apart
        self._now = 0.0
        self._told: RateLimit | None = None  # read from headers; `hear` obeys it
        # for `_learn`: the outcomes since `_since`, their rate, the rate before the fall at `_fell`
        self._count, self._rate, self._peak, self._since, self._fell = 0, 0.0, 0.0, -inf, -inf
        self._lock = RLock()

    @staticmethod
    def learning(*, line: float | timedelta, most: float | None = None) -> Limiter:
        """Make a limiter that learns its rate, for a service that throttles without Retry-After.

        `Throttled` sets the rate to 0.7 of its value, or of the measured rate if that is less, but
        at least to 0.5 per second. Then it grows as CUBIC, with the numbers of botocore's adaptive
        mode, up to `most` or twice the measured rate. Turns given in `line` delay changes.

        >>> Limiter.learning(line=20)
        <Limiter: learns its rate, 20 s in line at most>
        """
        rate = most if most is None else between("most", most, LEAST, MOST, "tries per second")
        made = Limiter(rate, line=line)
        made._own = made._learning = True
        made._most = inf if most is None else most
        return made

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        with self._lock:
            own = self._next if self._next > now else now  # quicker than `max`
            turn = own - self._burst * self._each
            if turn < now or turn < self._opens:
                turn = max(self._opens, now)
            if turn - came > self.longest:
                raise out_of_line(turn - now, self.longest)
            if turn >= until:
                raise too_late(turn, now, until)
            self._now = now
            apart = self._apart if now < self._usual else self._each
            self._next, self._apart = own + apart, max(apart * FASTER, self._each)
            return turn

    @override
    def turn(self, turn: float, now: float, came: float, until: float) -> float:
        return now if turn >= self._opens else self.enter(now, came, until)

    @override
    def hear(self, failure: Exception | None, now: float, began: float) -> None:
        with self._lock:
            self._now = now
            if failure is None and self._told is None and not self._learning:
                return
            if failure is not None:
                self.answer(failure)
                self.answer(response_of(failure))
            told, self._told = self._told, None
            if told is not None:
                self._obey(told, now)
            answered = failure is None or isinstance(failure, NotReady)
            asked = 0.0 if answered else asked_for(failure)
            throttled = asked > 0 or isinstance(failure, Throttled)
            if self._learning:
                self._learn(throttled, now, began)
            if throttled:
                self.close(now + max(asked, self._each))

    @override
    def answer(self, value: object) -> None:
        if value is None:
            return
        try:
            headers: Any = getattr(value, "headers", None)
            if hasattr(headers, "keys"):  # a mapping
                self.learn(headers)
        except Exception:  # a mock or a proxy may raise here, which must not make a try fail
            return

    def learn(self, headers: Mapping[str, str]) -> None:
        """Learn from the headers of an answer: `RateLimit`, `RateLimit-Policy` and older ones.

        Call this in a hook of a client whose functions do not return the answer itself. From an
        answer that a try returns, or that its failure carries, the limiter learns by itself.

        >>> limiter = Limiter(line=60)
        >>> limiter.learn({"RateLimit": '"minute";r=0;t=30'})
        >>> limiter.hear(None, now=0.0, began=0.0)
        >>> limiter.enter(now=0.0, came=0.0, until=60.0)
        30.0
        """
        self._told = rate_limit(headers) or self._told

    def close(self, until: float) -> None:
        """Let no try go before the time `until`, and then one after the other.

        Raises:
            ValueError: `until` is not finite.
        """
        if finite(until) != until:
            raise ValueError(f"until={until!r}: give a finite time, in seconds.")
        with self._lock:
            if until > self._opens:
                self._opens = until
                self._next = max(self._next, until + self._burst * self._each)
                pause = max(until - self._now, 0.0)
                self._apart = max(self._each, min(pause / SPREAD, FIRST))
                self._usual = until + SPREAD * self._apart

    def _obey(self, told: RateLimit, now: float) -> None:
        if not self._own and told.each:
            self._each = self._apart = told.each
        if told.left < 1:
            self.close(now + told.seconds)
        else:
            allowed = now + (self._burst - (told.left - 1)) * self._each
            self._next = max(self._next, allowed)

    def _learn(self, throttled: bool, now: float, began: float) -> None:
        self._count += 1
        if self._since == -inf:
            self._since = now
        passed = now - self._since
        if passed >= SAMPLE:
            self._rate = 0.8 * self._count / passed + 0.2 * self._rate
            self._count, self._since = 0, now
        rate = self._rate or self._count / SAMPLE
        if throttled and began < self._fell:
            return  # the rate has fallen since this try began
        if throttled:
            self._peak = min(rate, 1 / self._each) if self._each else rate
            self._fell, new = now, KEPT * self._peak
        elif self._peak:
            back = ((1 - KEPT) * self._peak / GROWTH) ** (1 / 3)
            new = GROWTH * (now - self._fell - back) ** 3 + self._peak
        else:
            return
        self._each = self._apart = 1 / min(max(SLOWEST, min(new, 2 * rate)), self._most)

    def __repr__(self) -> str:
        rate = f"{1 / self._each:g} tries per second" if self._each else "without a rate"
        own = "learns its rate" if self._learning else rate
        return f"<Limiter: {own}, {self.longest:g} s in line at most>"


def response_of(failure: Exception) -> object:
    """Return the answer that a failure carries; `None` if reading it fails."""
    try:
        return getattr(failure, "response", None)
    except Exception:
        return None


class Turns:
    """A handler of `Reserve` that holds a `Limiter` for each name, for this process only."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._limiters: dict[str, Limiter] = {}

    def __call__(self, reserve: Reserve) -> float:
        now, left = self._clock(), time_limit()
        made = Limiter(reserve.tries, per=reserve.per, line=reserve.line, burst=reserve.burst)
        limiter = self._limiters.setdefault(reserve.name, made)
        with limiter._lock:  # another program may set another `line`
            limiter.longest = reserve.line
            return limiter.enter(now, now, inf if left is None else now + left) - now
