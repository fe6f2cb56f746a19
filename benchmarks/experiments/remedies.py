"""Whether the server of the crash experiment recovers after an outage: with each remedy.

The remedies are at its clients, or a shorter accept queue. The clients are divided evenly among
processes. The clients of a process share its budget and its circuit breaker.
"""

from __future__ import annotations

from functools import partial
from statistics import median

from ixbackoff import N3, CircuitBreaker, RetryBudget, at, do

from .crash import EXPERIMENT as CRASH
from .crash import TIMEOUT, Crash, Get, Waiting, asking, backoffs, crash
from .experiment import Cells, Shown

FIXED, EXPONENTIAL = (Waiting(name, asking(), waits) for name, waits in backoffs().items())


def breakers(waiting: Waiting, processes: int) -> Waiting:
    failures = max(2, 20 // processes)  # fewer for fewer clients
    breaker = partial(CircuitBreaker, failures=failures, within=5.0, open_for=5.0)
    name = f"{processes} breakers"
    return waiting._replace(remedy=name, processes=processes, breaker=breaker)


REMEDIES = (
    FIXED,
    EXPONENTIAL,
    EXPONENTIAL._replace(  # a client ends its run after three waits, and thinks again
        remedy="three waits", program=at(N3).retry(do(Get()).limit(TIMEOUT))
    ),
    EXPONENTIAL._replace(remedy="10 budgets", processes=10, budget=RetryBudget.grpc),
    breakers(FIXED, 10),
    breakers(EXPONENTIAL, 10),
    breakers(EXPONENTIAL, 100),
)


def row(result: Crash) -> Cells:
    outcome, end = result.outcome, int(result.stopped.span[1])
    return {
        "queue": result.backlog,
        "waits": result.way,
        "remedy": result.remedy,
        "asked/s": outcome.rate(lambda second: second.asked, end - 5, end),
        "after 1 s": Shown(result.after),
        "end/s": result.last,
        "gave up": Shown(outcome.total(lambda second: second.gave_up)),
        "comes back": result.recovers,
    }


EXPERIMENT = CRASH._replace(
    model=partial(crash, waiting=REMEDIES), row=row, names=3, seeds=3, average=median
)
