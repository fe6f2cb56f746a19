"""Errors with explanations, completed from the source; repeated errors are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ... import __all__ as public_names
from ..reading.checker_output import Error
from ..reading.issued_commands import issued_when_joined, makes_a_program, type_with_its_row
from ..reading.printed import answer, is_program
from ..reading.sources import Place, Source
from ..reading.wordings import DOWN, RUNS, TO_N0, Parsed, parse
from . import (
    sealed_classes,
    wrong_annotations,
    wrong_effects,
    wrong_functions,
    wrong_handlers,
    wrong_joins,
    wrong_options,
    wrong_rungs,
)
from .explanation import Explanation
from .wrong_calls import wrong_argument, wrong_attribute

EXPLAIN: tuple[Callable[[Parsed], Explanation | None], ...] = (
    wrong_rungs.sentence_of_an_overload,
    wrong_rungs.wrong_self,
    wrong_rungs.uncertain,
    wrong_joins.joined,
    wrong_joins.joined_by_a_method,
    wrong_handlers.joined,
    wrong_options.schedule,
    wrong_joins.joined_without_a_program,
    wrong_effects.decorated,
    wrong_effects.tried,
    wrong_effects.several,
    wrong_effects.yielded,
    wrong_effects.another_row,
    wrong_effects.missing_step,
    wrong_rungs.unknown_rung,
    wrong_handlers.workflow,
    wrong_joins.bound,
    wrong_rungs.not_a_rung,
    wrong_annotations.another_program,
    wrong_annotations.another_rung,
    wrong_annotations.not_a_type,
    wrong_handlers.interpreter,
    wrong_handlers.handler,
    wrong_handlers.around_or_as_in,
    wrong_handlers.without_interpreter,
    wrong_handlers.answered,
    wrong_options.option,
    wrong_options.overloaded_option,
    wrong_functions.arguments,
    wrong_functions.applied,
    wrong_functions.streamed,
    sealed_classes.made_by_hand,
    sealed_classes.derived,
    sealed_classes.changed,
)
"""Functions each of which explains one kind of mistake, and returns `None` for other messages."""

UNMISTAKABLE = re.compile(
    r"CommandOrAttempt\[|\bSucc\[|Program\[N\d|no_wait_is_left_at|it_is_open_finish_it"
    r"|only_retry_resume|only_Z_Succ_and_Forever|a_command_in_it_is_not|Attempt\[Repeatable"
)
"""Parts of messages that occur only in messages about code that uses ixbackoff."""

SURE = re.compile(
    rf"{UNMISTAKABLE.pattern}|float \| timedelta|Schedule \| None|RetryBudget \| None"
    r"|CircuitBreaker \| None|Event \| None|Predicate|Interpreter\[|Rung\[|type\[Nat\]|ixbackoff\."
    r"|_sealed|_no_instances|Do\["
)
"""Parts of messages that hardly ever occur in messages about functions of other packages."""
RUNGS = ("Z", "Succ", "Forever")
CALL_ERRORS = ("argument", "missing", "surplus", "overload", "option")
CALL_CODES = ("no-such-option", "wrong-arguments")
STEPS = ("run", "run_async", "do", "then", "retry", "resume", "or_else", "bind", "end")


class Finding(NamedTuple):
    error: Error
    explanation: Explanation
    place: Place | None
    line: str


def findings(
    pieces: Iterable[Error | str], source: Callable[[str], Source]
) -> Iterator[Finding | Error | str]:
    """Explain the errors that have an explanation; yield other errors and lines unchanged."""
    lambdas: list[tuple[str, int, str, str]] = []
    before: Finding | None = None
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
            continue
        if is_a_consequence(piece, source(piece.file)):
            continue
        finding = found(piece, source(piece.file))
        if lambdas and piece.code == "return-value":
            same = next(types_in(piece), None)
            if same in lambdas:
                lambdas.remove(same)
                continue
        if finding and before and is_repeated(before, finding):
            continue
        before = finding
        if finding is None:
            yield piece
        else:
            lambdas += types_in(piece)
            yield finding


def is_repeated(before: Finding, finding: Finding) -> bool:
    """Return whether both findings are one mistake in a call, a `with` or a bare `@backoff`."""
    first, second = before.error, finding.error
    return (
        before.explanation == finding.explanation
        and (first.file, first.line) == (second.file, second.line)
        and (
            finding.explanation.code in CALL_CODES
            or "enter__" in first.message
            or "Value of type variable" in first.message
        )
    )


def types_in(error: Error) -> Iterator[tuple[str, int, str, str]]:
    """Yield an error's place and types; for mypy's two errors about one lambda they are equal."""
    for one in parse(error.message):
        yield error.file, error.line, answer(one.got), answer(one.wanted)


def explanations(message: str, method: str = "") -> Iterator[tuple[Parsed, Explanation]]:
    """Yield every explanation of a message, with the message as it was parsed.

    `method` is the called method, for a message that does not name it.
    """
    for one in parse(message):
        read = one if one.method else one._replace(method=method)
        for explain in EXPLAIN:
            explanation = explain(read)
            if explanation is not None:
                yield read, explanation


def found(error: Error, source: Source) -> Finding | None:
    """Explain an error, unless its file has nothing to do with ixbackoff."""
    if not (source.uses_ixbackoff or UNMISTAKABLE.search(error.message)):
        return None
    method = source.called(Place(error.line, error.column)) if error.column else ""
    explanation = next(
        (said for one, said in explanations(error.message, method) if is_ours(one, error, source)),
        None,
    )
    explanation = explanation or uncalled(error, source)
    explanation = explanation or wrong_attribute(error, source) or wrong_argument(error, source)
    if explanation is None:
        return None
    explanation, place = completed(explanation, error, source)
    place = place or place_of(error, source)
    line = source.line(place.line if place else error.line)
    shown = "".join(each if each.isprintable() or each == "\t" else "?" for each in line)
    return Finding(error, explanation, place, shown)


def uncalled(error: Error, source: Source) -> Explanation | None:
    for one in parse(error.message):
        if one.kind == "attribute" and one.argument in STEPS:
            name = source.before_attribute(error.line, one.argument)
            if name and (is_program(answer(one.got)) or makes_a_program(source, name)):
                return wrong_effects.not_called(name, one.argument)
    return None


def is_a_consequence(error: Error, source: Source) -> bool:
    """Return whether an error only follows from a `@backoff` without a rung."""
    calls = {name for _, name in source.calls[error.line]} & source.decorated_without_a_rung
    return bool(calls) and any(
        one.kind in CALL_ERRORS and one.method in ("", "__call__") for one in parse(error.message)
    )


def is_ours(one: Parsed, error: Error, source: Source) -> bool:
    """Return whether an error is about ixbackoff's function, not another one with its name."""
    if one.kind not in CALL_ERRORS or SURE.search(error.message):
        return True
    if one.owner in (*public_names, *RUNGS) or one.method in RUNGS:
        return True
    return source.calls_ours(error.line, one.method)


def completed(
    explanation: Explanation, error: Error, source: Source
) -> tuple[Explanation, Place | None]:
    """Complete an explanation with rungs and commands from the source; return it and its place."""
    method = next((one.method for one in parse(error.message) if one.method), "")
    if explanation.code == "no-wait-left":
        step = source.only_step(error.line, DOWN, at_n0=True)
        if step is not None:
            by_steps = {name for name, _ in source.steps(step[1].value)}.isdisjoint(TO_N0)
            place = source.place_of_name(step[1])
            return wrong_rungs.no_wait_left(step[1].attr, step[0], by_steps), place
        if source.in_a_loop(error.line):
            return wrong_rungs.no_wait_left(method, None, in_a_loop=True), None
    if explanation.code == "open-program":
        step = source.only_step(error.line, RUNS, at_n0=False)
        if step is not None:
            return wrong_rungs.open_program(step[0]), source.place_of_name(step[1])
    if explanation.code == "no-handler":
        wanted = issued_when_joined(source, error.line)
        named = (wrong_handlers.joined(one, wanted) for one in parse(error.message) if wanted)
        return next((one for one in named if one), explanation), None
    if explanation.code == "row-too-narrow":
        whole = type_with_its_row(source, error.line)
        return explanation._replace(fix=f"Declare {whole}.") if whole else explanation, None
    return explanation, None


def place_of(error: Error, source: Source) -> Place | None:
    for one in parse(error.message):
        place = None
        if one.kind == "join":
            place = source.place_of_operand(error.line, one.method)
        elif one.kind == "argument" and not error.column and one.method:
            number = re.match(r"Argument (\d+) to ", error.message)
            which = int(number[1]) if number else 1
            place = source.place_of_argument(error.line, one.method, one.argument, which)
        if place is not None:
            return place
    return Place(error.line, error.column) if error.column else None


def sources(folder: Path) -> Callable[[str], Source]:
    """Make a function that reads each file once, relative to `folder`."""

    @cache
    def source(file: str) -> Source:
        return Source(folder / file)

    return source
