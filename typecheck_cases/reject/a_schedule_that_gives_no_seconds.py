"""A schedule is a `Schedule`; a function from the number of the wait to seconds makes one."""

from ixbackoff import N3, Computed, Exponential, Interpreter, Standard, at


def seconds(k: int) -> float:
    return 1.0


def of_text(k: str) -> float:
    return 1.0


def text(k: int) -> str:
    return "1"


async def run(interpreter: Interpreter[Standard]) -> None:
    at(N3).end().run(interpreter, schedule=1.0)  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=[1.0, 2.0])  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=seconds)  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=lambda k: 1.0)  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=Computed(seconds))
    at(N3).end().run(interpreter, schedule=Computed(of_text))  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=Computed(text))  # E: [arg-type]
    at(N3).end().run(interpreter, schedule=Exponential)  # E: [arg-type]
    at(N3).end().run(interpreter, Exponential())  # E: [call-arg]
    await at(N3).end().run_async(interpreter, schedule=seconds)  # E: [arg-type]


Exponential("1")  # E: [arg-type]
Exponential(base=None)  # E: [arg-type]
