"""Explanations of arguments and names that are not a rung, or not the rung of the program."""

from __future__ import annotations

import re

from ..._words.rungs import DEEPEST
from .explanation import Explanation, Sketch
from .printed import depth, described, is_function, split
from .wordings import Parsed

NO_NUMBER = Explanation(
    "not-a-rung",
    "backoff takes the number of waits, as a rung, before it decorates a function.",
    "Write @backoff(N3).",
)


def not_a_rung(parsed: Parsed) -> Explanation | None:
    name = method_of(parsed)
    if parsed.kind == "parameter" and name == "backoff":
        return NO_NUMBER
    kind = split(parsed.wanted).name
    of_backoff = kind == "type" and (name == "backoff" or parsed.wanted == "type[Nat]")
    if parsed.kind not in ("argument", "value") or not (kind == "Rung" or of_backoff):
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
        f"Write N{DEEPEST}, or FOREVER with within=... for tries without end.",
    )


def method_of(parsed: Parsed) -> str:
    """Return the name of the function; pyright names it only in its type variables."""
    variable = re.search(r"@(\w+)", parsed.wanted)
    return parsed.method or (variable[1] if variable else "")
