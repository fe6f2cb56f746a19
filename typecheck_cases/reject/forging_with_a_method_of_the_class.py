"""A method that is taken from the class checks its program just as well."""

from ixbackoff import N0, N1, N3, N16, N20, Interpreter, Program, Standard, at


def run(interpreter: Interpreter[Standard]) -> None:
    Program.run(at(N3), interpreter)  # E: [arg-type]
    Program.run(at(N16), interpreter)  # E: [arg-type]
    Program.run(at(N20), interpreter)  # E: [arg-type]


last = at(N0)
Program.wait(last)  # E: [arg-type]
Program.skip(last)  # E: [arg-type]
Program.backoff(last)  # E: [arg-type]
(at(N0).wait)()  # E: [call-arg]
high, low = at(N3), at(N1)
Program.__rshift__(high, low)  # E: [misc]
Program.__or__(high, low)  # E: [misc]
down = at(N3).skip
down() >> at(N3)  # E: [arg-type]
