"""Hedges: second copies of slow requests, for a small share of all requests."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from bisect import bisect_left, insort
from collections import deque
from typing import TYPE_CHECKING, final

from .._words.checks import between, inf
from .._words.failure_classes import NotReady
from .._words.judging import asked_for, is_transient
from .breakers import SILENT
from .budgets import Account, RetryBudget, checked_budget

if TYPE_CHECKING:
    from datetime import timedelta

REMEMBERED = 1000  # answers
SAVED = 10.0  # tokens


@final
class Hedge:
    """Second copies of slow requests: of n requests, at most `extra * n + 1` get one.

    With `extra=0.05`, a request is slow if it takes longer than 95 % of the last 1000. So `extra`
    sets the time before a copy and the number of copies, as in Finagle's `BackupRequestFilter`. A
    bucket limits the copies while the whole service is slow: a request adds `extra` tokens, a copy
    takes 1, and a transient failure of the service takes 1, but `NotReady` does not. After a
    refusal with a Retry-After, such as `Throttled(30)`, no copy begins until that time is over.

    Use one hedge for each service, for all programs, threads and tasks that ask it.

    >>> from ixbackoff import N0, Call, at, do, read
    >>> from ixbackoff.testing import Virtual, answers, takes
    >>> hedge = Hedge(extra=0.2, known=10)
    >>> times = [*[takes(0.1, "page")] * 10, takes(9, "late"), takes(0.1, "copy")]
    >>> page = at(N0).do(do(read(str, "page")).hedged(hedge))
    >>> world = Virtual(Call.handled_by(answers(*times)))
    >>> [page.run(world.interpreter) for _ in range(11)][-1], hedge
    ('copy', <Hedge: slow after 0.1 s, 1 copy, 1 of them faster>)

    Args:
        extra: the copies for each request.
        least: the time, in seconds or as a `timedelta`, below which no request is slow.
        known: the number of answers that are needed before a request counts as slow.
        budget: a budget from which each copy takes the cost of a retry.

    Raises:
        ValueError: a number is out of bounds: `extra` is 0.001 to 0.25, `least` is 0 to 10**9, and
            `known` is 1 to 1000.
        Misuse: `budget` is not a `RetryBudget`.
    """

    def __init__(
        self,
        extra: float = 0.05,
        *,
        least: float | timedelta = 0.001,
        known: int = 100,
        budget: RetryBudget | None = None,
    ) -> None:
        self._extra = between("extra", extra, 0.001, 0.25, "copies for each request")
        self._least = between("least", least, 0, 1e9, "seconds")
        self._known = between("known", known, 1, REMEMBERED, "answers")
        checked_budget(budget)
        self._budget = budget
        self._recent = deque[float]()
        self._sorted: list[float] = []
        self._tokens, self._opens = 1.0, -inf
        self._copies = self._won = self._lost = 0
        self._lock = RLock()

    @property
    def after(self) -> float | None:
        """The seconds after which a request is slow; `None` as long as that is not known."""
        with self._lock:
            many = len(self._sorted)
            if many < self._known:
                return None
            return max(self._sorted[int(many * (1.0 - self._extra))], self._least)

    def begin(self) -> float | None:
        """Count a request; return the seconds after which it is slow, `None` if not known yet."""
        with self._lock:
            self._tokens = min(self._tokens + self._extra, SAVED)
        return self.after

    def copy(self, now: float) -> bool:
        """Return whether a copy may begin now; if so, count it."""
        with self._lock:
            if self._tokens - self._lost < 1.0 or now < self._opens:
                return False
            if self._budget and not Account(self._budget).afford(TimeoutError(), now):
                return False
            self._tokens -= 1.0
            self._copies += 1
            return True

    def hear(
        self, failure: BaseException | None, now: float, began: float, won: bool = False
    ) -> None:
        """Record how a request or copy ends; `failure` is `None` if it answered or is given up."""
        if isinstance(failure, SILENT) or not isinstance(failure, Exception | None):
            return
        transient = failure is not None and is_transient(failure)
        with self._lock:
            self._won += won  # true for a copy that answered first
            if transient and not isinstance(failure, NotReady):
                self._tokens = max(self._tokens - 1.0, 0.0)
                self._opens = max(self._opens, now + asked_for(failure))
                return
            if len(self._recent) == REMEMBERED:
                del self._sorted[bisect_left(self._sorted, self._recent.popleft())]
            self._recent.append(now - began)
            insort(self._sorted, now - began)

    def lose(self, threads: int) -> None:
        """Add to the number of threads that were given up and still run; each holds a token."""
        with self._lock:
            self._lost += threads

    def __repr__(self) -> str:
        after = self.after
        slow = "not known yet what is slow" if after is None else f"slow after {after:g} s"
        copies = "1 copy" if self._copies == 1 else f"{self._copies} copies"
        return f"<Hedge: {slow}, {copies}, {self._won} of them faster>"
