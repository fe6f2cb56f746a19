"""Requests that are retried inside a client; the last answer is returned, not raised.

Inside the try, an answer with an error status is raised as the library's own exception, so `on` and
`known` judge it as after `raise_for_status()`. The answer stays open until the next try, because it
is returned if the run refuses the wait. `transport`, and `adapter` without `stream`, read the
body of a failed answer at once if the body is short, to free the connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from inspect import isawaitable
from operator import attrgetter
from typing import Any, Generic, TypeAlias, TypeVar

from .._functions.backoff import Backoff, made
from .._limits.deadlines import time_limit
from .._running.logs import described
from .._words.commands import Misuse
from .._words.failure_classes import CircuitOpen, DeadlineExceeded, Stopped, predicate
from .._words.logger import default_logger
from .._words.notes import NOTE
from .._words.rungs import N0

__tracebackhide__ = True

R = TypeVar("R")
Held: TypeAlias = tuple[R, Exception | None]
SENT_ONCE = "the body of the request is a stream, which can be sent only once"
SHORT = 65_536  # bytes
MARK = "ixbackoff_mark"  # a request's attribute or extension: a function to call before each try
OURS = Misuse, CircuitOpen, DeadlineExceeded, Stopped
# The attributes with the number of retries: in httpx, requests (urllib3) and httpx-retries.
RETRIES = "_pool._retries", "max_retries.total", "retry.total"


class Resending(Generic[R]):
    """A backoff for requests; `failed` returns the failure of an error answer, or `None`."""

    def __init__(
        self, backoff: Backoff[Any], failed: Callable[[R], Exception | None], inner: object = None
    ) -> None:
        given: object = backoff
        if not isinstance(given, Backoff):
            raise Misuse(f"{backoff!r} in a client: give a backoff, such as backoff(N3).")
        if backoff._settings.until is not None:
            raise Misuse("until= in a client: a body is read later, so put until= on a function.")
        said = f"{inner!r} in a client: its retries would multiply, leave them out."
        for number in RETRIES:
            with suppress(AttributeError):
                if attrgetter(number)(inner) != 0:
                    raise Misuse(said)
        self._backoffs = backoff, made(N0, backoff._settings)
        self._chosen = predicate(backoff._settings.on)
        self._failed = failed
        self.closings = [0, 0]  # the number of times that sync and async clients were closed

    def send(self, name: str, one_try: Callable[[], R], once: bool = False) -> R:
        """Return the last answer of `one_try`, or raise its failure; with `once`, try only once."""
        held, closings = list[Held[R]](), self.closings[0]

        def close() -> None:
            while held:
                getattr(held.pop()[0], "close", bool)()

        def request() -> R:
            close()
            self._check_open(0, closings)
            return self._checked(one_try(), held)

        request.__qualname__ = name
        try:
            try:
                held[:] = [(self._backoffs[once].call(request), None)]
            except Exception as failure:
                if self._raises(failure, name, held, once):
                    raise
            return held.pop()[0]
        finally:
            close()

    async def send_async(
        self, name: str, one_try: Callable[[], Awaitable[R]], once: bool = False
    ) -> R:
        held, closings = list[Held[R]](), self.closings[1]

        async def close() -> None:
            while held:
                answer = held.pop()[0]
                closing = getattr(answer, "aclose", getattr(answer, "close", bool))()
                if isawaitable(closing):
                    await closing

        async def request() -> R:
            await close()
            self._check_open(1, closings)
            return self._checked(await one_try(), held)

        request.__qualname__ = name
        try:
            try:
                held[:] = [(await self._backoffs[once].call(request), None)]
            except Exception as failure:
                if self._raises(failure, name, held, once):
                    raise
            return held.pop()[0]
        finally:
            await close()

    def _check_open(self, kind: int, closings: int) -> None:
        if self.closings[kind] != closings:
            raise RuntimeError("The client was closed in a wait, so the request is not sent again.")

    def _checked(self, answer: R, held: list[Held[R]]) -> R:
        held.append((answer, self._failed(answer)))
        if held[0][1] is not None:
            raise held[0][1]
        return answer

    def _raises(self, failure: Exception, name: str, held: list[Held[R]], once: bool) -> bool:
        """Return false if `failure` stands for the last answer; log why a stream is not resent."""
        if once and not isinstance(failure, OURS) and self._chosen(failure):
            failure.add_note(f"{NOTE} not tried again: {SENT_ONCE}")
            said = "%s: not tried again: %s (%s)"
            default_logger().warning(said, name, SENT_ONCE, described(failure))
        return not held or held[0][1] is not failure


def is_short(headers: Mapping[str, str]) -> bool:
    """Return whether a body is short enough to be read before the next wait."""
    length = headers.get("content-length", "")
    return length.isdecimal() and int(length) <= SHORT


def limited(timeout: float | None) -> float | None:
    """Return a timeout of a client, but at most the seconds that the request has left.

    If none are left, return 0.001, because libraries reject 0 or give it another meaning.
    """
    left = time_limit()
    if left is None:
        return timeout
    return max(left, 0.001) if timeout is None else min(timeout, max(left, 0.001))
