"""Retry budgets, shared by many programs: an empty one refuses retries."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from typing import Any, final

from .._words.commands import Misuse, Stream
from .._words.judging import is_transient
from .._words.notes import NOTE, add_note
from .._words.standard_commands import CLOCK, Delay
from .budget_rules import TOKEN, Failures, Requests, Rule, Tokens
from .command_substitution import passed_on

__tracebackhide__ = True

REFUSED = f"{NOTE} not tried again, the retry budget is empty"


@final
class RetryBudget:
    """A bucket of tokens that pays for the retries of many programs, and so limits them in outages.

    A program takes tokens before it waits to retry. If too few are left, it fails at once with its
    last failure. A wait after a success (`.wait()`) costs nothing. Use one budget for each service,
    for all programs, threads and tasks that depend on it; `run`, `run_async` and `backoff` take it
    as `budget`.

    >>> from ixbackoff import N3, Call, NotReady, at, call
    >>> from ixbackoff.testing import Virtual, always
    >>> budget = RetryBudget(2)
    >>> world = Virtual(Call.handled_by(always(NotReady())))
    >>> at(N3).retry(call(print)).run(world.interpreter, budget=budget)
    Traceback (most recent call last):
    ixbackoff.NotReady
    ixbackoff: not tried again, the retry budget is empty
    ixbackoff: tries: 3, waits: 2, 3 s in all
    >>> budget
    <RetryBudget: 0 of 2 tokens left, a retry costs 1>

    A cancelled program returns no tokens and takes no more. A budget is equal only to itself.

    Args:
        capacity: the tokens at the start, and the maximum.
        cost: the tokens that a retry takes.
        throttled_cost: the tokens that a retry takes after `Throttled`; by default, `cost`.
        returned: the tokens that a success without a retry returns.
        returned_after_retry: the tokens that a success after retries returns; by default, the cost
            of the last retry.

    Raises:
        ValueError: a number is out of bounds: 0.001 to 10**9 for `capacity`, 0.001 to the capacity
            for a cost, and 0 to the capacity for the tokens that a success returns.
    """

    __slots__ = ("__weakref__", "_lock", "_rule")

    def __init__(
        self,
        capacity: float,
        *,
        cost: float = 1,
        throttled_cost: float | None = None,
        returned: float = 0.1,
        returned_after_retry: float | None = None,
    ) -> None:
        self._rule: Rule = Tokens(capacity, cost, throttled_cost, returned, returned_after_retry)
        self._lock = RLock()

    @staticmethod
    def botocore() -> RetryBudget:
        """Make botocore's budget: 500 tokens, of which a retry takes 14, or 5 after throttling.

        A success returns the cost of its last retry, or 1 without a retry. The numbers are those of
        botocore 1.44.5 (`botocore/retries/quota.py`, `standard.py`), which has one budget for each
        client.

        >>> RetryBudget.botocore()
        <RetryBudget: 500 of 500 tokens left, a retry costs 14, after throttling 5>
        """
        return RetryBudget(500, cost=14, throttled_cost=5, returned=1)

    @staticmethod
    def grpc(max_tokens: float = 10, token_ratio: float = 0.1) -> RetryBudget:
        """Make gRPC's budget: a failure takes 1 token, a success returns `token_ratio`.

        A retry needs more than half of `max_tokens`. The rule and the default numbers are those of
        gRFC A6, "gRPC Retry Design" (`A6-client-retries.md`); gRPC has one budget for each server
        name. If failures stay more than `token_ratio` times the successes, the budget soon refuses
        all retries. The last failure of a program counts, too, if it is transient.

        >>> RetryBudget.grpc()
        <RetryBudget: 10 of 10 tokens left, a retry needs more than 5>

        Args:
            max_tokens: the tokens at the start, and the maximum.
            token_ratio: the tokens that a success returns; up to three decimal places.

        Raises:
            ValueError: `max_tokens` is not above 2, so no failure could ever be retried, or
                `token_ratio` is not from 0.001 to `max_tokens`.
        """
        return _budget(Failures(max_tokens, token_ratio))

    @staticmethod
    def finagle(
        ttl: float = 10, min_retries_per_second: int = 10, percent_can_retry: float = 0.2
    ) -> RetryBudget:
        """Make Finagle's budget: 1 retry for each 5 programs of the last 10 s, and 10 a second.

        Each program adds 1 token when it begins, and a retry takes `1 / percent_can_retry`. Added
        and taken tokens expire after about `ttl` seconds. The rule and its defaults are those of
        Finagle (`RetryBudget.scala`), and so is its window of ten slices (`WindowedAdder.scala`).
        The budget reads the clock, so the interpreter has to answer `Now`.

        >>> RetryBudget.finagle()
        <RetryBudget: 500 tokens left, a retry costs 5>

        Args:
            ttl: the seconds after which tokens expire, 1 to 60.
            min_retries_per_second: the retries a second allowed beyond `percent_can_retry`.
            percent_can_retry: the ratio of retries to programs, 0 to 1000.

        Raises:
            ValueError: a number is out of bounds, or the last two are 0, which allows no retries.
        """
        return _budget(Requests(ttl, min_retries_per_second, percent_can_retry))

    @property
    def timed(self) -> bool:
        return self._rule.timed

    @property
    def left(self) -> float:
        """The remaining tokens; if the budget is `timed`, those at its last use."""
        with self._lock:
            return max(self._rule.left, 0) / TOKEN

    def open(self, now: float) -> Account:
        """Open the account of a program that begins at `now` seconds (0.0 if not `timed`)."""
        with self._lock:
            self._rule.advance(now)
            self._rule.begin()
        return Account(self)

    def __repr__(self) -> str:
        return f"<RetryBudget: {self.left:.13g} {self._rule}>"


@final
class Account:
    """The account of a run; once closed, it can serve another run if the budget is not `timed`."""

    __slots__ = ("_lock", "_paid", "_rule", "counted")

    def __init__(self, budget: RetryBudget) -> None:
        self._rule = budget._rule
        self._lock = budget._lock
        self._paid: int | None = None
        self.counted = False  # true if the budget has counted the last failure of the program

    def afford(self, failure: Exception, now: float) -> bool:
        """Take the cost of a retry after `failure`; return `False` if too little is left."""
        rule = self._rule
        with self._lock:
            rule.advance(now)
            paid = rule.pay(failure)
        self.counted = paid is None
        if paid is not None:
            self._paid = paid
        return paid is not None

    def close(self, failure: BaseException | None, now: float) -> None:
        """Count the end of the program: a success (`None`), a failure, or a cancellation."""
        paid, counted = self._paid, self.counted
        self._paid, self.counted = None, False
        if failure is not None and (
            counted or not isinstance(failure, Exception) or not is_transient(failure)
        ):
            return
        with self._lock:
            self._rule.advance(now)
            if failure is None:
                self._rule.succeed(paid)
            else:
                self._rule.fail()


def checked_budget(budget: object) -> None:
    if not isinstance(budget, RetryBudget | None):
        raise Misuse(
            f"budget={budget!r} is not a budget: give a RetryBudget(...), or one of its presets."
        )


def budgeted(stream: Stream, budget: RetryBudget) -> Stream:
    """Pass `stream` on, but begin a wait after a failure only if `budget` can pay for the retry.

    Otherwise throw the failure into the stream in place of the wait. A `timed` budget reads the
    clock at the start and before each such wait, but not at the end.
    """
    now: float = (yield CLOCK) if budget.timed else 0.0
    account = budget.open(now)

    def instead(command: Any) -> Stream | None:
        if isinstance(command, Delay) and command.failure is not None:
            return paid(command)
        return None

    def paid(wait: Any) -> Stream:
        nonlocal now
        try:
            if budget.timed:
                now = yield CLOCK
            if not account.afford(wait.failure, now):
                add_note(wait.failure, REFUSED)
                wait.refuse("budget empty")
                raise wait.failure
            account.counted = True  # if the run ends in this wait, its failure has been counted
            yield wait
            account.counted = False
        finally:  # break the cycle of failure, traceback, this frame and the wait
            del wait

    try:
        answer = yield from passed_on(stream, instead)
    except BaseException as error:
        account.close(error, now)
        raise
    account.close(None, now)
    return answer


def _budget(rule: Rule) -> RetryBudget:
    made = RetryBudget(1)
    made._rule = rule
    return made
