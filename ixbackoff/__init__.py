"""Programs that must not hammer the service they depend on, as chains of typed steps.

The type of a program says how many waits are left on it, so a type checker rejects one whose next
wait would be shorter, that waits once too often, or that nests one retry in another. A program is a
value: an interpreter decides what its commands do.
"""

from .attempts import Attempt, Do, Effect, attempt, do
from .commands import AsyncInterpreter, Command, Interpreter, Misuse
from .failures import ClientError, NotReady, ServerError, Throttled, Transient
from .nat import (
    N0,
    N1,
    N2,
    N3,
    N4,
    N5,
    N6,
    N7,
    N8,
    N9,
    N10,
    N11,
    N12,
    N13,
    N14,
    N15,
    N16,
    N17,
    N18,
    N19,
    N20,
    Nat,
    Rung,
    Succ,
    Z,
    reflect,
)
from .planning import Plan, plan
from .programs import Program, at
from .replay import Diverged
from .schedules import Exponential, Schedule
from .semantics import unroll
from .vocabulary import Call, Delay, Download, Log, Standard, Throw, Upload, call

__all__ = [
    "AsyncInterpreter",
    "Attempt",
    "Call",
    "ClientError",
    "Command",
    "Delay",
    "Diverged",
    "Do",
    "Download",
    "Effect",
    "Exponential",
    "Interpreter",
    "Log",
    "Misuse",
    "N0",
    "N1",
    "N10",
    "N11",
    "N12",
    "N13",
    "N14",
    "N15",
    "N16",
    "N17",
    "N18",
    "N19",
    "N2",
    "N20",
    "N3",
    "N4",
    "N5",
    "N6",
    "N7",
    "N8",
    "N9",
    "Nat",
    "NotReady",
    "Plan",
    "Program",
    "Rung",
    "Schedule",
    "ServerError",
    "Standard",
    "Succ",
    "Throttled",
    "Throw",
    "Transient",
    "Upload",
    "Z",
    "at",
    "attempt",
    "call",
    "do",
    "plan",
    "reflect",
    "unroll",
]
