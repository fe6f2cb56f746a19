"""A budget is a value: `Budget(...)`, or what one of its presets answers."""

from ixbackoff import N3, Budget, Interpreter, Standard, at


async def run(interpreter: Interpreter[Standard]) -> None:
    at(N3).give_up().run(interpreter, budget=Budget)  # E: [arg-type]
    at(N3).give_up().run(interpreter, budget=Budget.botocore)  # E: [arg-type]
    at(N3).give_up().run(interpreter, budget=10)  # E: [arg-type]
    at(N3).give_up().run(interpreter, budget="botocore")  # E: [arg-type]
    at(N3).give_up().run(interpreter, Budget(10))  # E: [arg-type] [call-arg]
    await at(N3).give_up().run_async(interpreter, budget=Budget)  # E: [arg-type]


Budget("10")  # E: [arg-type]
Budget(10, cost=None)  # E: [arg-type]
Budget.finagle(min_retries_per_second=0.5)  # E: [arg-type]
