"""Retry budgets, shared by many programs: when one is empty, a program fails at once."""

from __future__ import annotations

from _thread import RLock  # threading's own; threading itself costs 5 ms to import
from contextlib import suppress
from typing import Any, final

from .._words.commands import Stream
from .._words.failures import WORTH_ANOTHER_TRY
from .._words.vocabulary import CLOCK, Delay
from .buckets import TOKEN, Failures, Requests, Rule, Tokens
from .deadlines import NOTE

REFUSED = f"{NOTE} not tried again, the retry budget is empty"


@final
class Budget:
    """What the further tries of many programs are taken from, so that they are few in an outage.

    It is a bucket of tokens. A program that is about to wait and try again takes some; when there
    are too few, it fails at once, with the failure that it has, instead of waiting. A wait of a
    program that is well (`.wait()`) costs nothing. Programs, threads and tasks share one budget
    for each service that they depend on; `run` and `run_async` take it as `budget`.

    >>> from ixbackoff import N3, Call, NotReady, at, call
    >>> from ixbackoff.testing import Virtual, always
    >>> budget = Budget(2)
    >>> world = Virtual(Call.handled_by(always(NotReady())))
    >>> at(N3).retry(call(print)).run(world.interpreter, budget=budget)
    Traceback (most recent call last):
    ixbackoff.NotReady
    ixbackoff: not tried again, the retry budget is empty
    ixbackoff: attempts made: 3, waits: 2, 3 s in all
    >>> budget
    <Budget: 0 of 2 tokens left, a retry costs 1>

    A program that is cancelled is neither well nor failed: it gives nothing back and takes nothing
    more. A budget is equal to itself only.

    Args:
        capacity: how many tokens there are, at most and to begin with.
        cost: how many a further try takes.
        throttled_cost: how many it takes after `Throttled`; as `cost` unless told.
        returned: how many a program gives that ended well without a further try.
        returned_after_retry: how many a program gives that ended well after further tries; what the
            last of them took unless told.

    Raises:
        ValueError: a number is out of its bounds: a capacity of 0.001 to 10**9, costs of 0.001 to
            the capacity, and 0 to the capacity for what is given back.
    """

    __slots__ = ("_lock", "_rule")
    _rule: Rule
    _lock: RLock

    def __init__(
        self,
        capacity: float,
        *,
        cost: float = 1,
        throttled_cost: float | None = None,
        returned: float = 0.1,
        returned_after_retry: float | None = None,
    ) -> None:
        self._rule = Tokens(capacity, cost, throttled_cost, returned, returned_after_retry)
        self._lock = RLock()

    @staticmethod
    def botocore() -> Budget:
        """500 tokens; a retry costs 14, after throttling 5; a success gives 1, or the last cost.

        The constants are those of botocore 1.44.5, `botocore/retries/quota.py` and `standard.py`,
        which keeps one for each client.

        >>> Budget.botocore()
        <Budget: 500 of 500 tokens left, a retry costs 14, after throttling 5>
        """
        return Budget(500, cost=14, throttled_cost=5, returned=1)

    @staticmethod
    def grpc(max_tokens: float = 10, token_ratio: float = 0.1) -> Budget:
        """Every failure takes 1 token, every success gives `token_ratio`; half have to be left.

        The rule is that of gRFC A6, "gRPC Retry Design" (`A6-client-retries.md`), and so are the
        numbers of its example; it has one for each server name. In the long run nothing is tried
        again while there are more failures than `token_ratio` of the successes. The failure that a
        program ends with is counted, too, if it may pass: a `Transient`, `ConnectionError` or
        `TimeoutError`.

        >>> Budget.grpc()
        <Budget: 10 of 10 tokens left, a retry needs more than 5>

        Args:
            max_tokens: how many there are, at most and to begin with.
            token_ratio: how many a program gives that ended well; up to three decimal places.

        Raises:
            ValueError: `max_tokens` is not above 2, so that no failure could ever be tried again,
                or `token_ratio` is not from 0.001 to `max_tokens`.
        """
        return _budget(Failures(max_tokens, token_ratio))

    @staticmethod
    def finagle(
        ttl: float = 10, min_retries_per_second: int = 10, percent_can_retry: float = 0.2
    ) -> Budget:
        """One retry for each 5 programs of the last 10 s, on top of 10 retries a second.

        Each program that begins gives 1 token, a retry takes `1 / percent_can_retry`, and either is
        forgotten after about `ttl`. The rule and its defaults are those of Finagle
        (`RetryBudget.scala`) and its window in ten slices (`WindowedAdder.scala`). It needs
        the time, so the interpreter has to answer `Now`.

        >>> Budget.finagle()
        <Budget: 500 tokens left, a retry costs 5>

        Args:
            ttl: seconds until it is forgotten what was given and taken, 1 to 60.
            min_retries_per_second: how many retries can be made without any programs to give.
            percent_can_retry: how many retries each program allows, 0 to 1000; as a ratio.

        Raises:
            ValueError: a number is out of these bounds, or the last two are 0, so that nothing
                could ever be tried again.
        """
        return _budget(Requests(ttl, min_retries_per_second, percent_can_retry))

    @property
    def timed(self) -> bool:
        """Whether it needs the time."""
        return self._rule.timed

    @property
    def left(self) -> float:
        """How many tokens are left; where time gives and takes, when it was last asked for one."""
        with self._lock:
            return max(self._rule.left, 0) / TOKEN

    def open(self, now: float) -> Account:
        """One program begins, at `now` seconds; at 0.0 if the budget is not `timed`."""
        with self._lock:
            self._rule.advance(now)
            self._rule.begin()
        return Account(self)

    def __repr__(self) -> str:
        return f"<Budget: {self.left:.13g} {self._rule}>"


@final
class Account:
    """What one run of one program has with a budget.

    Attributes:
        counted: whether what the program would now fail with has been counted already.
    """

    __slots__ = ("_budget", "_paid", "counted")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._paid: int | None = None
        self.counted = False

    def afford(self, failure: Exception, now: float) -> bool:
        """Take the cost of a further try after `failure`, or say that it cannot be afforded."""
        rule = self._budget._rule
        with self._budget._lock:
            rule.advance(now)
            paid = rule.pay(failure)
        self.counted = paid is None
        if paid is None:
            return False
        self._paid = paid
        return True

    def close(self, failure: BaseException | None, now: float) -> None:
        """The program has ended: well (`None`), with its last failure, or cancelled."""
        rule = self._budget._rule
        if failure is not None and (self.counted or not isinstance(failure, WORTH_ANOTHER_TRY)):
            return
        with self._budget._lock:
            rule.advance(now)
            if failure is None:
                rule.succeed(self._paid)
            else:
                rule.fail()


def budgeted(stream: Stream, budget: Budget) -> Stream:
    """`stream`, whose waits after failures are only begun if `budget` has what they cost.

    If it has not, the failure is thrown in where the wait would be, and nothing is tried again.
    For a budget that needs the time, the time is asked at the beginning and before each such wait;
    at the end it is told the last time that was asked. The account is closed once, however the
    stream ends.
    """
    now: float = (yield CLOCK) if budget.timed else 0.0
    account = budget.open(now)
    answer: Any = None
    asked: Exception | None = None
    failure: BaseException | None = None
    try:
        command = next(stream)
        while True:
            asked = command.failure if isinstance(command, Delay) else None
            try:
                if asked is None:
                    answer = yield command
                else:
                    if budget.timed:
                        now = yield CLOCK
                    if account.afford(asked, now):
                        account.counted = True  # a wait that is broken off is followed by no try
                        answer = yield command
                        account.counted = False
                    else:
                        failure = refused(asked)
            except BaseException as error:
                failure = error
            asked = None
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
    except StopIteration as end:
        account.close(None, now)
        return end.value
    except BaseException as error:
        account.close(error, now)
        raise
    finally:  # an exception must not be kept alive by a frame in its own traceback
        asked = failure = None
        command = CLOCK


def refused(failure: Exception) -> Exception:
    """`failure`, with a note of why nothing is tried again, and without those of a run before."""
    with suppress(Exception):  # there are exceptions that take no note
        notes = getattr(failure, "__notes__", [])
        notes[:] = [note for note in notes if not note.startswith(NOTE)]
        failure.add_note(REFUSED)
    return failure


def _budget(rule: Rule) -> Budget:
    """The one place where budgets of other rules are made."""
    made = object.__new__(Budget)
    made._rule = rule
    made._lock = RLock()
    return made
