"""The three kinds of clients in the experiments of "The Ethernet Approach to Grid Computing"."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from ixbackoff import FOREVER, N0, CommandOrAttempt, Constant, Delay, Now, Pick, Program, at
from ixbackoff.fleet import Outcome, Served, simulate
from ixbackoff.schedules import Schedule
from ixbackoff.schedules.published import fault_tolerant_shell

E = TypeVar("E")

NOTE = """fixed: retries at once, without a wait. aloha: waits of 1 to 2 s, doubled each time.
ethernet: waits as aloha, and """
AT_ONCE = 1e-9  # seconds: a client has the next job, or wants the next file, immediately


class ClientKind(NamedTuple, Generic[E]):
    """A kind of client: its program for one file or one job, and the waits of the program."""

    program: Program[FOREVER, N0, object, E | Now | Pick | Delay]
    schedule: Schedule

    def simulated(
        self, services: Served[E], clients: int, seconds: float, seed: int, think: float = AT_ONCE
    ) -> Outcome:
        return simulate(
            self.program,
            services,
            clients=clients,
            seconds=seconds,
            schedule=self.schedule,
            think=think,
            seed=seed,
        )


def kinds(
    fixed: CommandOrAttempt[E | Now | Pick, object],
    aloha: CommandOrAttempt[E | Now | Pick, object],
    ethernet: CommandOrAttempt[E | Now | Pick, object],
) -> dict[str, ClientKind[E]]:
    """Return clients that retry `fixed` immediately, and clients with the waits of the paper."""
    return {
        "fixed": ClientKind(at(FOREVER).retry(fixed), Constant(0.0)),
        "aloha": ClientKind(at(FOREVER).retry(aloha), fault_tolerant_shell),
        "ethernet": ClientKind(at(FOREVER).retry(ethernet), fault_tolerant_shell),
    }
