"""Generator functions that are retried until their first item."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from functools import wraps
from typing import Any

from .._meaning.program_names import function_name
from .._words.commands import CO_GENERATOR, GENERATORS, Misuse, code_flags
from .._words.notes import NOTE, add_note

__tracebackhide__ = True


def streamed(backoff: Any, function: Any) -> Any:
    kind = code_flags(function) & GENERATORS
    if not kind:
        said = "it is not a generator function, so decorate it with the backoff itself."
        raise Misuse(f".stream on {function_name(function)}: {said}")
    if backoff._settings.until is not None:
        raise Misuse("until= is for functions, which have an answer: raise NotReady instead.")
    return (items if kind == CO_GENERATOR else items_async)(backoff, function)


def items(backoff: Any, function: Any) -> Any:
    @wraps(function)
    def begin(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        inner = function(*args, **kwargs)
        try:
            return inner, next(inner)
        except StopIteration as end:
            return None, end.value

    retried: Any = backoff(begin)

    @wraps(retried)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner, item = retried(*args, **kwargs)
        given, sent = 0, None
        while inner is not None:
            given += 1
            try:
                sent, go_on = (yield item), inner.send
            except BaseException as error:  # GeneratorExit, too
                sent, go_on = error, inner.throw
            try:
                item = go_on(sent)
            except StopIteration as end:
                return end.value
            except Exception as failure:
                note_given(failure, given, sent)
                raise
            finally:  # break the cycle of exception, traceback and this frame
                sent = None
        return item

    return stream


def items_async(backoff: Any, function: Any) -> Any:
    @wraps(function)
    async def begin(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        inner = function(*args, **kwargs)
        try:
            return inner, await anext(inner)
        except StopAsyncIteration:
            return None, None

    retried: Any = backoff(begin)

    @wraps(retried)
    async def stream(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner, item = await retried(*args, **kwargs)
        given, sent = 0, None
        while inner is not None:
            given += 1
            try:
                sent, go_on = (yield item), inner.asend
            except BaseException as error:
                sent, go_on = error, inner.athrow
            try:
                item = await go_on(sent)
            except StopAsyncIteration:
                return
            except Exception as failure:
                note_given(failure, given, sent)
                raise
            finally:  # break the cycle of exception, traceback and this frame
                sent = None

    return stream


def note_given(failure: Exception, given: int, thrown: Any) -> None:
    """Add the note that a stream is not tried again, unless its reader has thrown the failure."""
    if failure is not thrown:
        items = "1 item was" if given == 1 else f"{given} items were"
        add_note(failure, f"{NOTE} not tried again: {items} given")
