"""`Outcome`: the requests, answers and failures of a simulation, second by second."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from math import ceil, inf, nan
from typing import NamedTuple

from .._running.traces import Performed
from .seed_results import quantile


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
        trace: the commands in the order of their ends; empty unless `trace=True` was given.
        gave_up: the number of clients that had a failed run.
        latencies: the seconds of each run that succeeded, waits included, in the order of the ends.
    """

    seconds: tuple[Second, ...]
    clients: int
    events: int
    ended: float
    trace: tuple[Performed, ...]
    gave_up: int = 0
    latencies: Sequence[float] = ()

    def __repr__(self) -> str:
        """Return one line: the seconds and the trace would fill many pages.

        >>> second = Second(9, 8, 1, 0, 2, 1, 0.1, 0.0)
        >>> Outcome((second,), 3, 40, 0.9, (), 1, [0.1, 0.3])  # doctest: +NORMALIZE_WHITESPACE
        <Outcome: 2 runs succeeded (median 0.2 s, p99 0.298 s), 1 gave up; 3 clients, 1 s,
        40 events, the last run ended after 0.9 s, 0 commands in the trace>
        """
        well = self.total(lambda second: second.well)
        gave_up = self.total(lambda second: second.gave_up)
        took = f" (median {self.quantile(0.5):.3g} s, p99 {self.quantile(0.99):.3g} s)"
        return (
            f"<Outcome: {well} runs succeeded{took if well else ''}, {gave_up} gave up; "
            f"{self.clients} clients, {len(self.seconds)} s, {self.events} events, the last run "
            f"ended after {self.ended:.3g} s, {len(self.trace)} commands in the trace>"
        )

    def total(self, of: Callable[[Second], float]) -> float:
        """Return the sum over all seconds.

        >>> Outcome((), 1, 0, 0.0, ()).total(lambda second: second.asked)
        0
        """
        return sum(map(of, self.seconds))

    def rate(self, of: Callable[[Second], float], begin: int, end: int) -> float:
        """Return the mean per second over the seconds from `begin` up to `end`, without `end`."""
        some = self.seconds[begin:end]
        return sum(map(of, some)) / len(some) if some else 0.0

    def quantile(
        self, at: float, begin: int = 0, end: int | None = None, *, failed: bool = False
    ) -> float:
        """Return a quantile of the seconds that runs took, from their begin to their success.

        >>> from ixbackoff import Download, N1, at
        >>> from ixbackoff.fleet import ExponentialWork, ProcessorSharing, simulate
        >>> page = at(N1).retry(Download("http://localhost:8070/page", "page.html"))
        >>> service = ProcessorSharing(ExponentialWork(0.01), limit=40).serves(Download)
        >>> outcome = simulate(page, service, arrivals=80, seconds=60)
        >>> round(outcome.quantile(0.5), 3), round(outcome.quantile(0.99), 3)
        (0.021, 0.288)

        Args:
            at: the share, 0 to 1: 0.5 for the median, 0.99 for p99.
            begin: runs that ended before this second do not count.
            end: runs that ended in this second or later do not count; `None` for no end.
            failed: whether failed runs count, as runs that took forever.

        Returns:
            The seconds; infinity for a failed run; nan if no run counts.

        Raises:
            ValueError: `at` is not from 0 to 1.
        """
        first = sum(second.well for second in self.seconds[:begin])
        some = self.seconds[begin:end]
        counted = [*self.latencies[first : first + sum(second.well for second in some)]]
        if failed:
            counted += [inf] * sum(second.gave_up for second in some)
        return quantile(counted or [nan], at)

    def recovered_after(
        self, outage_end: float, steady: float, share: float = 0.9, span: int = 5
    ) -> float | None:
        """Return the seconds after an outage until runs succeed as often as before.

        From then on to the end, in any `span` seconds in a row, runs succeed at `share` of the
        steady rate or more. `None` if that does not happen, or fewer than `span` seconds are left.

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
        self.latencies = array("d")
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
