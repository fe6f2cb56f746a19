"""A budget is a value that many programs can be run with; `None` is none."""

from typing import assert_type

from ixbackoff import N3, RetryBudget, Interpreter, Log, Now, at

presets = [RetryBudget(10, cost=2.5), RetryBudget.botocore(), RetryBudget.grpc(), RetryBudget.finagle(ttl=5)]
assert_type(presets, list[RetryBudget])
assert_type(presets[0].left, float)


def run(interpreter: Interpreter[Log | Now], budget: RetryBudget | None) -> None:
    at(N3).do(Log("first")).end().run(interpreter, budget=budget)
    at(N3).do(Log("second")).end().run(interpreter, budget=budget)


async def run_async(interpreter: Interpreter[Log | Now], budget: RetryBudget | None) -> None:
    await at(N3).do(Log("third")).end().run_async(interpreter, budget=budget)
