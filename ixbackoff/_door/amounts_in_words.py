"""Seconds and counts in words."""

from __future__ import annotations

from math import inf


def spoken(seconds: float) -> str:
    """Write a duration in its two largest units.

    >>> spoken(0.25), spoken(90), spoken(7200), spoken(1048575), spoken(float("inf"))
    ('0.25 s', '1 min 30 s', '2 h', '12 d 3 h', 'for ever')
    """
    if seconds == inf:
        return "for ever"
    if seconds < 59.5:
        return f"{seconds:.6g} s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    while not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number} {unit}" for number, unit in parts[:2] if number)


def counted(number: float | None, one: str, several: str) -> str:
    """Write a count with its noun.

    >>> counted(1, "try", "tries"), counted(4, "try", "tries"), counted(None, "try", "tries")
    ('1 try', '4 tries', 'as many tries as its functions decide')
    """
    if number is None:
        return f"as many {several} as its functions decide"
    if number == inf:
        return f"{several} without end"
    return f"{number:g} {one if number == 1 else several}"
