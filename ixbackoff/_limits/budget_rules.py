"""Token buckets: the rules of retry budgets."""

from __future__ import annotations

from collections import deque

from typing_extensions import override

from .._words.checks import between
from .._words.failure_classes import Throttled

TOKEN = 1000  # thousandths: sums of whole numbers do not depend on their order
MOST = 10**9
AFFORDED = "tokens, so that a retry can be paid for"
SLICES = 10
INT_MAX = 2**31 - 1  # the largest Int of Scala, in which Finagle counts


class Rule:
    """A rule by which a budget counts, called under the lock of the budget."""

    timed = False  # whether the rule depends on the time
    left: int  # the remaining thousandths of tokens

    def advance(self, now: float) -> None:
        """Advance the time to `now`, in seconds."""

    def begin(self) -> None:
        """Count a program that begins."""

    def pay(self, failure: Exception) -> int | None:
        """Take and return the cost of a retry; return `None` if too little is left."""
        raise NotImplementedError

    def succeed(self, paid: int | None) -> None:
        """Count a success; `paid` is the cost of the program's last retry, `None` without one."""

    def fail(self) -> None:
        """Count a program whose last failure is transient and was not passed to `pay`."""


class Tokens(Rule):
    """A bucket from which a retry takes tokens, and to which a success returns some."""

    def __init__(
        self,
        capacity: float,
        cost: float,
        throttled_cost: float | None,
        returned: float,
        returned_after_retry: float | None,
    ) -> None:
        self.capacity = self.left = thousandths("capacity", capacity, 1, MOST * TOKEN)
        self.cost = thousandths("cost", cost, 1, self.capacity, AFFORDED)
        throttled = cost if throttled_cost is None else throttled_cost
        self.throttled_cost = thousandths("throttled_cost", throttled, 1, self.capacity, AFFORDED)
        self.returned = thousandths("returned", returned, 0, self.capacity)
        after = returned_after_retry
        self.returned_after_retry = (
            None if after is None else thousandths("returned_after_retry", after, 0, self.capacity)
        )

    @override
    def pay(self, failure: Exception) -> int | None:
        cost = self.throttled_cost if isinstance(failure, Throttled) else self.cost
        if cost > self.left:
            return None
        self.left -= cost
        return cost

    @override
    def succeed(self, paid: int | None) -> None:
        returned = self.returned
        if paid is not None:
            returned = paid if self.returned_after_retry is None else self.returned_after_retry
        self.left = min(self.left + returned, self.capacity)

    def __str__(self) -> str:
        text = f"of {shown(self.capacity)} tokens left, a retry costs {shown(self.cost)}"
        if self.throttled_cost == self.cost:
            return text
        return f"{text}, after throttling {shown(self.throttled_cost)}"


class Failures(Rule):
    """A bucket from which each failure takes a token, and to which a success returns some."""

    def __init__(self, max_tokens: float, token_ratio: float) -> None:
        self.capacity = self.left = thousandths(
            "max_tokens", max_tokens, 2 * TOKEN + 1, MOST * TOKEN, AFFORDED
        )
        self.returned = thousandths("token_ratio", token_ratio, 1, self.capacity)

    @override
    def pay(self, failure: Exception) -> int | None:
        self.fail()
        return TOKEN if 2 * self.left > self.capacity else None

    @override
    def succeed(self, paid: int | None) -> None:
        self.left = min(self.left + self.returned, self.capacity)

    @override
    def fail(self) -> None:
        self.left = max(self.left - TOKEN, 0)

    def __str__(self) -> str:
        half = f"{self.capacity / 2 / TOKEN:.13g}"
        return f"of {shown(self.capacity)} tokens left, a retry needs more than {half}"


class Requests(Rule):
    """A bucket to which each program adds a token, and from which a retry takes some.

    After about `ttl` seconds an added token expires, and a taken one is given back. Time is divided
    into slices of a tenth of the `ttl`; what happened in a slice counts until nine later slices
    are over. No time passes when the clock is set back.
    """

    timed = True

    def __init__(self, ttl: float, min_retries_per_second: float, percent_can_retry: float) -> None:
        ttl = between("ttl", ttl, 1, 60, "seconds")
        least = between("min_retries_per_second", min_retries_per_second, 0, INT_MAX, "retries")
        share = between("percent_can_retry", percent_can_retry, 0, 1000, "retries for each program")
        if least != int(least):
            raise ValueError(f"min_retries_per_second={least:g}: give a whole number.")
        if least == share == 0:
            raise ValueError(
                "min_retries_per_second=0, percent_can_retry=0: nothing could ever be retried: "
                "make one of them more than 0."
            )
        self.added = TOKEN if share else 0
        self.cost = int(min(TOKEN / share, INT_MAX)) if share else TOKEN
        self.reserve = self.left = int(least) * int(ttl) * self.cost
        self.slice = round(ttl * 1000) // SLICES
        self.slices = deque([0] * SLICES, maxlen=SLICES)
        self.since: int | None = None

    @override
    def advance(self, now: float) -> None:
        milliseconds = round(now * 1000)
        if self.since is None:
            self.since = milliseconds
        passed = (milliseconds - self.since) // self.slice
        if passed > 0:
            self.slices.extend([0] * min(passed, SLICES))
            self.since = milliseconds
            self.left = self.reserve + sum(self.slices)

    @override
    def begin(self) -> None:
        self.slices[-1] += self.added
        self.left += self.added

    @override
    def pay(self, failure: Exception) -> int | None:
        if self.cost > self.left:
            return None
        self.slices[-1] -= self.cost
        self.left -= self.cost
        return self.cost

    def __str__(self) -> str:
        return f"tokens left, a retry costs {shown(self.cost)}"


def thousandths(name: str, tokens: float, least: int, most: int, unit: str = "tokens") -> int:
    """Return `tokens` in thousandths; the bounds `least` and `most` are in thousandths, too."""
    return round(between(name, tokens, least / TOKEN, most / TOKEN, unit) * TOKEN)


def shown(thousandths: int) -> str:
    return f"{thousandths / TOKEN:.13g}"
