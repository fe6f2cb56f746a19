"""The request that a service answers: the tries and the time of its caller."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, Literal, TypeAlias, get_args

from .._words.commands import Misuse
from .._words.headers import ANSWER, OVERLOADED, PROXIES, is_forbidden, is_pushed_back
from .._words.texts import printable
from .._words.try_header import Trying
from .deadlines import LEFT, Left, time_around
from .interrupts import assigned
from .nesting import SERVED, served
from .observers import REGISTER

Inner: TypeAlias = Literal["nested", "once", "last"]
"""The decorated functions that are tried once in a request that its caller may repeat."""


class ServedRequest:
    """A request from its arrival until its answer is given to the server.

    Attributes:
        trying: the try of the caller.
        in_vain: whether something was tried again for it in vain, or must not be tried again.
        over: whether it is answered: what still runs then is not part of it.
    """

    in_vain = over = False

    def __init__(
        self, inner: Inner, proxies: bool, say: bool, shown: object, trying: Trying
    ) -> None:
        self._inner, self._proxies, self._say, self._shown = inner, proxies, say, shown
        left, around = trying.left, time_around()
        if around is not None and left is not None:  # its caller is in this process
            left = min(left, around.seconds)
        self._left = None if left is None else Left(left, monotonic() + left, foreign=True)
        self.trying = trying

    def __str__(self) -> str:
        shown = printable(str(self._shown))[:200]
        return f"{shown}, try {self.trying.number} of a caller who may try again"

    def inside(self) -> ExitStack:
        """Return a block whose code, with its tasks, is part of the request."""
        block = ExitStack()
        block.enter_context(assigned(SERVED, self))
        if self._left is not None:
            block.enter_context(assigned(LEFT, self._left))
        return block

    def end(self) -> None:
        self.over = True
        if self._left is not None:
            self._left.over = True

    def tries_once(self, nested_once: bool) -> bool:
        if self.trying.number is None:
            return False
        if self._inner == "last":
            return self.trying.more != 0
        return nested_once or self._inner == "once"

    def hear(self, failure: object, again: bool = False) -> None:
        """Take the failure of a run, which tried `again` or not."""
        self.in_vain = self.in_vain or again
        with suppress(Exception):  # its attributes can be anything
            answer = getattr(failure, "response", None)
            self.hear_headers(getattr(failure if answer is None else answer, "headers", {}))
            metadata: Any = getattr(failure, "trailing_metadata", dict)
            self.in_vain = self.in_vain or is_pushed_back(dict(metadata() or ()))

    def hear_headers(self, headers: Any) -> None:
        proxied = self._proxies and any(name in headers for name in PROXIES)
        self.in_vain = self.in_vain or proxied or is_forbidden(headers)

    def says_no(self) -> bool:
        return self._say and self.in_vain

    def said(self, status: int) -> dict[str, str]:
        """Return the headers that an answer with this status gets."""
        if not self.says_no() or not (status == 429 or status >= 500):
            return {}
        return {ANSWER: "false"} | ({OVERLOADED: "true"} if self._proxies else {})


def beginning(inner: Inner, proxies: bool, say: bool) -> Callable[[object, Trying], ServedRequest]:
    """Return what makes requests, and have decorated functions look for them from now on."""
    if inner not in get_args(Inner):
        raise Misuse(f'inner={inner!r}: give "nested", "once" or "last".')
    REGISTER.swap()
    return partial(ServedRequest, inner, proxies, say)


def hear_answer(status: int, headers: Any) -> None:
    """Take an answer to this code, which may forbid another try."""
    request = served()
    if request is not None and status >= 400:
        request.hear_headers(headers)


@contextmanager
def apart() -> Generator[None]:
    """Begin work in this block that is not part of the request: it has all tries, and its own time.

    It is for tasks that continue after the answer, and for what other requests share.

    >>> from ixbackoff import time_limit
    >>> from ixbackoff.middleware import apart
    >>> with apart():
    ...     print(time_limit())
    None
    """
    with assigned(SERVED, None), assigned(LEFT, None):
        yield
