"""A budget is a value that many programs can be run with; `None` is none."""

from typing import assert_type

from ixbackoff import N3, Budget, Interpreter, Log, Now, at

presets = [Budget(10, cost=2.5), Budget.botocore(), Budget.grpc(), Budget.finagle(ttl=5)]
assert_type(presets, list[Budget])
assert_type(presets[0].left, float)


def run(interpreter: Interpreter[Log | Now], budget: Budget | None) -> None:
    at(N3).do(Log("first")).give_up().run(interpreter, budget=budget)
    at(N3).do(Log("second")).give_up().run(interpreter, budget=budget)


async def run_async(interpreter: Interpreter[Log | Now], budget: Budget | None) -> None:
    await at(N3).do(Log("third")).give_up().run_async(interpreter, budget=budget)
