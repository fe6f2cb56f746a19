"""A breaker is made of three numbers, given by name, and an effect that it guards needs the time."""

from ixbackoff import N3, CircuitBreaker, RetryBudget, Interpreter, Log, Now, at, backoff, do

breaker = CircuitBreaker(failures=5, within=10, open_for=30)
CircuitBreaker(failures=5, within=10)  # E: [call-arg]
CircuitBreaker(5, 10, 30)  # E: [call-arg]
CircuitBreaker(failures=1.5, within=10, open_for=30)  # E: [arg-type]
CircuitBreaker(failures=5, within="10", open_for=30)  # E: [arg-type]
CircuitBreaker(failures=5, within=10, open_for=None)  # E: [arg-type]
breaker.state = "closed"  # E: [misc]
do(Log("a")).guarded(RetryBudget(1))  # E: [arg-type]
backoff(N3, breaker=5)  # E: [arg-type]


def run(interpreter: Interpreter[Log | Now], timeless: Interpreter[Log]) -> None:
    at(N3).end().run(interpreter, breaker=CircuitBreaker)  # E: [arg-type]
    at(N3).do(do(Log("a")).guarded(breaker)).end().run(timeless)  # E: [arg-type]
