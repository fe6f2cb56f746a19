"""Programs and waits are not changed in place."""

from ixbackoff import N3, Delay, at

program = at(N3)


def change(delay: Delay) -> None:
    delay.seconds = 0.0  # E: [misc]
    delay.rung = 20  # E: [misc]


program.start = 20  # E: [misc]
program.ends_at = 0  # E: [misc]
program.may_wait = False  # E: [misc]
