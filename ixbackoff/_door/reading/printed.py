"""Types as type checkers print them: their parts, and the names of their rungs."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

FOREVER = "Forever"
UNKNOWN = frozenset(("Never", "Unknown", "Nat", "Any", "Divergent", "@_"))
"""The names that a checker prints for a type that it has not inferred."""


class TypeParts(NamedTuple):
    """The parts of a type: its name without the module, and its arguments."""

    name: str
    inner: tuple[str, ...]


class Span(NamedTuple):
    """The rungs where a program starts and ends, as numbers of waits."""

    start: int
    end: int


def depth(text: str) -> int | None:
    """Return the number of a rung; `None` if the text is not a rung.

    >>> depth("Succ[Succ[Z]]"), depth("N3"), depth("Z"), depth("Never"), depth("Succ[N@wait]")
    (2, 3, 0, None, None)
    """
    number = 0
    text = text.strip()
    while text.startswith("Succ[") and text.endswith("]"):
        text, number = text[5:-1].strip(), number + 1
    if text == "Z":
        return number
    name = re.fullmatch(r"N(\d+)", text)
    return number + int(name[1]) if name else None


def parts(text: str, mark: str) -> list[str]:
    """Split a text at the marks outside of all brackets.

    >>> parts("dict[str, int], None", ",")
    ['dict[str, int]', 'None']
    """
    found: list[str] = []
    level = begin = 0
    for place, letter in enumerate(text):
        if letter == ">" and text[place - 1] == "-":
            continue
        level += (letter in "[({") - (letter in "])}")
        if letter == mark and not level:
            found.append(text[begin:place].strip())
            begin = place + 1
    return [*found, text[begin:].strip()]


@cache
def split(text: str) -> TypeParts:
    """Split a type into its parts.

    >>> split("ixbackoff.Program[Succ[Z], Z, None, Download | Delay]").inner
    ('Succ[Z]', 'Z', 'None', 'Download | Delay')
    """
    name, bracket, rest = text.strip().partition("[")
    inner = tuple(parts(rest[:-1], ",")) if bracket and rest.endswith("]") else ()
    return TypeParts(name.rpartition(".")[2], inner)


def members(row: str) -> list[str]:
    """List the commands of a row.

    >>> members("Download | Delay"), members("Never")
    (['Download', 'Delay'], [])
    """
    if row in UNKNOWN:
        return []
    if row == "Standard":
        row = "Download | Upload | Delay | Log | Throw"
    return parts(row, "|")


def span_of(text: str) -> Span | None:
    name, inner = split(text)
    if name != "Program" or len(inner) < 2:
        return None
    start, end = depth(inner[0]), depth(inner[1])
    return None if start is None or end is None else Span(start, end)


def is_program(text: str) -> bool:
    return split(text).name == "Program" and bool(split(text).inner)


def is_function(text: str) -> bool:
    return "->" in text or text.startswith(("Callable[", "def ", "overload", "Overload["))


def answer(text: str) -> str:
    """Return the return type of a function; any other type is returned as it is.

    >>> answer("Callable[[None], Log]"), answer("(tag: str) -> Log"), answer("Log")
    ('Log', 'Log', 'Log')
    """
    if text.startswith("Callable[") and split(text).inner:
        return split(text).inner[-1]
    arrow = text.rfind(") -> ")
    return text[arrow + 5 :] if arrow >= 0 else text


def described(text: str) -> str:
    """Describe a value by its type.

    >>> described("type[Log]"), described("(str) -> int"), described("Literal[3]")
    ('the class Log', 'a function', '3')
    """
    kind = re.fullmatch(r"type\[(.*)\]", text)
    if kind is not None and depth(kind[1]) is None and "[" not in kind[1]:
        return f"the class {kind[1]}"
    if is_function(text) and not text.startswith("Callable["):
        return "a function"
    return with_names(text)


def with_names(text: str) -> str:
    """Replace the rungs in a text by their names.

    >>> with_names("Program[Succ[Succ[Z]], Z, None, Delay]"), with_names("Forever")
    ('Program[N2, N0, None, Delay]', 'FOREVER')
    """

    def name(match: re.Match[str]) -> str:
        rungs = match[0].count("Succ[")
        return f"N{rungs}" + "]" * (match[0].count("]") - rungs)

    text = re.sub(r"\bLiteral\[([^\[\]]*)\]", r"\1", text)
    text = re.sub(r"\b(?:Succ\[)+Z\]+", name, text)
    return re.sub(r"(?<=[\[ ])Z(?=[,\]])", "N0", re.sub(r"\bForever\b", "FOREVER", text))
