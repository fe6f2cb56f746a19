"""Programs that must not hammer the service they depend on, as chains of typed steps.

The type of a program says how many waits are left on it, so a type checker rejects one whose next
wait would be shorter, that waits once too often, or that nests one retry in another. A program is a
value: an interpreter decides what its commands do.
"""

from .attempts import Attempt, Do, Effect, First, all_of, attempt, do, first_of
from .budgets import Budget
from .calls import Call, CallAsync, call, call_async
from .commands import AsyncInterpreter, Command, Interpreter, Misuse
from .deadlines import time_limit
from .failures import ClientError, DeadlineExceeded, NotReady, ServerError, Throttled, Transient
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
from .plain import answered_by
from .planning import Plan, plan
from .programs import Program, at
from .replay import Diverged
from .retrying import Backoff, backoff
from .schedules import Computed, Constant, Exponential, Fibonacci, Listed, Schedule
from .semantics import unroll
from .vocabulary import Delay, Download, Log, Now, Pick, Standard, Throw, Upload

__all__ = [
    "AsyncInterpreter",
    "Attempt",
    "Backoff",
    "Budget",
    "Call",
    "CallAsync",
    "ClientError",
    "Command",
    "Computed",
    "Constant",
    "DeadlineExceeded",
    "Delay",
    "Diverged",
    "Do",
    "Download",
    "Effect",
    "Exponential",
    "Fibonacci",
    "First",
    "Interpreter",
    "Listed",
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
    "Now",
    "Pick",
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
    "all_of",
    "answered_by",
    "at",
    "attempt",
    "backoff",
    "call",
    "call_async",
    "do",
    "first_of",
    "plan",
    "reflect",
    "time_limit",
    "unroll",
]
