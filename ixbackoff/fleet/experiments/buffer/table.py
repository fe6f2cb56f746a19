"""The files that were consumed, and the collisions, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...seeded import Numbers
from .model import Buffered

HEAD = """\
                 MB/s consumed          files consumed                collisions
producers  fixed aloha ethernet   fixed aloha ethernet    fixed  aloha  ethernet"""


def table(results: Sequence[Buffered]) -> str:
    """A table of the results of `buffered`.

    >>> print(table([]).splitlines()[1])
    producers  fixed aloha ethernet   fixed aloha ethernet    fixed  aloha  ethernet
    """
    lines = [HEAD]
    for many in dict.fromkeys(one.producers for one in results):
        fixed, aloha, ethernet = [one for one in results if one.producers == many]
        rates = [one.megabytes / len(one.outcome.seconds) for one in (fixed, aloha, ethernet)]
        lines.append(
            f"{many:9}  {rates[0]:5.2f} {rates[1]:5.2f} {rates[2]:8.2f}   "
            f"{fixed.files:5} {aloha.files:5} {ethernet.files:8}   "
            f"{fixed.collisions:6} {aloha.collisions:6}  {ethernet.collisions:8}"
        )
    return "\n".join(lines)


def numbers(results: Sequence[Buffered]) -> Numbers:
    """The numbers of `buffered` that depend on the seed."""
    return {
        f"{one.producers:9}  {one.kind:8}  {name}": number
        for one in results
        for name, number in {"files consumed": one.files, "collisions": one.collisions}.items()
    }
