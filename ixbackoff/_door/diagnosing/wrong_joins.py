"""Explanations of joins and binds whose parts are on different rungs, or are not all programs."""

from __future__ import annotations

from ..._words.rungs import DEEPEST
from ..amounts_in_words import counted
from ..reading.printed import (
    FOREVER,
    UNKNOWN,
    Span,
    answer,
    depth,
    described,
    is_function,
    is_program,
    span_of,
    split,
    with_names,
)
from ..reading.wordings import Parsed
from .explanation import Explanation
from .ladder_drawing import Sketch

COMMANDS = ("Download", "Upload", "Log", "Throw", "Call", "CallAsync")


def joined(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "join" or not is_program(parsed.got):
        return None
    if not is_program(parsed.wanted):
        if not parsed.wanted:
            return None
        step = ".do(...)" if parsed.method == ">>" else ".or_else(...)"
        return Explanation(
            "not-a-program",
            f"{parsed.method} joins two programs, but {with_names(parsed.wanted)} is not one.",
            f"Write {step} for a command or an attempt, or start with at(...).",
        )
    ends, starts = split(parsed.got).inner[1], split(parsed.wanted).inner[0]
    if FOREVER in (ends, starts):
        return foreign(ends, starts)
    first, second = span_of(parsed.got), span_of(parsed.wanted)
    if first is None or depth(starts) is None:
        return None
    return apart(first, second.start if second else int(depth(starts) or 0), "the second")


def joined_by_a_method(parsed: Parsed) -> Explanation | None:
    """Explain pyrefly's error about an argument of `__rshift__` or `__or__`: the rungs differ."""
    if parsed.kind != "argument" or parsed.method not in ("__rshift__", "__or__"):
        return None
    if not (is_program(parsed.got) and is_program(parsed.wanted)):
        return None
    said = "The first ends at {ends}, but the second starts at {starts}."
    return elsewhere(parsed.got, parsed.wanted, said, "the second")


def elsewhere(got: str, wanted: str, said: str, where: str) -> Explanation | None:
    starts, ends = depth(split(got).inner[0]), depth(split(wanted).inner[0])
    if starts is None or ends is None or starts == ends:
        return None
    return Explanation(
        "goes-up" if starts > ends else "jumps-down",
        said.format(ends=f"N{ends}", starts=f"N{starts}"),
        f"Write at(N{ends}) for at(N{starts}) in {where}.",
        Sketch(ends, ends, starts),
    )


def foreign(ends: str, starts: str) -> Explanation | None:
    if ends == starts:
        return None
    first, second = (with_names(f"[{one}]")[1:-1] for one in (ends, starts))
    return Explanation(
        "ladder-without-end",
        f"The first ends at {first}, but the second starts at {second}: a ladder without end "
        "cannot be joined with a finite one.",
        "Put both into one attempt, or run one after the other.",
    )


def apart(first: Span, starts: int, where: str) -> Explanation | None:
    start, end = first
    if end == starts:
        return None
    rungs = f"The first ends at N{end}, but the second starts at N{starts}"
    ladder = Sketch(start, end, starts)
    if starts < end:
        return Explanation(
            "jumps-down",
            f"{rungs}: {counted(end - starts, 'rung', 'rungs')} would be skipped silently.",
            f"Write at(N{end}) for at(N{starts}) in {where}, or go down before it with "
            f"{'.end()' if not starts else '.skip()' * (end - starts)}.",
            ladder,
        )
    if not end:
        return Explanation(
            "goes-up",
            f"{rungs}: the second would start a ladder of its own, with short waits.",
            f"Put both into one attempt and retry that: at(N{max(start, starts)}).retry(do(first)"
            ".then(lambda _: second)); where you wrote |, write .retry(do(first).or_else(second)) "
            "instead. Or run one program after the other.",
            ladder,
        )
    higher = starts - end + start
    instead = f"start the first at N{higher}, " if higher <= DEEPEST else ""
    return Explanation(
        "goes-up",
        f"{rungs}: the ladder would start again with short waits.",
        f"Write at(N{end}) for at(N{starts}) in {where}, {instead}or put both into one attempt.",
        ladder,
    )


def joined_without_a_program(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "join" or parsed.method not in (">>", "|") or is_program(parsed.got):
        return None
    step = ".then(lambda _: ...)" if parsed.method == ">>" else ".or_else(...)"
    if not is_program(parsed.wanted) and split(parsed.got).name not in ("Attempt", *COMMANDS):
        return None
    return Explanation(
        "not-a-program",
        f"{parsed.method} joins two programs, but {with_names(parsed.got)} is not one.",
        f"Write do(...){step} for commands and attempts, or start with at(...).",
    )


def bound(parsed: Parsed) -> Explanation | None:
    if parsed.kind not in ("argument", "value"):
        return None
    if parsed.kind == "argument" and parsed.method not in ("bind", "or_bind"):
        return None
    got, wanted = answer(parsed.got), answer(parsed.wanted)
    if not is_program(wanted) or (parsed.kind == "value" and split(wanted).inner[1] not in UNKNOWN):
        return None
    method = parsed.method or "bind"
    then = "then" if method == "bind" else "or_else"
    takes = f".{method}(...) takes a function that makes a program, but this"
    if parsed.kind == "argument" and not is_function(parsed.got):
        fix = f"Write .{method}(lambda _: ...); or join a program with >> or |."
        return Explanation("not-a-program", f"{takes} is {described(parsed.got)}.", fix)
    if not is_program(got):
        fix = f"Write .{then}(...) for a command or an attempt, or start a program with at(...)."
        return Explanation("not-a-program", f"{takes} one returns {got}.", fix)
    said = "The program is at {ends} here, but the function's program starts at {starts}."
    return elsewhere(got, wanted, said, "the function")
