"""`.replace(...)` gives the same backoff with some arguments changed; a decorated function has a plan."""

from typing import assert_type

from ixbackoff import N3, Backoff, Exponential, Plan, Succ, Z, backoff, plan

Three = Succ[Succ[Succ[Z]]]


def length(text: str) -> int:
    return len(text)


patiently = backoff(N3, within=60, nested="once")
assert_type(patiently.replace(within=2, schedule=Exponential(base=0.1)), Backoff[Three])
assert_type(patiently.replace(until=lambda answer: answer == 4)(length)("four"), int)
assert_type(patiently.plan(length), Plan)
assert_type(plan(patiently(length)), Plan)
