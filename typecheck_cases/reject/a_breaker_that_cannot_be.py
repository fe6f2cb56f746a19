"""A breaker is made of three numbers, given by name, and an effect that it guards needs the time."""

from ixbackoff import N3, Breaker, Budget, Interpreter, Log, Now, at, backoff, do

breaker = Breaker(failures=5, within=10, rest=30)
Breaker(failures=5, within=10)  # E: [call-arg]
Breaker(5, 10, 30)  # E: [call-arg]
Breaker(failures=1.5, within=10, rest=30)  # E: [arg-type]
Breaker(failures=5, within="10", rest=30)  # E: [arg-type]
Breaker(failures=5, within=10, rest=None)  # E: [arg-type]
breaker.state = "closed"  # E: [misc]
do(Log("a")).guarded(Budget(1))  # E: [arg-type]
backoff(N3, breaker=5)  # E: [arg-type]


def run(interpreter: Interpreter[Log | Now], timeless: Interpreter[Log]) -> None:
    at(N3).give_up().run(interpreter, breaker=Breaker)  # E: [arg-type]
    at(N3).do(do(Log("a")).guarded(breaker)).give_up().run(timeless)  # E: [arg-type]
