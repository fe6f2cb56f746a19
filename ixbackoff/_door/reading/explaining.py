"""The explanation of a message, by the first function that recognizes the message."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import (
    callables,
    classes,
    declared_types,
    effects,
    joints,
    ladders,
    missing_handlers,
    wrong_options,
)
from .explanation import Explanation
from .wordings import Parsed, parse

EXPLAIN: tuple[Callable[[Parsed], Explanation | None], ...] = (
    ladders.sentence_of_an_overload,
    ladders.wrong_self,
    ladders.uncertain,
    joints.joined,
    joints.joined_by_a_method,
    missing_handlers.joined,
    wrong_options.schedule,
    joints.joined_without_a_program,
    effects.decorated,
    effects.tried,
    effects.several,
    effects.yielded,
    effects.another_row,
    effects.missing_step,
    ladders.unknown_rung,
    missing_handlers.workflow,
    joints.bound,
    ladders.not_a_rung,
    declared_types.another_program,
    declared_types.another_rung,
    declared_types.not_a_type,
    missing_handlers.interpreter,
    missing_handlers.handler,
    missing_handlers.around_or_as_in,
    missing_handlers.without_interpreter,
    missing_handlers.answered,
    wrong_options.option,
    wrong_options.overloaded_option,
    callables.arguments,
    callables.applied,
    callables.streamed,
    classes.made_by_hand,
    classes.derived,
    classes.changed,
)
"""Functions each of which explains one kind of mistake, and returns `None` for other messages."""


def explanations(message: str, method: str = "") -> Iterator[tuple[Parsed, Explanation]]:
    """Yield every explanation of a message, with the message as it was parsed.

    `method` is the called method, for a message that does not name it.

    >>> text = 'Argument 1 to "at" has incompatible type "int"; expected "Rung[Z]"'
    >>> [(_, explanation)] = explanations(text)
    >>> explanation.code, explanation.fix
    ('not-a-rung', 'Write at(N3), which waits 3 times at most.')
    """
    for one in parse(message):
        read = one if one.method else one._replace(method=method)
        for explain in EXPLAIN:
            explanation = explain(read)
            if explanation is not None:
                yield read, explanation
