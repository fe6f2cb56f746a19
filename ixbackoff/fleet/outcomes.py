"""The outcome of a simulation: requests, answers and failures, second by second."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from .._running.traces import Performed


class Second(NamedTuple):
    """The counts of one second of a simulation.

    Attributes:
        asked: requests that began.
        answered: requests that were answered while the client still waited.
        failed: requests that failed, those that took too long included.
        late: of those, the ones that took too long.
        well: programs that ended well.
        gave_up: programs that ended with a failure.
        latency: mean seconds of the answered requests, 0 without any.
        load: the load of the services at the end of the second.
    """

    asked: int
    answered: int
    failed: int
    late: int
    well: int
    gave_up: int
    latency: float
    load: float


class Outcome(NamedTuple):
    """The outcome of a simulation.

    Attributes:
        seconds: the counts of each second.
        clients: the number of clients.
        events: the number of events.
        ended: when the last program ended, seconds of virtual time.
        trace: every command in order, if it was asked for.
        gave_up: the number of clients whose program ended with a failure at least once.
    """

    seconds: tuple[Second, ...]
    clients: int
    events: int
    ended: float
    trace: tuple[Performed, ...]
    gave_up: int = 0

    def total(self, of: Callable[[Second], float]) -> float:
        """The sum over all seconds.

        >>> Outcome((), 1, 0, 0.0, ()).total(lambda second: second.asked)
        0
        """
        return sum(map(of, self.seconds))

    def rate(self, of: Callable[[Second], float], begin: int, end: int) -> float:
        """The mean per second, from the second `begin` to before the second `end`."""
        some = self.seconds[begin:end]
        return sum(map(of, some)) / len(some) if some else 0.0

    def recovered_after(
        self, outage_end: float, steady: float, share: float = 0.9, span: int = 5
    ) -> float | None:
        """The seconds after an outage until programs end well as often as before.

        From then on to the end, in any `span` seconds in a row at least `share` of the steady rate
        ends well. `None`, if that never comes about, or fewer than `span` seconds are left.

        >>> from ixbackoff.fleet import Second
        >>> seconds = [Second(0, 0, 0, 0, well, 0, 0.0, 0.0) for well in (9, 9, 0, 0, 1, 9, 9, 8)]
        >>> outcome = Outcome(tuple(seconds), 1, 0, 0.0, ())
        >>> outcome.recovered_after(outage_end=4, steady=9, span=2)
        1.0

        Args:
            outage_end: the second at which the service was back.
            steady: programs that ended well per second before the outage.
            share: the part of it that is enough.
            span: seconds that are taken together, since single ones vary.

        Raises:
            ValueError: `outage_end` is not within the simulation, or `span` is not 1 or more.
        """
        if not 0 <= outage_end <= len(self.seconds) or span < 1:
            raise ValueError(
                f"outage_end={outage_end!r}, span={span!r}: give an end within the "
                f"{len(self.seconds)} s of the simulation, and a span of 1 or more."
            )
        first, last = ceil(outage_end), len(self.seconds) - span
        recovered = last + 1
        while recovered > first:
            window = self.seconds[recovered - 1 : recovered - 1 + span]
            if sum(second.well for second in window) < share * steady * span:
                break
            recovered -= 1
        return None if recovered > last else float(recovered - outage_end)


class Tally:
    """The counts of the present second, and those of the seconds before."""

    __slots__ = (
        "answered",
        "asked",
        "failed",
        "gave_up",
        "late",
        "latency",
        "seconds",
        "well",
    )

    def __init__(self) -> None:
        self.seconds: list[Second] = []
        self.begin()

    def begin(self) -> None:
        """Begin a second."""
        self.asked = self.answered = self.failed = self.late = self.well = self.gave_up = 0
        self.latency = 0.0

    def end(self, load: float) -> None:
        """End the second, with the present load of the services."""
        latency = self.latency / self.answered if self.answered else 0.0
        self.seconds.append(
            Second(
                self.asked,
                self.answered,
                self.failed,
                self.late,
                self.well,
                self.gave_up,
                latency,
                load,
            )
        )
        self.begin()

    def rest(self, seconds: int, load: float) -> None:
        """Add seconds in which nothing happens any more."""
        self.seconds += [Second(0, 0, 0, 0, 0, 0, 0.0, load)] * seconds
