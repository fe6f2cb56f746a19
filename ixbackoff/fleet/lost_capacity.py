"""`Outage`: an interval in which services have lost their capacity, or a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .._words.commands import Misuse


class Outage(NamedTuple):
    """An interval in which services are stopped, or slower.

    Attributes:
        start: the second at which it begins.
        length: its length in seconds.
        lost: the share of the capacity that is lost, above 0: with 1 the services are stopped, with
            0.75 they work at a quarter of their speed.
    """

    start: float
    length: float
    lost: float = 1.0

    @property
    def span(self) -> tuple[float, float]:
        """The seconds at which it begins and ends.

        >>> Outage(15.0, 20.0).span
        (15.0, 35.0)
        """
        return self.start, self.start + self.length


def checked_outages(outages: Iterable[Outage], seconds: float) -> list[Outage]:
    over = 0.0
    given: list[Outage] = [*outages]
    if not all(isinstance(outage, Outage) for outage in given):
        raise Misuse(f"outages={given!r}: give a list of Outage(start, length).")
    given.sort()
    for outage in given:
        start, end = outage.span
        if not 0 <= start < end <= seconds:
            raise ValueError(
                f"{outage!r} is not within the {seconds:g} s of the simulation: give a start of 0 "
                f"or more, a length above 0, and an end of {seconds:g} s at most."
            )
        if not 0 < outage.lost <= 1:
            raise ValueError(f"{outage!r}: give the lost share, above 0, 1 at most.")
        if start < over:
            raise ValueError(f"{outage!r} begins during an earlier outage: join the two.")
        over = end
    return given
