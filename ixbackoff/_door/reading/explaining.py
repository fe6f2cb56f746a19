"""The explanation of a message, by the first module of this room that knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import (
    callables,
    classes,
    declared,
    effects,
    handlers,
    joints,
    ladders,
    misplaced,
    options,
    rungs,
)
from .explanation import Explanation
from .shapes import Seen, seen

EXPLAIN: tuple[Callable[[Seen], Explanation | None], ...] = (
    ladders.sentence_of_an_overload,
    ladders.wrong_self,
    ladders.uncertain,
    joints.joined,
    joints.joined_by_a_method,
    handlers.joined,
    options.schedule,
    joints.joined_without_a_program,
    effects.decorated,
    effects.tried,
    effects.several,
    effects.yielded,
    effects.another_row,
    effects.missing_step,
    *misplaced.MISPLACED,
    joints.bound,
    rungs.not_a_rung,
    rungs.without_a_rung,
    declared.another_program,
    declared.another_rung,
    declared.not_a_type,
    handlers.interpreter,
    handlers.handler,
    handlers.shared_handler,
    handlers.without_interpreter,
    handlers.answered,
    options.seconds,
    options.option,
    options.overloaded_option,
    options.no_such_option,
    callables.arguments,
    callables.applied,
    classes.made_by_hand,
    classes.derived,
    classes.changed,
)
"""Functions that each explain one family of mistakes, and return `None` for other messages."""


def explanations(message: str, method: str = "") -> Iterator[tuple[Seen, Explanation]]:
    """Yield every explanation of a message, with the message as it was parsed.

    >>> text = 'Argument 1 to "at" has incompatible type "int"; expected "Rung[Z]"'
    >>> [(_, it)] = explanations(text)
    >>> it.code, it.fix
    ('not-a-rung', 'Write at(N3), which waits 3 times at most.')

    Args:
        message: the message.
        method: the method that is called, for a message that does not name it.
    """
    for one in seen(message):
        read = one if one.method else one._replace(method=method)
        for explain in EXPLAIN:
            explanation = explain(read)
            if explanation is not None:
                yield read, explanation
