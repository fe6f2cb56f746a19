"""The request that a service answers: the tries and the time of its caller."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, Literal, TypeAlias, get_args

from .._words.commands import Misuse
from .._words.headers import ANSWER, OVERLOADED, PROXIES, is_forbidden, is_pushed_back
from .._words.printable_text import printable
from .._words.try_header import Trying
from .deadlines import LEFT, Left, time_around
from .interrupt_safety import assigned
from .nesting import SERVED, served
from .observers import REGISTER

Inner: TypeAlias = Literal["nested", "once", "last"]
"""Which decorated functions get a single try if the caller retries: see `middleware.asgi`."""


class ServedRequest:
    """A request. It ends when the web server gets the answer, and later code is not part of it."""

    in_vain = False  # whether something was tried again in vain, or must not be tried again
    over = False

    def __init__(self, inner: Inner, proxies: bool, shown: object, trying: Trying) -> None:
        around, self._left = time_around(), LEFT.get()
        if trying.left is not None:
            left = trying.left if around is None else min(trying.left, around.seconds)
            self._left = Left(left, monotonic() + left)
            self._left.foreign = True
        self._inner, self._proxies, self._shown, self.trying = inner, proxies, shown, trying

    def __str__(self) -> str:
        shown = printable(str(self._shown))[:200]
        return f"{shown}, try {self.trying.number} of a caller who may try again"

    @contextmanager
    def inside(self) -> Generator[None]:
        with assigned(SERVED, self), assigned(LEFT, self._left):
            yield

    def end(self) -> None:
        self.over = True
        if self._left is not None and self.trying.left is not None:
            self._left.over = True

    def tries_once(self, nested_once: bool) -> bool:
        number, more, _ = self.trying
        once = more != 0 if self._inner == "last" else nested_once or self._inner == "once"
        return once and number is not None

    def hear(self, failure: object, again: bool = False) -> None:
        """Take the failure of a run; `again`: whether the run has tried again."""
        self.in_vain = self.in_vain or again
        with suppress(Exception):  # its attributes can be anything
            answer = getattr(failure, "response", None)
            self.hear_headers(getattr(failure if answer is None else answer, "headers", {}))
            metadata: Any = getattr(failure, "trailing_metadata", dict)
            self.in_vain = self.in_vain or is_pushed_back(dict(metadata() or ()))

    def hear_headers(self, headers: Any) -> None:
        proxied = self._proxies and any(name in headers for name in PROXIES)
        self.in_vain = self.in_vain or proxied or is_forbidden(headers)

    def answer_headers(self, status: int) -> dict[str, str]:
        """Return the headers to add to an answer with this status."""
        if not self.in_vain or not (status == 429 or status >= 500):
            return {}
        return {ANSWER: "false"} | ({OVERLOADED: "true"} if self._proxies else {})


def beginning(inner: Inner, proxies: bool) -> Callable[[object, Trying], ServedRequest]:
    """Return a maker of `ServedRequest`s; from now on, decorated functions check for a request."""
    if inner not in get_args(Inner):
        raise Misuse(f'inner={inner!r}: give "nested", "once" or "last".')
    REGISTER.swap()
    return partial(ServedRequest, inner, proxies)


def hear_answer(status: int, headers: Any) -> None:
    """Take an answer that code in a served request got: its headers may forbid another try."""
    request = served()
    if request is not None and status >= 400:
        request.hear_headers(headers)
