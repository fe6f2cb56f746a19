"""Generator functions that are retried until their first item."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from functools import wraps
from typing import Any

from .._words.commands import CO_GENERATOR, GENERATORS, Misuse, code_flags
from .._words.reasons import NOTE, add_note
from .function_checks import name_of

__tracebackhide__ = True

Begun = tuple[Any, Any]
"""A generator and its first item; `None` and its value if it has ended without an item."""


def streamed(backoff: Any, function: Any) -> Any:
    """Return `function`, retried until its first item.

    Raises:
        Misuse: `function` is not a generator function, or there is an `until`.
    """
    kind = code_flags(function) & GENERATORS
    if not kind:
        raise Misuse(
            f".stream on {name_of(function)}: it is not a generator function, so decorate it with "
            "the backoff itself."
        )
    if backoff._settings.until is not None:
        raise Misuse("until= is for functions, which have an answer: raise NotReady instead.")

    @wraps(function)
    def begin(*args: Any, **kwargs: Any) -> Begun:
        inner = function(*args, **kwargs)
        try:
            return inner, next(inner)
        except StopIteration as end:
            return None, end.value

    @wraps(function)
    async def begin_async(*args: Any, **kwargs: Any) -> Begun:
        inner = function(*args, **kwargs)
        try:
            return inner, await anext(inner)
        except StopAsyncIteration:
            return None, None

    if kind != CO_GENERATOR:
        return items_async(backoff(begin_async))
    return items(backoff(begin))


def items(begin: Any) -> Any:
    """Return the generator function that gives the first item of `begin`, and all others."""

    @wraps(begin)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner, item = begin(*args, **kwargs)
        given = 0
        try:
            while inner is not None:
                given += 1
                try:
                    sent, go_on = (yield item), inner.send
                except GeneratorExit:
                    raise
                except BaseException as error:
                    sent, go_on = error, inner.throw
                try:
                    item = go_on(sent)
                except StopIteration as end:
                    return end.value
                except Exception as failure:
                    note_given(failure, given)
                    raise
            return item
        finally:
            if inner is not None:
                inner.close()

    return stream


def items_async(begin: Any) -> Any:
    """As `items`, for an async generator function."""

    @wraps(begin)
    async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner, item = await begin(*args, **kwargs)
        given = 0
        try:
            while inner is not None:
                given += 1
                try:
                    sent, go_on = (yield item), inner.asend
                except GeneratorExit:
                    raise
                except BaseException as error:
                    sent, go_on = error, inner.athrow
                try:
                    item = await go_on(sent)
                except StopAsyncIteration:
                    return
                except Exception as failure:
                    note_given(failure, given)
                    raise
        finally:
            if inner is not None:
                await inner.aclose()

    return stream


def note_given(failure: Exception, given: int) -> None:
    """Add the note that a stream is not tried again after its first item."""
    items = "1 item was" if given == 1 else f"{given} items were"
    add_note(failure, f"{NOTE} not tried again: {items} given")
