"""Texts that are safe to print on a terminal and in a log."""

from __future__ import annotations

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The categories of control characters (such as ESC), of invisible characters and marks of text
direction, of surrogates, and of line and paragraph separators."""


def printable(text: str) -> str:
    """Return a text with an escape for each character that a terminal might obey."""
    if text.isprintable():
        return text
    from unicodedata import category  # only few texts need this C extension

    return "".join(
        character.encode("unicode_escape").decode() if category(character) in HIDDEN else character
        for character in text
    )
