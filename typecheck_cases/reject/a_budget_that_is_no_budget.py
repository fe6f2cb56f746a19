"""A budget is a value: `RetryBudget(...)`, or what one of its presets answers."""

from ixbackoff import N3, RetryBudget, Interpreter, Standard, at


async def run(interpreter: Interpreter[Standard]) -> None:
    at(N3).end().run(interpreter, budget=RetryBudget)  # E: [arg-type]
    at(N3).end().run(interpreter, budget=RetryBudget.botocore)  # E: [arg-type]
    at(N3).end().run(interpreter, budget=10)  # E: [arg-type]
    at(N3).end().run(interpreter, budget="botocore")  # E: [arg-type]
    at(N3).end().run(interpreter, RetryBudget(10))  # E: [arg-type] [call-arg]
    await at(N3).end().run_async(interpreter, budget=RetryBudget)  # E: [arg-type]


RetryBudget("10")  # E: [arg-type]
RetryBudget(10, cost=None)  # E: [arg-type]
RetryBudget.finagle(min_retries_per_second=0.5)  # E: [arg-type]
