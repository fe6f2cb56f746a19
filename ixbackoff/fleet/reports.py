"""A report of a simulation with an outage: before it, at most, and after it."""

from __future__ import annotations

from typing import NamedTuple

from .outcomes import Outcome
from .seeded import Numbers
from .simulation import Outage

RECOVERS = "recovers"
SHARE, SPAN = 0.8, 10
"""It came back if in any 10 s there is as much as this share of before: chance takes a tenth."""


class Report(NamedTuple):
    """What a user wants to know of a simulation with an outage.

    Attributes:
        before: runs that ended well per second, in the second half of the time before the outage.
        after: the same, after it.
        asked: requests per second, in the second half of the time before the outage.
        most: the most requests in a second.
        second: that second.
        recovered: seconds after the outage until it was as before; `None`, if it never was.
        unserved: the share of the clients that gave up at least once.
        clients: the number of clients.
        gave_up: the share of the runs that were given up.
        runs: the number of runs that ended.
        events: the number of events.
    """

    before: float
    after: float
    asked: float
    most: int
    second: int
    recovered: float | None
    unserved: float
    clients: int
    gave_up: float
    runs: float
    events: int

    def text(self) -> str:
        """The report in some lines."""
        if self.recovered is not None:
            recovery = f"after {self.recovered:.0f} s"
        elif self.before:
            recovery = "not before the simulation ended"
        else:
            recovery = "nothing ended well before the outage, so there is nothing to come back to"
        return "\n".join(
            [
                f"goodput    {self.before:.1f} runs/s ended well before the outage, "
                f"{self.after:.1f} after it",
                f"load       {self.asked:.1f} requests/s before, {self.most} at most, "
                f"in second {self.second}",
                f"recovery   {recovery}",
                f"gave up    {self.unserved:.1%} of {self.clients} clients, "
                f"in {self.gave_up:.1%} of {self.runs:.0f} runs",
                f"events     {self.events}",
            ]
        )


def report(outcome: Outcome, stopped: Outage) -> Report:
    """Make the report of an outcome with this outage."""
    begin, end = int(stopped.start), stopped.start + stopped.length
    before = outcome.rate(lambda second: second.well, begin // 2, begin)
    ended = outcome.total(lambda second: second.well + second.gave_up)
    gave_up = outcome.total(lambda second: second.gave_up)
    asked = [second.asked for second in outcome.seconds]
    second = max(range(len(asked)), key=asked.__getitem__)
    return Report(
        before=before,
        after=outcome.rate(lambda second: second.well, int(end), len(outcome.seconds)),
        asked=outcome.rate(lambda second: second.asked, begin // 2, begin),
        most=asked[second],
        second=second,
        recovered=outcome.recovered_after(end, before, SHARE, SPAN) if before else None,
        unserved=outcome.gave_up / max(outcome.clients, 1),
        clients=outcome.clients,
        gave_up=gave_up / max(ended, 1),
        runs=ended,
        events=outcome.events,
    )


def numbers(one: Report) -> Numbers:
    """The numbers of a report that depend on the seed."""
    return {
        "goodput before the outage, runs/s": one.before,
        "goodput after it, runs/s": one.after,
        "load before the outage, requests/s": one.asked,
        "load at most, requests/s": one.most,
        "clients that gave up, %": one.unserved * 100,
        "runs that gave up, %": one.gave_up * 100,
        "recovers after, s": one.recovered,
        RECOVERS: one.recovered is not None,
    }
