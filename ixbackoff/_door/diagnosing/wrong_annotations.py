"""Explanations of declared types that differ from the type of the program."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..reading.printed import UNKNOWN, depth, is_program, members, span_of, split, with_names
from ..reading.wordings import Parsed
from .explanation import Explanation
from .ladder_drawing import Sketch

Inner = tuple[str, ...]


class Difference(NamedTuple):
    text: str
    fix: str


def another_program(parsed: Parsed) -> Explanation | None:
    if not (is_program(parsed.got) and is_program(parsed.wanted)):
        return None
    got, wanted = split(parsed.got).inner, split(parsed.wanted).inner
    rungs = [*rung_differs(got, wanted, 0, "starts"), *rung_differs(got, wanted, 1, "ends")]
    row = row_differs(got, wanted)
    differs = [*rungs, *row] or value_differs(got, wanted)
    if not differs:
        return None
    span, ends = span_of(parsed.got), depth(wanted[1]) if len(wanted) > 1 else None
    ladder = None
    if span is not None and ends is not None and span.end != ends:
        ladder = Sketch(*span, ends, "the type says here")
    return Explanation(
        "row-too-narrow" if row and not rungs else "another-program",
        f"This program {', and '.join(one.text for one in differs)}.",
        " ".join(one.fix for one in differs),
        ladder,
    )


def rung_differs(got: Inner, wanted: Inner, at: int, verb: str) -> list[Difference]:
    if len(got) <= at or len(wanted) <= at or got[at] == wanted[at]:
        return []
    if depth(got[at]) is not None and depth(got[at]) == depth(wanted[at]):
        return []
    inferred = len(wanted) > 2 and wanted[2] in UNKNOWN
    if wanted[at] in UNKNOWN and (inferred or wanted[at] not in ("Nat", "Never")):
        return []
    here, there = (with_names(f"[{one[at]}]")[1:-1] for one in (got, wanted))
    fix = advice(verb, depth(got[at]), depth(wanted[at]), there)
    return [Difference(f"{verb} at {here}, not at {there}", fix)]


def row_differs(got: Inner, wanted: Inner) -> list[Difference]:
    if len(wanted) == 3:  # pyrefly leaves the default out
        wanted = (*wanted, "Standard")
    if len(got) < 4 or len(wanted) < 4 or (wanted[3] in UNKNOWN and wanted[3] != "Never"):
        return []
    more = [one for one in members(got[3]) if one not in members(wanted[3])]
    if not more:
        return []
    standard = members(wanted[3]) == members("Standard")  # the default, so it is not declared
    row = " | ".join(members(got[3]) if standard else [*members(wanted[3]), *more])
    text = f"may issue {' and '.join(more)}, which the type does not name"
    return [Difference(text, f"Declare the commands {row}.")]


def value_differs(got: Inner, wanted: Inner) -> list[Difference]:
    if len(got) < 3 or len(wanted) < 3 or got[2] == wanted[2]:
        return []
    fix = "Change the value with .map(...), or declare another type."
    return [Difference(f"has the value {got[2]}, not {wanted[2]}", fix)]


def advice(verb: str, here: int | None, there: int | None, name: str) -> str:
    """Advise how to get from the rung `here` to the expected one, `there`, called `name`."""
    if verb == "starts":
        return f"Start it with at({name}), or declare another type."
    if here is None or there is None:
        return "Declare the rung where it ends."
    if here > there:
        down = ".end()" if not there else ".skip()" * (here - there)
        return f"Go down with {down}, or declare N{here}."
    return (
        f"Declare N{here}. A loop cannot repeat a step that waits, because steps only go down: "
        "write .retry(...) instead."
    )


def another_rung(parsed: Parsed) -> Explanation | None:
    pattern = r"type\[(.*)\]"
    got, wanted = re.fullmatch(pattern, parsed.got), re.fullmatch(pattern, parsed.wanted)
    if parsed.kind != "value" or got is None or wanted is None:
        return None
    given = depth(got[1])
    if given is None or not re.match(r"Succ|Z$|Nat|Never|N\d+$", wanted[1]):
        return None
    return Explanation(
        "another-program",
        f"The rung here is N{given}, but the type says {with_names(f'[{wanted[1]}]')[1:-1]}.",
        f"Declare type[N{given}], or give the rung that is declared.",
    )


def not_a_type(parsed: Parsed) -> Explanation | None:
    generic = parsed.owner or parsed.method
    if parsed.kind == "parameter" and generic in ("Program", "Succ", "Rung"):
        return Explanation(
            "not-a-rung",
            f"{parsed.got} is not a rung, so {generic}[...] cannot hold it.",
            "Write one of N0 to N20; in a generic function, TypeVar('N', bound=Nat).",
        )
    if parsed.kind == "bare" and parsed.owner == "Succ":
        return Explanation(
            "not-a-rung",
            "Succ alone is the rung above an unknown one.",
            "Write one of N0 to N20.",
        )
    if parsed.kind in ("bare", "count") and parsed.owner == "Program":
        return Explanation(
            "another-program",
            "Program takes the rungs of its start and its end, its value and its commands.",
            "Write Program[N3, N0, str, Download | Delay].",
        )
    return None
