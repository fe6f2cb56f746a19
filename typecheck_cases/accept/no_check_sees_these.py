"""What stays yours: a handler may do anything, so it may also wait, or run a program of its own."""

from time import sleep

from ixbackoff import N3, Command, Delay, Download, Interpreter, at


class Nap(Command[None]):
    __slots__ = ()


class Keep(Command[None]):
    __slots__ = ()


def nap(command: Nap) -> None:
    sleep(5)  # a wait that no ladder counts


def keeping(interpreter: Interpreter[Download | Delay]) -> Interpreter[Keep]:
    inner = at(N3).retry(Download("http://localhost/a", "a"))
    return Keep.handled_by(lambda command: inner.run(interpreter))


def run(interpreter: Interpreter[Download | Delay]) -> None:
    naps = at(N3).retry(Nap())
    naps.run(Nap.handled_by(nap) | interpreter)
    multiplied = at(N3).retry(Keep())  # up to 4 * 4 downloads
    multiplied.run(keeping(interpreter) | interpreter)
