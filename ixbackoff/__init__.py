"""Programs that must not hammer the service they depend on, as chains of typed steps.

The type of a program says how many waits are left on it, so a type checker rejects one that starts
again with short waits, that waits once too often, or that nests one retry in another. A program is
a value: an interpreter decides what its commands do.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._functions.backoff import Backoff, backoff
from ._functions.default_interpreters import answered_by
from ._functions.process_switch import enabled
from ._limits.breakers import CircuitBreaker
from ._limits.budgets import RetryBudget
from ._limits.deadlines import time_limit
from ._limits.gate_base import Gate
from ._meaning.replay import Diverged
from ._meaning.semantics import unroll
from ._words.call_commands import (
    Call,
    CallAsync,
    Read,
    ReadAsync,
    call,
    call_async,
    read,
    read_async,
)
from ._words.commands import AsyncInterpreter, Command, Interpreter, Misuse, Repeatable
from ._words.failure_classes import (
    CircuitOpen,
    ClientError,
    Crowded,
    DeadlineExceeded,
    NotReady,
    ServerError,
    Stopped,
    Throttled,
    Transient,
)
from ._words.judging import is_transient
from ._words.rungs import (
    FOREVER,
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
    Forever,
    Nat,
    Rung,
    Succ,
    Z,
    reflect,
)
from ._words.standard_commands import (
    Delay,
    Download,
    Log,
    Now,
    Pick,
    Reserve,
    Standard,
    Throw,
    Upload,
)
from ._words.wrong_arguments import explain_arguments
from ._writing.attempts import Attempt, CommandOrAttempt, Do, attempt, do
from ._writing.programs import Program, at
from .schedules.algebra import Schedule
from .schedules.kinds import Computed, Constant, Exponential, Fibonacci, Listed

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ._limits.hedges import Hedge
    from ._limits.rate_limiter import Limiter
    from ._limits.throttles import Throttle
    from ._meaning.planning import Plan, plan
    from ._writing.several_effects import First, all_of, first_of

__all__ = [
    "AsyncInterpreter",
    "Attempt",
    "Backoff",
    "CircuitBreaker",
    "RetryBudget",
    "Call",
    "CallAsync",
    "CircuitOpen",
    "ClientError",
    "Command",
    "CommandOrAttempt",
    "Computed",
    "Constant",
    "Crowded",
    "DeadlineExceeded",
    "Delay",
    "Diverged",
    "Do",
    "Download",
    "Exponential",
    "FOREVER",
    "Fibonacci",
    "First",
    "Forever",
    "Gate",
    "Hedge",
    "Interpreter",
    "Limiter",
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
    "Read",
    "ReadAsync",
    "Repeatable",
    "Reserve",
    "Rung",
    "Schedule",
    "ServerError",
    "Standard",
    "Stopped",
    "Succ",
    "Throttle",
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
    "enabled",
    "first_of",
    "is_transient",
    "plan",
    "read",
    "read_async",
    "reflect",
    "time_limit",
    "unroll",
]

_LATER = {
    "_limits.hedges": ("Hedge",),
    "_limits.rate_limiter": ("Limiter",),
    "_limits.throttles": ("Throttle",),
    "_meaning.planning": ("Plan", "plan"),
    "_writing.several_effects": ("First", "all_of", "first_of"),
}
"""Modules that few programs need, with their public names; imported at the first use of a name."""


def _shown_as_public(values: Iterable[Any]) -> None:
    """Make a traceback say `ixbackoff.NotReady`, without the name of a private module."""
    private = f"{__name__}._"
    for one in values:
        value = getattr(one, "__origin__", one)  # N1 is an alias of Succ
        if getattr(value, "__module__", "").startswith(private):
            value.__module__ = __name__


explain_arguments(globals(), ("Program", "Attempt", "Backoff", "CircuitBreaker", "RetryBudget"))
explain_arguments(globals(), ("Computed", "Constant", "Exponential", "Fibonacci", "Listed"))
explain_arguments(globals(), ("Z", "Succ", "Forever", "Interpreter", "AsyncInterpreter"))
explain_arguments(globals(), ("at", "attempt", "backoff", "answered_by", "reflect"))
_shown_as_public(globals()[_name] for _name in __all__ if _name in globals())

if not TYPE_CHECKING:  # with a `__getattr__`, type checkers accept every name in this module

    def __getattr__(name):
        module = next((module for module, names in _LATER.items() if name in names), None)
        if module is None and name[:1] == "N" and name[1:].isdecimal():
            raise Misuse(f"{name}: the deepest finite ladder is N20; FOREVER has no last try.")
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        imported = import_module(f".{module}", __name__)
        globals().update((one, getattr(imported, one)) for one in _LATER[module])
        explain_arguments(globals(), [one for one in _LATER[module] if one[0].islower()])
        _shown_as_public(globals()[one] for one in _LATER[module])
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__all__})
