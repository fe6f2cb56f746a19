"""Explanations of sealed classes: no calls, no subclasses, and no changes of their values."""

from __future__ import annotations

from ..reading.printed import split
from ..reading.wordings import Parsed
from .explanation import Explanation

MADE = {
    "Program": "Write at(N3), and add steps.",
    "Attempt": "Write do(...), or @attempt above a generator function.",
    "Interpreter": "Write SomeCommand.handled_by(function), and join interpreters with |.",
    "AsyncInterpreter": "Write SomeCommand.awaited_by(function), and join interpreters with |.",
    "Delay": "Write .wait(), .backoff() or .retry(...): only the ladder issues waits.",
    "Backoff": "Write backoff(N3).",
    "Z": "Write N0: a rung is a type, and is passed as it is.",
    "Succ": "Write N1 to N20: a rung is a type, and is passed as it is.",
    "Forever": "Write FOREVER: a rung is a type, and is passed as it is.",
    "Nat": "Write one of N0 to N20, or FOREVER.",
    "CommandOrAttempt": "Make a command such as Log(...), or do(...).",
    "Schedule": "Write Exponential(), Constant(2), Listed([1, 2, 4]) or Computed(function).",
}
SEALS = ("_sealed", "_no_instances")
READ_ONLY = ("Delay", "Ladder", "Program", "CircuitBreaker", "Value")


def made_by_hand(parsed: Parsed) -> Explanation | None:
    sealed = parsed.kind == "missing" and parsed.argument in SEALS
    given = parsed.kind == "argument" and parsed.wanted == "Never" and parsed.method in MADE
    given |= parsed.kind == "argument" and parsed.argument in SEALS
    surplus = parsed.kind == "surplus" and parsed.method == "Delay"
    abstract = parsed.kind == "made" and split(parsed.got).name in MADE
    if not (sealed or given or surplus or abstract):
        return None
    name = split(parsed.got).name if abstract else parsed.owner or parsed.method
    name = parsed.method if parsed.method in MADE else name
    if name == "Schedule" or name not in MADE:
        return refused(
            "This value", "Begin with at(N3), do(...), backoff(N3) or .handled_by(function)."
        )
    return refused(name, MADE[name])


def refused(name: str, fix: str) -> Explanation:
    return Explanation("sealed", f"{name} is not made by a call of its class.", fix)


def derived(parsed: Parsed) -> Explanation | None:
    if parsed.argument == "only_Z_Succ_and_Forever_are_rungs":
        return Explanation("sealed", "There are no rungs but N0 to N20 and FOREVER.", MADE["Nat"])
    name = split(parsed.got).name
    if parsed.kind != "inherited" or name not in MADE:
        return None
    return Explanation("sealed", f"{name} cannot have subclasses.", MADE[name])


def changed(parsed: Parsed) -> Explanation | None:
    if parsed.kind == "set" and parsed.owner in READ_ONLY:
        return Explanation(
            "sealed",
            f".{parsed.argument} of a {parsed.owner} cannot be set: its attributes are immutable.",
            "Make a new one.",
        )
    final = ("handled_by", "awaited_by", "handled_as_in")
    if parsed.kind == "overridden" and parsed.argument in final:
        return Explanation(
            "sealed",
            f"Every command has {parsed.argument}, and no class can override it.",
            "Give the attribute another name.",
        )
    return None
