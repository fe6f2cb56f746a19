"""Limits of services, and whether a program's plan fits them."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import inf
from typing import NamedTuple

from .._commandline import number
from .._meaning.planning import Plan
from .amounts import spoken


class ServiceLimit(NamedTuple):
    """Seconds that a program may take.

    Attributes:
        name: the service whose limit it is, or "" if the user gave seconds.
        seconds: the seconds.
        what: what is limited.
    """

    name: str
    seconds: float
    what: str

    def __str__(self) -> str:
        return f"{self.name} ({spoken(self.seconds)})" if self.name else spoken(self.seconds)


SERVICES = {
    one.name: one
    for one in (
        ServiceLimit("lambda", 900, "an AWS Lambda function, at most"),
        ServiceLimit("api-gateway", 29, "an Amazon API Gateway integration, by default"),
        ServiceLimit("sqs", 30, "a received Amazon SQS message stays hidden, by default"),
        ServiceLimit("cloud-run", 300, "a Google Cloud Run request, by default"),
        ServiceLimit("pubsub", 10, "a Google Pub/Sub message before it is sent again, by default"),
        ServiceLimit("azure-functions", 300, "an Azure function on the Consumption plan, by default"),
        ServiceLimit("azure-http", 230, "an Azure function's answer to HTTP, at most"),
        ServiceLimit("heroku", 30, "a Heroku request, at most"),
        ServiceLimit("gunicorn", 30, "a silent gunicorn worker, by default"),
    )
}
"""Limits of services; their sources are in `docs/commands.md`."""


def limit(text: str) -> ServiceLimit:
    """Read seconds, or the name of a service.

    >>> print(limit("lambda"), limit("30"))
    lambda (15 min) 30 s

    Raises:
        ArgumentTypeError: it is neither.
    """
    if text in SERVICES:
        return SERVICES[text]
    try:
        return ServiceLimit("", number(0, 1e9)(text), "")
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"{text}: give seconds, 0 to 1e+09, or one of {', '.join(SERVICES)}"
        ) from None


class Fit(NamedTuple):
    """The answer to whether a program is always done within a limit.

    Attributes:
        limit: the limit.
        fits: whether it is.
        says: why, behind the name of the program; what to do follows a semicolon.
    """

    limit: ServiceLimit
    fits: bool
    says: str

    @property
    def short(self) -> str:
        """That it fits, or that it does not."""
        return self.says.partition(":")[0]


def judged(known: Plan, limit: ServiceLimit) -> Fit:
    """Judge by its plan whether a program is always done within a limit.

    >>> from ixbackoff import N3, Download, at, do, plan
    >>> page = Download("http://localhost/a", "a")
    >>> judged(plan(at(N3).retry(do(page).limit(5))), SERVICES["sqs"]).says
    'fits sqs (30 s), with 3 s to spare'
    >>> judged(plan(at(N3).retry(page)), SERVICES["sqs"]).says
    'fits sqs (30 s), if no try takes longer than 5.75 s'
    """
    no, instead = f"does not fit {limit}", f"give it within={limit.seconds:g}, or a lower rung"
    if known.longest == inf:
        return Fit(limit, False, f"{no}: it goes on until it is well; {instead}")
    least = known.longest
    if least is None:  # as far as the tries are known
        least = max(rung.begins + (rung.takes or 0.0) for rung in known.rungs)
    left = limit.seconds - least
    if left < 0:
        what = "" if known.longest is not None else " without its tries"
        says = f"{no}: {spoken(least)}{what} is {spoken(-left)} too long; {instead}"
        return Fit(limit, False, says)
    if known.longest is not None:
        return Fit(limit, True, f"fits {limit}, with {spoken(left)} to spare")
    if left == 0:
        return Fit(limit, False, f"{no}: no time is left for a try; {instead}")
    if known.tries is None:
        return Fit(limit, True, f"fits {limit}, if its tries take no more than {spoken(left)}")
    share = spoken(left / known.tries)
    return Fit(limit, True, f"fits {limit}, if no try takes longer than {share}")
