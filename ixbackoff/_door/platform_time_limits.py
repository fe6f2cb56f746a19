"""Time limits of services, and the comparison of a plan with a limit."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import inf
from typing import NamedTuple

from .._argument_parser import duration
from .._meaning.planning import Plan
from .amounts_in_words import spoken


class ServiceLimit(NamedTuple):
    """The time limit of a service; the name is "" for seconds that the user gave."""

    name: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name} ({spoken(self.seconds)})" if self.name else spoken(self.seconds)


# Seconds; `docs/commands.md` has the sources.
SERVICES = {
    "lambda": 900,  # an AWS Lambda function, at most
    "api-gateway": 29,  # an Amazon API Gateway integration, by default
    "sqs": 30,  # the time for which a received Amazon SQS message is hidden, by default
    "cloud-run": 300,  # a Google Cloud Run request, by default
    "pubsub": 10,  # the time before Google Pub/Sub sends a message again, by default
    "azure-functions": 300,  # an Azure function on the Consumption plan, by default
    "azure-http": 230,  # the answer of an Azure function to HTTP, at most
    "heroku": 30,  # a Heroku request, at most
    "gunicorn": 30,  # a silent gunicorn worker, by default
}


def service_limit(text: str) -> ServiceLimit:
    """Parse seconds, or the name of a service.

    >>> print(service_limit("lambda"), service_limit("30"))
    lambda (15 min) 30 s
    """
    if text in SERVICES:
        return ServiceLimit(text, SERVICES[text])
    try:
        return ServiceLimit("", duration(0)(text))
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"{text}: give seconds, 0 to 1e+09, a time such as 5m, or one of {', '.join(SERVICES)}"
        ) from None


class Fit(NamedTuple):
    """The comparison of a program with a limit.

    `reason` is a sentence without its subject, the program; advice follows a semicolon.
    """

    limit: ServiceLimit
    fits: bool
    reason: str


def fit(plan: Plan, limit: ServiceLimit) -> Fit:
    no, instead = f"does not fit {limit}", f"give it within={limit.seconds:g}, or a lower rung"
    if plan.longest == inf:
        return Fit(limit, False, f"{no}: it retries until it succeeds; {instead}")
    least = plan.longest
    if least is None:  # without the tries of unknown length
        least = max(rung.begins + (rung.takes or 0.0) for rung in plan.rungs)
    left = limit.seconds - least
    if left < 0:
        which = "some" if any(rung.takes for rung in plan.rungs) else "its"
        what = "" if plan.longest is not None else f" without {which} tries"
        reason = f"{no}: {spoken(least)}{what} is {spoken(-left)} too long; {instead}"
        return Fit(limit, False, reason)
    if plan.longest is not None:
        return Fit(limit, True, f"fits {limit}, with {spoken(left)} to spare")
    if left == 0:
        return Fit(limit, False, f"{no}: no time is left for a try; {instead}")
    if plan.tries is None:
        return Fit(limit, True, f"fits {limit}, if its tries take no more than {spoken(left)}")
    share = spoken(left / plan.tries)
    return Fit(limit, True, f"fits {limit}, if no try takes longer than {share}")
