"""Transient failures, and how a step chooses the failures that it retries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .checks import finite, in_seconds
from .commands import CO_COROUTINE, GENERATORS, Misuse, code_flags

if TYPE_CHECKING:
    from datetime import timedelta

P = TypeVar("P", bound=Callable[..., object])


class Transient(Exception):
    """A failure that may pass by itself; its subclasses are retried by default.

    Derive your own transient failures from it.

    >>> Transient("the queue is full", retry_after=3).retry_after
    3

    Attributes:
        retry_after: the seconds that the service asked to be left alone, or `None`. The next wait
            is never shorter.

    Raises:
        ValueError: `retry_after` is negative, not finite or not a number.
    """

    retry_after: float | None = None

    def __init__(self, *args: object, retry_after: float | None = None) -> None:
        super().__init__(*args)
        self.retry_after = checked_retry_after(retry_after)


class NotReady(Transient):
    """The service answered, but the result is not ready yet: ask again later.

    >>> NotReady("still copying", retry_after=2).retry_after
    2

    Attributes:
        answered: true if the answer was not the expected one (`until=`, `.expect`): circuit
            breakers and throttles then count the try as answered.
    """

    answered: bool = False


class Throttled(Transient):
    """The service asks for fewer requests (HTTP 429, "slow down").

    >>> str(Throttled(2.5))
    'throttled: the service asks to be left alone for 2.5 s'

    Args:
        retry_after: the seconds that the service asked to be left alone, or `None`.

    Raises:
        ValueError: `retry_after` is negative or not finite.
    """

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__(retry_after, retry_after=retry_after)

    def __str__(self) -> str:
        return "throttled" + _asked(self.retry_after)


class ServerError(Transient):
    """The service reports a failure of its own (HTTP 408, 425, 5xx).

    >>> str(ServerError(503, retry_after=1))
    'server error 503: the service asks to be left alone for 1 s'

    Args:
        status: the status of the answer.
        retry_after: the seconds that the service asked to be left alone, or `None`.

    Raises:
        ValueError: `retry_after` is negative or not finite.
    """

    def __init__(self, status: int, retry_after: float | None = None) -> None:
        super().__init__(status, retry_after, retry_after=retry_after)
        self.status = status

    def __str__(self) -> str:
        return f"server error {self.status}" + _asked(self.retry_after)


class CircuitOpen(Transient):
    """The service was not asked: a `CircuitBreaker` refused the try.

    >>> str(CircuitOpen(30))
    'circuit open: the service is not asked for 30 s'

    Args:
        retry_after: the seconds until the breaker lets a try through, or `None` if unknown.

    Raises:
        ValueError: `retry_after` is negative or not finite.
    """

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__(retry_after, retry_after=retry_after)
        self._refused_by: int | None = None

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        super().__setstate__(state)
        self._refused_by = None  # an `id`, valid only in the process that pickled the failure

    def __str__(self) -> str:
        if self.retry_after is None:
            return "circuit open: the service is not asked"
        return f"circuit open: the service is not asked for {self.retry_after:g} s"


class Crowded(Transient):
    """The service was not asked: a `Gate`, such as a `Limiter`, refused the try.

    >>> str(Crowded(30)), str(Crowded())
    ('not asked: the turn of a try comes in 30 s', 'not asked: a gate refused it')

    Args:
        retry_after: the seconds until the gate would let a try through, or `None` if unknown.
        why: the reason, for the message.

    Raises:
        ValueError: `retry_after` is negative or not finite.
    """

    def __init__(self, retry_after: float | None = None, why: str = "") -> None:
        super().__init__(retry_after, why, retry_after=retry_after)

    def __str__(self) -> str:
        turn = self.retry_after
        why = "a gate refused it" if turn is None else f"the turn of a try comes in {turn:g} s"
        return f"not asked: {self.args[1] or why}"


class ClientError(Exception):
    """The request itself is wrong (HTTP 4xx other than 408, 425 and 429): change it first.

    It is not `Transient`: the same request would fail in the same way.

    >>> str(ClientError(404))
    'client error 404: the same request will fail again'
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        return f"client error {self.status}: the same request will fail again"


class DeadlineExceeded(TimeoutError):
    """A program or an attempt exceeded its time (`within`, `.limit`).

    Steps retry after a `.limit` by default, as after other time-outs: the next try may be faster.

    >>> from ixbackoff import N1, Call, at, call, do
    >>> from ixbackoff.testing import Virtual, answers, takes
    >>> world = Virtual(Call.handled_by(answers(takes(9, "slow"), takes(2, "quick"))))
    >>> at(N1).retry(do(call(len, "abc")).limit(5)).run(world.interpreter)
    'quick'
    >>> world.now
    8.0
    """

    refused: float | None = None
    """The time, by `Now`, when a command was refused because the deadline had passed, or `None`."""


class Stopped(Exception):
    """The program was stopped (`stop=`): before its start, in a `.wait()`, or in a wait at a gate.

    A program that is stopped in a wait after a failure raises that failure. No step recovers from
    a stop.

    >>> from threading import Event
    >>> from ixbackoff import N1, Log, at
    >>> from ixbackoff.live import live
    >>> stop = Event()
    >>> stop.set()
    >>> at(N1).retry(Log("hello")).run(live(), stop=stop)
    Traceback (most recent call last):
    ixbackoff.Stopped: stopped before anything was asked
    """


Predicate: TypeAlias = "Callable[[Exception], bool | float | timedelta]"
"""Decides whether to retry. Seconds mean yes, and that the next wait takes at least as long."""

On: TypeAlias = "type[Exception] | Predicate | Sequence[type[Exception] | Predicate]"
"""The failures of a step: an exception class, a predicate, or a list or tuple of these."""

TRUSTED: list[Predicate] = []
"""The predicates of this package, whose answers need no check."""


class NotBefore(float):
    """Seconds that a predicate returned: true even if they are 0, because any seconds mean yes."""

    def __bool__(self) -> bool:
        return True


def predicate(on: On) -> Predicate:
    """Make one predicate of all choices in `on`; it returns a bool or `NotBefore`."""
    kinds, predicates = choices(on)
    if not kinds and predicates[0] in TRUSTED:
        return predicates[0]
    return partial(decided, kinds, predicates)  # can be pickled


def decided(
    kinds: tuple[type[Exception], ...], predicates: tuple[Predicate, ...], failure: Exception
) -> bool | NotBefore:
    if isinstance(failure, kinds):
        return True
    for one in predicates:
        answer: Any = one(failure)
        if answer is False:
            continue
        if answer is True:
            return True
        seconds = in_seconds(answer)
        if seconds is None or (seconds != seconds and not isinstance(answer, float)):
            raise Misuse(
                f"on={one!r} returned {answer!r}: return a bool, or the seconds to wait at least."
            )
        if not finite(seconds) >= 0:
            raise ValueError(f"on={one!r} returned {answer!r}: give seconds, 0 or more.")
        return NotBefore(seconds)
    return False


def choices(on: On) -> tuple[tuple[type[Exception], ...], tuple[Predicate, ...]]:
    given: Any = on
    listed: list[Any] = list(given) if isinstance(on, list | tuple) else [given]
    kinds = tuple(choice for choice in listed if _is_exception(choice))
    others: list[Any] = [choice for choice in listed if not isinstance(choice, type)]
    predicates = [choice for choice in others if callable(choice)]
    if not listed or len(kinds) + len(predicates) != len(listed):
        raise TypeError(
            f"on={on!r} chooses no failures: give an Exception class, a function from the "
            "exception to bool or seconds, or a list or tuple of them."
        )
    return kinds, tuple(checked_predicate(choice) for choice in others)


def checked_predicate(function: P) -> P:
    """Return `function`; raise Misuse if it returns coroutines or generators, which are true."""
    if code_flags(function) & (CO_COROUTINE | GENERATORS):
        raise Misuse(
            f"{function!r} is not a predicate: it returns a coroutine or a generator, which is "
            "always true; give a function that returns a bool."
        )
    return function


def _is_exception(kind: Any) -> bool:
    # A generator or a loop would mistake a StopIteration for its end.
    ends = StopIteration | StopAsyncIteration
    is_class = isinstance(kind, type)
    return is_class and issubclass(kind, Exception) and not issubclass(kind, ends)


def checked_retry_after(retry_after: float | None) -> float | None:
    if retry_after is not None and not finite(retry_after) >= 0:
        raise ValueError(f"retry_after={retry_after!r}: give seconds, 0 or more, or None.")
    return retry_after


def _asked(retry_after: float | None) -> str:
    if retry_after is None:
        return ""
    return f": the service asks to be left alone for {retry_after:g} s"
