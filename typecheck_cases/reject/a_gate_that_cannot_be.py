"""A gate is an object that says when a try may begin, and an effect behind one may wait."""

from ixbackoff import (
    N0,
    N3,
    Delay,
    Gate,
    Interpreter,
    Limiter,
    Log,
    Now,
    Reserve,
    RetryBudget,
    Throttle,
    at,
    backoff,
    do,
)


class Mute(Gate):
    pass


Mute()  # E: [abstract]
limiter = Limiter(10, line=5)
Limiter(10)  # E: [call-arg]
Limiter("10", line=5)  # E: [arg-type]
Limiter(10, 5, line=5)  # E: [call-arg]
Limiter(10, line=None)  # E: [arg-type]
Throttle(over="2")  # E: [arg-type]
do(Log("a")).through(RetryBudget(1))  # E: [call-overload]
do(Log("a")).through(Limiter)  # E: [call-overload]
do(Log("a")).through(Reserve)  # E: [call-overload]
reserve = Reserve("api", 10, line=5)
Reserve("api", line=5)  # E: [call-arg]
Reserve("api", 10)  # E: [call-arg]
backoff(N3, through=reserve)  # E: [arg-type]
backoff(N3, through=5)  # E: [arg-type]


def run(
    interpreter: Interpreter[Log | Now | Delay],
    timeless: Interpreter[Log | Delay],
    hasty: Interpreter[Log | Now],
) -> None:
    at(N3).end().run(interpreter, through=Limiter)  # E: [arg-type]
    at(N3).end().run(interpreter, through=[RetryBudget(1)])  # E: [list-item]
    at(N0).do(do(Log("a")).through(limiter)).run(timeless)  # E: [arg-type]
    at(N0).do(do(Log("a")).through(limiter)).run(hasty)  # E: [arg-type]
    at(N0).do(do(Log("a")).through(reserve)).run(interpreter)  # E: [arg-type]
    at(N3).end().run(interpreter, through=reserve)  # E: [arg-type]
