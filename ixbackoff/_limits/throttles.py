"""Adaptive throttles: they refuse tries that the service would probably not answer."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from typing import TYPE_CHECKING, final

from typing_extensions import override

from .._words.checks import between, inf
from .._words.failure_classes import Crowded
from .._words.judging import is_transient
from .breakers import of_the_service
from .gate_base import Gate

if TYPE_CHECKING:
    from datetime import timedelta

SLICES = 10
UNANSWERED = of_the_service(is_transient)


@final
class Throttle(Gate):
    """At most `over` tries for each answer of the service; any more fail with `Crowded` at once.

    Of the tries of the last `ttl` seconds it counts those that ended, refused ones included, and
    those that the service answered. It refuses the share `(ended - over * answered) / (ended + 1)`
    of the tries, as in "Handling Overload" of Google's SRE book. Refusals are spread evenly,
    without random numbers. The first answer after `ttl` seconds without one means that an outage
    is over, and refusals end. A failure that is not transient, such as a 404, is an answer, and so
    is what `until` or `.expect` rejects. A try counts when it ends, so tries under way cause no
    refusals. A try that hangs or is cancelled does not count, so give each try a time limit.

    Use one throttle for each service, for all programs, threads and tasks that ask it.

    >>> from ixbackoff import N0, Call, at, call
    >>> from ixbackoff.testing import Virtual, always
    >>> throttle, world = Throttle(), Virtual(Call.handled_by(always(ConnectionError())))
    >>> for _ in range(20):
    ...     try:
    ...         at(N0).do(call(print)).run(world.interpreter, through=throttle)
    ...     except (Crowded, ConnectionError):
    ...         pass
    >>> len(world.trace), throttle
    (4, <Throttle: refuses 95% of the tries>)

    Args:
        over: the tries for each answer. A lower number lets an overloaded service do more useful
            work, but the throttle takes longer to notice that the service has recovered.
        ttl: the seconds for which a try counts, or a `timedelta`.
        most: the greatest share of the tries that it refuses.

    Raises:
        ValueError: a number is out of bounds: `over` is 1.5 to 1000, `ttl` is 1 to 3600, and `most`
            is 0 to 0.999.
    """

    longest = 0.0

    def __init__(
        self, over: float = 2.0, *, ttl: float | timedelta = 10, most: float = 0.99
    ) -> None:
        self._over = between("over", over, 1.5, 1000, "tries for each answer")
        self._slice = between("ttl", ttl, 1, 3600, "seconds") / SLICES
        self._most = between("most", most, 0, 0.999, "refusals for each try")
        self._slices = [(0, 0)]  # the tries that ended or were refused, and those answered
        self._ended = self._answered = 0  # the sums of all slices
        self._since = -inf  # the beginning of the last slice
        self._owed = 0.0  # the sum of the shares, less 1 for each refusal
        self._lock = RLock()

    def _forget(self, now: float) -> None:
        passed = (now - self._since) / self._slice
        if 0 <= passed < 1:
            return
        slices = int(min(max(passed, 0), SLICES))  # 0: the clock went back
        self._slices = [*self._slices, *[(0, 0)] * slices][-SLICES:]
        self._ended, self._answered = map(sum, zip(*self._slices, strict=True))
        self._since = self._since + slices * self._slice if 1 <= passed <= SLICES else now

    def _count(self, answered: int) -> None:
        ended, before = self._slices[-1]
        self._slices[-1] = ended + 1, before + answered
        self._ended += 1
        self._answered += answered

    @property
    def share(self) -> float:
        """The share of the tries that the throttle refuses, as of its last use."""
        unanswered = self._ended - self._over * self._answered
        return min(max(0.0, unanswered / (self._ended + 1)), self._most)

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        with self._lock:
            self._forget(now)
            share = self.share
            self._owed += share
            if self._owed >= 1:
                self._owed -= 1
                self._count(0)
                raise Crowded(why=f"{share:.0%} of the tries are refused: too few are answered")
        return now

    @override
    def hear(self, failure: Exception | None, now: float, began: float) -> None:
        answered = failure is None or not UNANSWERED(failure)
        with self._lock:
            self._forget(now)
            if answered and not self._answered and len(self._slices) == SLICES:
                self._slices, self._ended = [(0, 0)], 0  # the first answer after an outage
            self._count(answered)

    def __repr__(self) -> str:
        return f"<Throttle: refuses {self.share:.0%} of the tries>"
