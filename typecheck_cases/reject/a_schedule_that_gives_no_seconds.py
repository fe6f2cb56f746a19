"""A schedule is a function from the number of the wait to seconds."""

from ixbackoff import N3, Exponential, Interpreter, Standard, at


def of_text(k: str) -> float:
    return 1.0


def text(k: int) -> str:
    return "1"


async def run(interpreter: Interpreter[Standard]) -> None:
    at(N3).give_up().run(interpreter, schedule=1.0)  # E: [arg-type]
    at(N3).give_up().run(interpreter, schedule=[1.0, 2.0])  # E: [arg-type]
    at(N3).give_up().run(interpreter, schedule=of_text)  # E: [arg-type]
    at(N3).give_up().run(interpreter, schedule=text)  # E: [arg-type]
    at(N3).give_up().run(interpreter, schedule=Exponential)  # E: [arg-type]
    at(N3).give_up().run(interpreter, Exponential())  # E: [call-arg]
    await at(N3).give_up().run_async(interpreter, schedule=text)  # E: [arg-type]


Exponential("1")  # E: [arg-type]
Exponential(base=None)  # E: [arg-type]
