"""Explanations of wrong values for options such as `on`, `schedule` and `within`."""

from __future__ import annotations

import re

from ..reading.printed import described, split, with_names
from ..reading.wordings import RETRIES, RUNS, Parsed
from .explanation import Explanation

TAKES_OPTIONS = {
    *(*RETRIES, *RUNS, "or_else", "or_bind", "backoff", "replace", "first_of", "plan", "simulate"),
    *("unroll", "call", "guarded", "through", "poll", "until"),
}
OPTIONS = {
    "on": (
        "not-a-failure",
        "on= names the failures that are retried: an exception class, a predicate, or a list of "
        "both",
        "Write on=ConnectionError, a list of classes, or a function from the failure to a bool",
    ),
    "schedule": (
        "not-a-schedule",
        "schedule= gives the seconds of the waits",
        "Write Exponential(0.5), Constant(2), Listed([1, 2, 4]) or Computed(function)",
    ),
    "budget": (
        "not-a-budget",
        "budget= limits the retries of all programs that share it",
        "Write RetryBudget(...) or RetryBudget.grpc(), once, and share it",
    ),
    "breaker": (
        "not-a-breaker",
        "breaker= is the circuit breaker around each try",
        "Write CircuitBreaker(failures=5, within=10, open_for=30), once, and share it",
    ),
    "through": (
        "not-a-gate",
        "through= is the gate that each try goes through, or a list of gates",
        "Write Limiter(10, line=5) or Throttle(), once, and share it",
    ),
    "stop": ("not-an-event", "stop= is an event that ends a wait", "Give a threading.Event"),
    "within": ("not-seconds", "within= is a number of seconds", "Write within=30, or a timedelta"),
}
OF_SECONDS = ("within", "longest", "each")
for _name in OF_SECONDS[1:]:
    _code, _sentence, _fix = OPTIONS["within"]
    OPTIONS[_name] = _code, _sentence.replace("within", _name), _fix.replace("within", _name)
SCHEDULES = {
    *("Exponential", "Constant", "Fibonacci", "Listed", "Computed", "Schedule", "NormalJitter"),
}
TAKES = {
    "Computed": (
        "not-a-schedule",
        "a function from the number of the wait, counted from 0, to seconds",
        "Write Computed(lambda k: 2.0 * k + 1).",
    ),
    "Listed": ("not-a-schedule", "a list of seconds", "Write Listed([1, 2, 4])."),
}
SHORTENING = {
    *("FullJitter", "EqualJitter", "DecorrelatedJitter", "RawNormalJitter"),
    *("Jitter", "Every", "Shortening"),
}
FITTING = {
    "schedule": ["Schedule", *SCHEDULES],
    "budget": ["RetryBudget"],
    "breaker": ["CircuitBreaker"],
    "through": ["Gate", "Limiter", "Throttle", "Sequence"],
    "stop": ["Event"],
    "within": ["float | timedelta", "float", "int", "timedelta", "Literal"],
}
"""The types that an option takes; checkers print the first one as the expected type."""
GIVEN = re.compile(rf"\b({'|'.join(FITTING)})=((?:[^,\[(]|\[[^\]]*\]|\([^)]*\))+)")


def option(parsed: Parsed) -> Explanation | None:
    if parsed.kind not in ("argument", "value"):
        return None
    if parsed.kind == "argument" and parsed.method not in TAKES_OPTIONS:
        return None
    name = option_of(parsed)
    if name in OF_SECONDS and parsed.argument in OF_SECONDS:
        name = parsed.argument  # all three have the same types
    if name is None or (parsed.argument in OPTIONS and parsed.argument != name):
        return None
    return wrong_option(name, parsed.got)


def option_of(parsed: Parsed) -> str | None:
    wanted = parsed.wanted
    a_predicate = "Predicate" in wanted or "(Exception" in wanted or "[Exception], bool" in wanted
    if wanted == "On" or (a_predicate and "type[Exception]" in wanted):
        return "on"
    if parsed.kind == "value":
        return None
    if wanted == "Reserve":  # the second overload of `.through`
        return "through"
    for name, (kind, *_) in FITTING.items():
        if re.match(rf"(?:[\w.]+\.)?{re.escape(kind)}\b", wanted):
            return name
    return None


def wrong_option(name: str, given: str) -> Explanation:
    code, sentence, fix = OPTIONS[name]
    if name == "on" and "->" not in given and split(given).name == "Callable":
        sentence = f"{sentence}, and a predicate takes the failure and returns a bool"
    return Explanation(code, f"{sentence}, but this is {described(given)}.", f"{fix}.")


def overloaded_option(parsed: Parsed) -> Explanation | None:
    """Explain a wrong option from a message that lists all arguments, as pyrefly's messages do."""
    if parsed.kind == "overload" and parsed.method == "through" and parsed.got:
        return wrong_option("through", parsed.got.strip('"'))
    if parsed.kind != "option":
        return None
    for name, given in GIVEN.findall(parsed.got):
        kind = split(given).name
        if kind != "None" and (kind not in FITTING[name] or re.search(r"Literal\[['\"]", given)):
            return wrong_option(name, given.strip())
    return None


def schedule(parsed: Parsed) -> Explanation | None:
    left, right = split(parsed.got).name, split(parsed.wanted).name
    if parsed.kind == "join" and {left, right} & SHORTENING:
        return shortens(left if left in SHORTENING else right)
    if parsed.kind == "attribute" and left in SHORTENING:
        return shortens(left)
    if parsed.kind == "argument" and right in (SCHEDULES | SHORTENING) and left in SHORTENING:
        return shortens(left)
    if parsed.kind == "join" and left in SCHEDULES:
        return Explanation(
            "not-a-schedule",
            f"A schedule is combined with another one, or multiplied by a number: "
            f"{parsed.method} {with_names(parsed.wanted)} does not fit.",
            "Write Exponential() & Constant(60) for a cap, | for the longer wait, + for the sum, "
            "and 2 * Exponential() for twice the waits.",
        )
    if parsed.kind == "argument" and parsed.method in TAKES:
        code, what, fix = TAKES[parsed.method]
        sentence = f"{parsed.method} takes {what}, but this is {described(parsed.got)}."
        return Explanation(code, sentence, fix)
    if parsed.kind == "argument" and parsed.method in ("RawNormalJitter", "WholeSeconds"):
        return Explanation(
            "not-a-schedule",
            f"{parsed.method}(...) does not take {described(parsed.got)}.",
            f"Give it a {'schedule' if parsed.method == 'WholeSeconds' else 'NormalJitter'}.",
        )
    return None


def shortens(name: str) -> Explanation:
    return Explanation(
        "shortens",
        f"{name} can shorten a wait, so it is no schedule, and no program runs with it.",
        "Write Exponential().jittered(2), which only lengthens waits; simulations take "
        f"{name}(...) as it is.",
    )
