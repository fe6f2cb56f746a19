"""Texts for printing: in one line, without control characters, of limited width."""

from __future__ import annotations

from .._limits.budgets import REFUSED
from .._words.notes import NOTE

UNTRIED = (f"{NOTE} not tried again: a wait of ", REFUSED)


def plain(text: str) -> str:
    r"""Replace characters that are not printable, such as those that control the terminal.

    >>> plain("a\x1b[2J\u202eb")
    'a?[2J?b'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else "?" for each in text)


def described(failure: BaseException | None) -> str:
    """Describe a failure by its message, in one line; the class precedes a message of one word.

    >>> described(ConnectionError("no route to host")), described(KeyError(1))
    ('no route to host', 'KeyError: 1')
    """
    text, kind = " ".join(str(failure).split()), type(failure).__name__
    if " " in text:
        return plain(text)
    return plain(f"{kind}: {text}" if text else kind)


def described_with_reason(failure: Exception) -> str:
    """Describe the failure of a program, with the note on why it was not retried, if it has one."""
    text = described(failure)
    for note in getattr(failure, "__notes__", ()):
        if note.startswith(UNTRIED):
            return f"{text}; {plain(note.removeprefix(NOTE).strip())}"
    return text


def fitted(text: str, cells: int) -> str:
    """Shorten a text to `cells` cells of a terminal, by leaving out its middle.

    >>> fitted("http://localhost/a/long/way/nuts", 20)
    'http:/…long/way/nuts'
    """
    if len(text) <= cells and text.isascii():
        return text
    from rich.cells import cell_len

    if cell_len(text) <= cells:
        return text
    head = text[: cells // 3]
    while cell_len(head) > cells // 3:
        head = head[:-1]
    tail = text[-cells:]
    while cell_len(tail) > cells - 1 - cell_len(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def amount(size: float) -> str:
    """Format a number of bytes.

    >>> amount(5), amount(1234567), amount(999_950), amount(3e9)
    ('5 B', '1.23 MB', '1 MB', '3 GB')
    """
    for unit in ("B", "kB", "MB"):
        if size < 999.5:  # otherwise `.3g` would round it to 1e+03
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
