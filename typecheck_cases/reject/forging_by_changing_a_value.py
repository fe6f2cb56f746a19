"""Programs and waits are not changed in place."""

from ixbackoff import N0, N3, Delay, Program, at

program = at(N3)


def change(delay: Delay) -> None:
    delay.seconds = 0.0  # E: [misc]
    delay.rung = 20  # E: [misc]


program.start = 20  # E: [misc]
program.end = 0  # E: [misc]
program.waits = False  # E: [misc]
program.__class__ = Program[N3, N0]  # E: [assignment]
