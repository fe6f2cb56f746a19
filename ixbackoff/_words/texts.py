"""Texts as they may be shown on a terminal and in a log."""

from __future__ import annotations

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters (ESC and C1 among them), those that turn the direction of the text or are not
seen, halves of pairs, and what begins another line."""


def printable(text: str) -> str:
    """Return a text in which each character that a terminal might obey is its escape.

    >>> printable("acorn é")
    'acorn é'
    >>> print(printable("one\\ntwo \\x1b[31m"))
    one\\ntwo \\x1b[31m
    """
    if text.isprintable():
        return text
    from unicodedata import category  # a library of its own, which few texts need

    return "".join(
        character.encode("unicode_escape").decode() if category(character) in HIDDEN else character
        for character in text
    )
