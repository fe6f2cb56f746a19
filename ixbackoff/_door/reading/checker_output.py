"""The errors in the output of a type checker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FILE = r"(?P<file>(?:[A-Za-z]:)?[^:\s][^:]*?)"
AT = r":(?P<line>\d+)(?::(?P<column>\d+))?(?::\d+:\d+)?"
MYPY = re.compile(rf"{FILE}{AT}: (?P<severity>error|note|warning):(?: (?P<message>.*))?")
PATH = re.compile(rf"{FILE}{AT}:")
TY_CONCISE = re.compile(
    rf"{FILE}{AT}: (?P<severity>error|warning)\[(?P<code>[a-z-]+)\] (?P<message>.*)"
)
PYRIGHT = re.compile(rf"\s+{FILE}{AT} - (?P<severity>error|warning|information): (?P<message>.*)")
TY = re.compile(r"(?P<severity>error|warning)\[(?P<code>[a-z-]+)\]: (?P<message>.*)")
PYREFLY = re.compile(r" ?(?P<severity>ERROR|WARN|INFO) (?P<message>.*)")
PYREFLY_SHORT = re.compile(
    rf"{FILE}:(?P<line>\d+):(?P<column>\d+)(?:-\d+)?(?::?\d+-\d+)?: (?P<message>.*)"
)
ARROW = re.compile(rf"\s*--> {FILE}{AT}$")
CODE = re.compile(r"(?P<message>.*?) +\[(?P<code>[a-z-]+)\]$", re.DOTALL)
RULE = re.compile(r"(?P<message>.*?) \((?P<code>report\w+)\)$", re.DOTALL)
COLOURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\|\x1b\(B")
SUMMARY = re.compile(r"(?:Found \d+ |Success: )")
SUCCESS = re.compile(r"(?:\x1b\[[0-9;]*m)*(?:Success: |0 errors, |All checks passed!)")
LONGEST = 60  # lines in a wrapped message of mypy, at most


class Error(NamedTuple):
    file: str
    line: int
    column: int  # the column, from 1; 0 if the checker does not report it
    message: str
    code: str  # the checker's code for the error
    lines: tuple[str, ...]  # the lines of the error in the output


def errors_in(lines: Sequence[str]) -> Iterator[Error | str]:
    """Yield the errors in the output of any of the five checkers, and other lines unchanged."""
    plain = [COLOURS.sub("", line).rstrip("\r\n") for line in lines]
    here = 0
    while here < len(lines):
        read = (one(plain, here) for one in (of_mypy, of_pyright, of_ty, of_pyrefly))
        found, end = next(filter(None, read), (None, here + 1))
        if found is None:
            yield lines[here]
        else:
            yield found._replace(lines=tuple(lines[here:end]))
        here = end


def error(match: re.Match[str], message: str, code: str) -> Error:
    column = int(match["column"] or 0)
    return Error(match["file"], int(match["line"]), column, message.strip(), code, ())


def of_mypy(plain: Sequence[str], here: int) -> tuple[Error, int] | None:
    """Parse an error of mypy or zuban with its notes, or a concise error of ty."""
    concise = TY_CONCISE.fullmatch(plain[here])
    if concise is not None:
        if concise["severity"] != "error":
            return None
        return error(concise, concise["message"], concise["code"]), here + 1
    head, begun = head_of(plain, here)
    if head is None or head["severity"] != "error":
        return None
    text, end, wrapped = unwrapped(plain, begun, head["message"] or "")
    code = CODE.fullmatch(text)
    found = error(head, code["message"] if code else text, code["code"] if code else "")
    while end < len(plain):
        note, next_end = head_of(plain, end)
        if note is None and (not wrapped or SUMMARY.match(plain[end])):
            break
        place = ("note", head["file"], head["line"])
        if note and (note["severity"], note["file"], note["line"]) != place:
            break
        end = next_end
    return found, end


def head_of(plain: Sequence[str], here: int) -> tuple[re.Match[str] | None, int]:
    """Match the first line of an error of mypy; return the match, and the number of the next line.

    In pretty output a long path is on a line of its own.
    """
    head = MYPY.fullmatch(plain[here])
    if head is None and PATH.fullmatch(plain[here]) and here + 1 < len(plain):
        return MYPY.fullmatch(f"{plain[here]} {plain[here + 1]}"), here + 2
    return head, here + 1


def unwrapped(plain: Sequence[str], begun: int, message: str) -> tuple[str, int, bool]:
    """Join a message that mypy may have wrapped over several lines.

    Return the message, the number of the line after it, and whether it has more than one line. A
    source line that mypy prints below the message counts as a line of it, but is not returned.
    """
    end, text = begun, message
    while not CODE.fullmatch(text) and end < min(begun + LONGEST, len(plain)):
        if head_of(plain, end)[0] or SUMMARY.match(plain[end]) or not plain[end].strip():
            break
        text, end = f"{text.rstrip()} {plain[end]}", end + 1
    if not CODE.fullmatch(text):
        return message, begun, False
    snippet = end + 1 < len(plain) and re.fullmatch(r"\s{4,}\^~*", plain[end + 1])
    if snippet and plain[end].startswith("    "):
        return text, end + 2, True
    return text, end, end > begun


def of_pyright(plain: Sequence[str], here: int) -> tuple[Error, int] | None:
    head = PYRIGHT.fullmatch(plain[here])
    if head is None or head["severity"] != "error":
        return None
    end = here + 1
    while end < len(plain) and re.match(r"\s{4}", plain[end]) and not PYRIGHT.match(plain[end]):
        end += 1
    text = "\n".join((head["message"], *plain[here + 1 : end]))
    rule = RULE.fullmatch(text)
    return error(head, rule["message"] if rule else text, rule["code"] if rule else ""), end


def of_ty(plain: Sequence[str], here: int) -> tuple[Error, int] | None:
    """Parse an error of ty with its source, up to the empty line after it."""
    head = TY.fullmatch(plain[here])
    arrow = ARROW.fullmatch(plain[here + 1]) if here + 1 < len(plain) else None
    if head is None or arrow is None or head["severity"] != "error":
        return None
    end = here + 1
    while end < len(plain) and plain[end]:
        end += 1
    if operation := re.search(r"`(\S+)` operation", head["message"]):
        text = between(operation[1], plain[here:end])
        return error(arrow, text, head["code"]), min(end + 1, len(plain))
    marks = (re.search(r"\^+ (.+)", line) for line in plain[here:end])
    said = next((mark[1] for mark in marks if mark), "")
    return error(arrow, f"{head['message']}: {said}", head["code"]), min(end + 1, len(plain))


def between(operator: str, lines: Sequence[str]) -> str:
    """Write an operator with its operands in one line; ty prints the right operand first."""
    types = [one[1] for line in lines if (one := re.search(r"(?:Has|have) type `(.+)`", line))]
    if not types:
        return f"Unsupported `{operator}` operation"
    return (
        f"Operator `{operator}` is not supported between objects of type `{types[-1]}` and "
        f"`{types[0]}`"
    )


def of_pyrefly(plain: Sequence[str], here: int) -> tuple[Error, int] | None:
    head = PYREFLY.fullmatch(plain[here])
    if head is None or head["severity"] != "ERROR":
        return None
    code = CODE.fullmatch(head["message"])
    text, name = (code["message"], code["code"]) if code else (head["message"], "")
    short = PYREFLY_SHORT.fullmatch(text)
    if short is not None:
        return error(short, short["message"], name), here + 1
    arrow = ARROW.fullmatch(plain[here + 1]) if here + 1 < len(plain) else None
    if arrow is None:
        return None
    end = here + 2
    while end < len(plain) and not PYREFLY.match(plain[end]):
        end += 1
    more = [line for line in plain[here + 2 : end] if not re.match(r"\s*\d* *\|", line)]
    return error(arrow, "\n".join((text, *more)), name), end
