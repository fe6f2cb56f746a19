"""`Outcome`: the requests, answers and failures of a simulation, second by second."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from .._running.traces import Performed


class Second(NamedTuple):
    """The counts of one second of a simulation.

    Attributes:
        asked: the requests that clients sent.
        answered: the requests answered while the client waited.
        failed: the failed requests, including requests that took too long.
        late: the failed requests that took too long.
        well: the runs that succeeded.
        gave_up: the runs that failed.
        latency: the mean seconds of the answered requests; 0 if there are none.
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
        ended: the time at which the last run ended, seconds of virtual time.
        trace: every command in order; empty unless `trace=True` was given.
        gave_up: the number of clients that had a failed run.
    """

    seconds: tuple[Second, ...]
    clients: int
    events: int
    ended: float
    trace: tuple[Performed, ...]
    gave_up: int = 0

    def total(self, of: Callable[[Second], float]) -> float:
        """Return the sum over all seconds.

        >>> Outcome((), 1, 0, 0.0, ()).total(lambda second: second.asked)
        0
        """
        return sum(map(of, self.seconds))

    def rate(self, of: Callable[[Second], float], begin: int, end: int) -> float:
        """Return the mean per second, from the second `begin` to the second before `end`."""
        some = self.seconds[begin:end]
        return sum(map(of, some)) / len(some) if some else 0.0

    def recovered_after(
        self, outage_end: float, steady: float, share: float = 0.9, span: int = 5
    ) -> float | None:
        """Return the seconds after an outage until runs succeed as often as before.

        From then on to the end, in any `span` seconds in a row, at least `share` of the steady rate
        succeeds. `None` if that does not happen, or fewer than `span` seconds are left.

        >>> from ixbackoff.fleet import Second
        >>> seconds = [Second(0, 0, 0, 0, well, 0, 0.0, 0.0) for well in (9, 9, 0, 0, 1, 9, 9, 8)]
        >>> outcome = Outcome(tuple(seconds), 1, 0, 0.0, ())
        >>> outcome.recovered_after(outage_end=4, steady=9, span=2)
        1.0

        Args:
            outage_end: the second at which the outage ended.
            steady: the runs that succeeded per second before the outage.
            share: the share of the steady rate that is enough.
            span: the number of seconds that are summed: the counts of single seconds vary.

        Raises:
            ValueError: `outage_end` is not within the simulation, or `span` is less than 1.
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
    """The counts of the current second and of earlier seconds."""

    def __init__(self) -> None:
        self.seconds: list[Second] = []
        self.begin()

    def begin(self) -> None:
        self.asked = self.answered = self.failed = self.late = self.well = self.gave_up = 0
        self.latency = 0.0

    def end(self, load: float) -> None:
        latency = self.latency / self.answered if self.answered else 0.0
        counts = self.asked, self.answered, self.failed, self.late, self.well, self.gave_up
        self.seconds.append(Second(*counts, latency, load))
        self.begin()

    def rest(self, seconds: int, load: float) -> None:
        """Add seconds without events."""
        self.seconds += [Second(0, 0, 0, 0, 0, 0, 0.0, load)] * seconds
