"""Explanations of rungs: of steps impossible on a rung, and of values that are not rungs."""

from __future__ import annotations

import re

from ..._words.rungs import DEEPEST
from ..amounts_in_words import counted
from ..reading.printed import (
    FOREVER,
    Span,
    depth,
    described,
    is_function,
    is_program,
    span_of,
    split,
    with_names,
)
from ..reading.wordings import DOWN, RUNS, Parsed
from .explanation import Explanation
from .ladder_drawing import Sketch


def sentence_of_an_overload(parsed: Parsed) -> Explanation | None:
    """Explain a missing argument that accepts no value: its name is a sentence for the user."""
    if parsed.kind != "missing":
        return None
    if parsed.argument.startswith("no_wait_is_left"):
        return no_wait_left(parsed.method, None)
    if parsed.argument.startswith("it_is_open"):
        return open_program(None)
    if parsed.argument.startswith("a_command_in_it_is_not"):
        return NOT_REPEATABLE
    if parsed.argument.startswith("only_retry_resume"):
        return without_end(f".{parsed.method}()" if parsed.method else "this step")
    return None


def wrong_self(parsed: Parsed) -> Explanation | None:
    """Explain a step that its program's type forbids, by the types that ty and pyrefly print."""
    if parsed.kind == "argument" and parsed.wanted.startswith("Attempt[Repeatable["):
        return NOT_REPEATABLE
    if parsed.kind != "argument" or not is_program(parsed.got) or not is_program(parsed.wanted):
        return None
    ends = split(parsed.got).inner[1]
    if parsed.method in RUNS:
        return open_program(span_of(parsed.got))
    if parsed.method in DOWN:
        if ends == FOREVER:
            return without_end(f".{parsed.method}()")
        span = span_of(parsed.got)
        return None if span is None or span.end else no_wait_left(parsed.method, span)
    return None


NOT_REPEATABLE = Explanation(
    "not-repeatable",
    "A hedge may issue each command twice, but a command here is not Repeatable.",
    "If a second copy does no harm, derive the command from Repeatable, or make it with "
    "read(...). Write other commands, limits, breakers and gates after .hedged(...).",
)


def uncertain(parsed: Parsed) -> Explanation | None:
    """Explain mypy's error about a program that may end on one of several rungs."""
    inner = split(parsed.got).inner
    if parsed.kind != "self" or not is_program(parsed.got) or len(inner) < 2:
        return None
    ends = with_names(f"[{inner[1]}]")[1:-1]
    if " | " in ends:
        return Explanation(
            "another-program",
            f"This program ends at {ends.replace(' | ', ' or ')}, so .{parsed.method}(...) does "
            "not fit every way through it.",
            "Let all branches end on one rung: go down with .skip() in the higher ones.",
        )
    span = span_of(parsed.got)
    if span is not None:
        return open_program(span) if parsed.method in RUNS else no_wait_left(parsed.method, span)
    return Explanation(
        "no-wait-left",
        f"The program ends at {ends}, which may be N0, where no wait is left.",
        "Declare a program that ends at Succ[N], with N = TypeVar('N', bound=Nat).",
    )


def no_wait_left(
    method: str, span: Span | None, by_steps: bool | None = None, in_a_loop: bool = False
) -> Explanation:
    """Explain a wait at N0; `span` is the start and the end of the program, if known.

    `by_steps` says that steps, and no retry, led down to N0; it is `None` if that is not known.
    """
    step = f".{method}()" if method else "this step"
    began = "" if span is None else f", which started at N{span.start},"
    if by_steps is False or (span is not None and span.start == DEEPEST):
        fix = f"Leave {step} out: .retry(...) and .end() go down to N0 from any rung."
    elif in_a_loop:
        fix = "Write .retry(...): a loop cannot repeat a step that goes down."
    elif by_steps is None or span is None:
        fix = f"Leave {step} out, or start on a higher rung if no .retry(...) is before it."
    else:
        fix = f"Start it at N{span.start + 1}, or leave {step} out."
    return Explanation(
        "no-wait-left",
        f"No wait is left: {step} goes one rung down, and the program{began} is at N0.",
        fix,
        None if span is None else Sketch(span.start, 0),
    )


def open_program(span: Span | None) -> Explanation:
    ends, left = "above N0", "it could still wait"
    if span is not None:
        ends, left = f"at N{span.end}", f"{counted(span.end, 'wait', 'waits')} would be left"
    return Explanation(
        "open-program",
        f"A program runs only if it ends at N0, but this one ends {ends}: {left}.",
        "End it with .end(), or go down with .retry(...).",
        None if span is None else Sketch(*span),
    )


def without_end(step: str) -> Explanation:
    return Explanation(
        "ladder-without-end",
        f"A ladder without end has no next rung, so {step} cannot go down from FOREVER.",
        "Leave it with .retry(...), .resume(...), .retry_with(...) or .end(); or start at N20.",
    )


NO_NUMBER = Explanation(
    "not-a-rung",
    "backoff takes the number of waits, as a rung, before it decorates a function.",
    "Write @backoff(N3).",
)


def not_a_rung(parsed: Parsed) -> Explanation | None:
    variable = re.search(r"@(\w+)", parsed.wanted)  # as in `N@at` of pyright
    name = parsed.method or (variable[1] if variable else "")
    if parsed.kind == "parameter" and name == "backoff":
        return NO_NUMBER
    kind = split(parsed.wanted).name
    of_on = "type[Exception]" in parsed.wanted
    of_backoff = kind == "type" and (name == "backoff" or parsed.wanted == "type[Nat]")
    if parsed.kind not in ("argument", "value") or not (kind == "Rung" or of_backoff) or of_on:
        return None
    wanted = depth(split(parsed.wanted).inner[0]) if split(parsed.wanted).inner else None
    given = re.fullmatch(r"type\[(.*)\]", parsed.got)
    got = depth(given[1] if given else parsed.got)
    if wanted is not None and got is not None:
        return Explanation(
            "goes-up" if got > wanted else "jumps-down",
            f"The program is at N{wanted} here, not at N{got}.",
            f"Write N{wanted} for N{got}, as in at(N{wanted}).",
            Sketch(wanted, wanted, got),
        )
    if name not in ("at", "backoff"):
        name = ""
    if is_function(parsed.got) and name != "at":
        return NO_NUMBER
    number = re.search(r"\d+", parsed.got)
    rung = f"N{number[0]}" if number and int(number[0]) <= DEEPEST else "N3"
    return Explanation(
        "not-a-rung",
        f"A rung is one of N0 to N20, or FOREVER, but this is {described(parsed.got)}.",
        f"Write {name}({rung}), which waits {rung[1:]} times at most."
        if name
        else "Give a rung by its name, such as N3.",
    )


def unknown_rung(parsed: Parsed) -> Explanation | None:
    number = re.fullmatch(r"N(\d+)", parsed.got) if parsed.kind == "name" else None
    if number is None or int(number[1]) <= DEEPEST:
        return None
    return Explanation(
        "not-a-rung",
        f"The deepest finite ladder is N{DEEPEST}, so {parsed.got} does not exist.",
        f"Write N{DEEPEST}, or FOREVER with within=... for any number of tries in that time.",
    )
