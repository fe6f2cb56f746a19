"""Requests that are retried inside a client; the last answer is returned, not raised.

Inside the try, an answer with an error status is raised as the library's own exception, so `on` and
`known` judge it as in a function that calls `raise_for_status()`. It stays open until the next try,
because the run may still refuse the wait; a short body is read at once, to free its connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from .._functions.backoff import Backoff, made
from .._limits.deadlines import time_limit
from .._running.logs import default_logger, described
from .._words.commands import Misuse
from .._words.failures import CircuitOpen, DeadlineExceeded, predicate
from .._words.reasons import NOTE
from .._words.rungs import N0

__tracebackhide__ = True

R = TypeVar("R")
Held: TypeAlias = list[tuple[R, Exception | None]]
SENT_ONCE = "the body of the request is a stream, which can be sent only once"
SHORT = 65_536  # bytes
OURS = Misuse, CircuitOpen, DeadlineExceeded


class Resending(Generic[R]):
    """A backoff for requests: `failed` makes the failure of an answer, and `close` drops one."""

    def __init__(
        self,
        backoff: Backoff[Any],
        failed: Callable[[R], Exception | None],
        close: Callable[[R], Awaitable[None] | None] = lambda _: None,
    ) -> None:
        given: object = backoff
        if not isinstance(given, Backoff):
            raise Misuse(f"{backoff!r} in a client: give a backoff, such as backoff(N3).")
        if backoff._settings.until is not None:
            raise Misuse("until= in a client: a body is read later, so put it on a function.")
        self._backoffs = backoff, made(N0, backoff._settings)
        self._chosen = predicate(backoff._settings.on)
        self._failed = failed
        self._close = close

    def send(self, name: str, one_try: Callable[[], R], once: bool = False) -> R:
        """Return the last answer of `one_try`; `once` if the body of the request is a stream."""
        held: Held[R] = []

        def request() -> R:
            while held:
                self._close(held.pop()[0])
            return self._checked(one_try(), held)

        request.__qualname__ = name
        try:
            answer = self._backoffs[once].call(request)
        except Exception as failure:
            return self._ended(failure, name, held, once)
        else:
            held.clear()
            return answer
        finally:
            while held:
                self._close(held.pop()[0])

    async def send_async(
        self, name: str, one_try: Callable[[], Awaitable[R]], once: bool = False
    ) -> R:
        """As `send`, for a client of an event loop."""
        held: Held[R] = []

        async def close() -> None:
            while held:
                closing = self._close(held.pop()[0])
                if closing is not None:
                    await closing

        async def request() -> R:
            await close()
            return self._checked(await one_try(), held)

        request.__qualname__ = name
        try:
            answer = await self._backoffs[once].call(request)
        except Exception as failure:
            return self._ended(failure, name, held, once)
        else:
            held.clear()
            return answer
        finally:
            await close()

    def _checked(self, answer: R, held: Held[R]) -> R:
        held.append((answer, self._failed(answer)))
        if held[0][1] is not None:
            raise held[0][1]
        return answer

    def _ended(self, failure: Exception, name: str, held: Held[R], once: bool) -> R:
        if once and not isinstance(failure, OURS) and self._chosen(failure):
            failure.add_note(f"{NOTE} not tried again: {SENT_ONCE}")
            said = "%s: not tried again: %s (%s)"
            default_logger().warning(said, name, SENT_ONCE, described(failure))
        if held and held[0][1] is failure:
            return held.pop()[0]
        raise failure


def is_short(headers: Mapping[str, str]) -> bool:
    """Return whether a body is short enough to be read before the next wait."""
    length = headers.get("content-length", "")
    return length.isdecimal() and int(length) <= SHORT


def limited(timeout: float | None) -> float | None:
    """Return a timeout of a client, but at most the seconds that the request has left."""
    return min((each for each in (timeout, time_limit()) if each is not None), default=None)
