"""Transformers of streams of commands: the loop that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._words.commands import Stream

__tracebackhide__ = True


def passed_on(stream: Stream, instead: Callable[[Any], Stream | None]) -> Stream:
    """Pass on a stream of commands, with other commands in place of some.

    `instead` returns `None` to issue the command itself, or a stream to issue in its place, whose
    value is the answer. What a handler, `instead` or that stream raises is thrown into `stream`.
    """
    answer: Any = None
    failure: BaseException | None = None
    command: Any = None
    try:
        while True:
            command = stream.send(answer) if failure is None else stream.throw(failure)
            answer = failure = None
            try:
                issued = instead(command)
                answer = (yield command) if issued is None else (yield from issued)
            except BaseException as error:
                failure = error
    except StopIteration as end:
        return end.value
    except BaseException:
        stream.close()  # for Ctrl-C in this frame; if the stream itself failed, this does nothing
        raise
    finally:  # break the cycle of exception, traceback and this frame
        failure = command = None
