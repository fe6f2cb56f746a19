"""Explanations of arguments and names that are not a rung, or not the rung of the program."""

from __future__ import annotations

import re

from ..._words.rungs import DEEPEST
from .explanation import Explanation, Sketch
from .printed import depth, described, is_function, shown
from .wordings import Parsed

NO_NUMBER = Explanation(
    "not-a-rung",
    "backoff takes the number of waits, as a rung, before it decorates a function.",
    "Write @backoff(N3).",
)


def not_a_rung(parsed: Parsed) -> Explanation | None:
    name = method_of(parsed)
    if parsed.sort == "parameter" and name == "backoff":
        return NO_NUMBER
    kind = shown(parsed.wanted).name
    of_backoff = kind == "type" and (name == "backoff" or parsed.wanted == "type[Nat]")
    if parsed.sort not in ("argument", "value") or not (kind == "Rung" or of_backoff):
        return None
    wanted = depth(shown(parsed.wanted).inner[0]) if shown(parsed.wanted).inner else None
    given = re.fullmatch(r"type\[(.*)\]", parsed.it)
    it = depth(given[1] if given else parsed.it)
    if wanted is not None and it is not None:
        return Explanation(
            "goes-up" if it > wanted else "jumps-down",
            f"The program is at N{wanted} here, not at N{it}.",
            f"Write N{wanted} for N{it}, as in at(N{wanted}).",
            Sketch(wanted, wanted, it),
        )
    if name not in ("at", "backoff"):
        name = ""
    if is_function(parsed.it) and name != "at":
        return NO_NUMBER
    number = re.search(r"\d+", parsed.it)
    rung = f"N{number[0]}" if number and int(number[0]) <= DEEPEST else "N3"
    return Explanation(
        "not-a-rung",
        f"A rung is one of N0 to N20, or FOREVER, and this is {described(parsed.it)}.",
        f"Write {name}({rung}), which waits {rung[1:]} times at most."
        if name
        else "Give a rung by its name, such as N3.",
    )


def unknown_rung(parsed: Parsed) -> Explanation | None:
    """Explain the name of a rung above the highest one."""
    number = re.fullmatch(r"N(\d+)", parsed.it) if parsed.sort == "name" else None
    if number is None or int(number[1]) <= DEEPEST:
        return None
    return Explanation(
        "not-a-rung",
        f"The deepest finite ladder is N{DEEPEST}, so {parsed.it} does not exist.",
        f"Write N{DEEPEST}, or FOREVER with within=... for tries without end.",
    )


def method_of(parsed: Parsed) -> str:
    """Return the name of the function; pyright names it only in its type variables."""
    variable = re.search(r"@(\w+)", parsed.wanted)
    return parsed.method or (variable[1] if variable else "")
