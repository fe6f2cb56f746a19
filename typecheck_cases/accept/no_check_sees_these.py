"""What stays yours: a handler may do anything, so it may also wait, and no ladder counts that."""

from time import sleep

from ixbackoff import N3, Command, Delay, Interpreter, at


class Nap(Command[None]):
    __slots__ = ()


def nap(command: Nap) -> None:
    sleep(5)


def run(interpreter: Interpreter[Delay]) -> None:
    at(N3).retry(Nap()).run(Nap.handled_by(nap) | interpreter)
