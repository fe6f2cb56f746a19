"""Explanations of options: `on`, `schedule`, `within`, `budget`, `breaker`, `stop`."""

from __future__ import annotations

import re

from ..._words.rungs import DEEPEST
from .explanation import Explanation
from .methods import RETRIES, RUNS
from .printed import described, shown, with_names
from .wordings import Parsed

TAKES_OPTIONS = {
    *(*RETRIES, *RUNS, "or_else", "or_bind", "backoff", "replace", "first_of", "plan", "simulate"),
    *("unroll", "call", "limit", "guarded", "poll", "until"),
}
OPTIONS = {
    "on": (
        "not-a-failure",
        "on= names the failures that are retried: an exception class, a predicate, or a list of "
        "these",
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
    "stop": (
        "not-an-event",
        "stop= is an event that ends a wait",
        "Give a threading.Event",
    ),
    "within": (
        "not-seconds",
        "within= is a number of seconds",
        "Write within=30, or a timedelta",
    ),
}
SCHEDULES = {"Exponential", "Constant", "Fibonacci", "Listed", "Computed", "Schedule"}
PUBLISHED = ("thain", "aws_polling")
SHORTENING = {
    *("FullJitter", "EqualJitter", "DecorrelatedJitter", "RawNormalJitter", "NormalJitter"),
    *("Jitter", "Every", "Shortening"),
}


def option(parsed: Parsed) -> Explanation | None:
    """Explain a wrong value of an option."""
    if parsed.sort not in ("argument", "value"):
        return None
    if parsed.sort == "argument" and parsed.method not in TAKES_OPTIONS:
        return None
    name = option_of(parsed)
    if name is None or (parsed.argument in OPTIONS and parsed.argument != name):
        return None
    return wrong_option(name, parsed.it)


def option_of(parsed: Parsed) -> str | None:
    """Return the option that has the expected type."""
    wanted = parsed.wanted
    a_predicate = "Predicate" in wanted or "(Exception" in wanted or "[Exception], bool" in wanted
    if wanted == "On" or (a_predicate and "type[Exception]" in wanted):
        return "on"
    if parsed.sort == "value":
        return None
    for kind, name in (
        ("Schedule", "schedule"),
        ("RetryBudget", "budget"),
        ("CircuitBreaker", "breaker"),
        ("Event", "stop"),
    ):
        if re.match(rf"(?:[\w.]+\.)?{kind}\b", wanted):
            return name
    return "within" if wanted.startswith("float | timedelta") else None


def wrong_option(name: str, given: str) -> Explanation:
    code, sentence, fix = OPTIONS[name]
    if name == "on" and "->" not in given and shown(given).name == "Callable":
        sentence = f"{sentence}, and a predicate takes the failure and returns a bool"
    return Explanation(code, f"{sentence}, and this is {described(given)}.", f"{fix}.")


def overloaded_option(parsed: Parsed) -> Explanation | None:
    """Explain a wrong value of an option; pyrefly lists the types of all arguments."""
    if parsed.sort != "option":
        return None
    for name, good in (
        ("schedule", SCHEDULES),
        ("budget", {"RetryBudget", "None"}),
        ("breaker", {"CircuitBreaker", "None"}),
        ("stop", {"Event", "None"}),
        ("within", {"float", "int", "timedelta", "None", "Literal"}),
    ):
        given = re.search(rf"\b{name}=((?:[^,\[(]|\[[^\]]*\]|\([^)]*\))+)", parsed.it)
        if given is None:
            continue
        text = given[1].strip()
        is_a_text = re.search(r"Literal\[['\"]", text) is not None
        if shown(text).name not in good or is_a_text:
            return wrong_option(name, text)
    return None


def seconds(parsed: Parsed) -> Explanation | None:
    """Explain an argument that should be a number, such as seconds."""
    places = (*SCHEDULES, "limit", "RetryBudget", "CircuitBreaker", "jittered", *PUBLISHED)
    if parsed.sort not in ("argument", "missing") or parsed.method not in places:
        return None
    if parsed.sort == "missing" and parsed.method == "CircuitBreaker":
        return by_name(parsed.method)
    if parsed.sort == "missing" and parsed.argument in ("seconds", "every"):
        word = {"seconds": "5", "every": "2"}[parsed.argument]
        return Explanation(
            "not-seconds",
            f"{parsed.method}(...) needs a number of seconds.",
            f"Write {parsed.method}({word}).",
        )
    if parsed.sort == "argument" and re.match(r"(?:float|int)\b", parsed.wanted):
        what = "seconds" if parsed.method in (*SCHEDULES, "limit") else "a number"
        return Explanation(
            "not-seconds",
            f"{parsed.method}(...) takes {what}, and this is {described(parsed.it)}.",
            f"Write {parsed.method}(...) with a number.",
        )
    return None


INSTEAD = {
    "attempts": "5 attempts are the rung N4",
    "tries": "5 tries are the rung N4",
    "max_tries": "5 tries are the rung N4",
    "max_attempts": "5 attempts are the rung N4",
    "retries": "4 retries are the rung N4",
    "stop_after_attempt": "5 attempts are the rung N4",
    "timeout": "Write within=30",
    "max_time": "Write within=30",
    "wait": "Write schedule=Exponential(0.5)",
    "delay": "Write schedule=Constant(2)",
    "exceptions": "Write on=ConnectionError",
    "retry": "Write on=ConnectionError",
    "reraise": "The last exception is always raised unchanged",
}
COUNTS = ("attempts", "tries", "max_tries", "max_attempts", "retries", "stop_after_attempt")
OURS = ("run", "run_async", "backoff", "replace", "CircuitBreaker")


def by_name(method: str) -> Explanation:
    if method == "CircuitBreaker":
        fix = "Write CircuitBreaker(failures=5, within=10, open_for=30), the last two in seconds."
    elif method == "backoff":
        fix = "Write on=OSError, schedule=..., within=..., budget=... after the rung."
    else:
        fix = "Write schedule=..., within=..., budget=..., breaker=..., stop=...."
    return Explanation("no-such-option", f"The options of {method}(...) are given by name.", fix)


def counted_in_rungs(explanation: Explanation, argument: str, number: int) -> Explanation:
    """Name the rung for a number of tries or retries."""
    waits = number if argument == "retries" else number - 1
    if argument not in COUNTS or not 0 <= waits <= DEEPEST:
        return explanation
    noun = "attempts" if "attempt" in argument else argument.removeprefix("max_")
    noun = noun if number != 1 else {"tries": "try", "retries": "retry"}.get(noun, "attempt")
    verb = "are" if number != 1 else "is"
    return explanation._replace(fix=f"{number} {noun} {verb} the rung N{waits}.")


def no_such_option(parsed: Parsed) -> Explanation | None:
    """Explain an option that does not exist, or an option without its name."""
    if parsed.sort != "surplus" or parsed.method not in OURS:
        return None
    if not parsed.argument:
        return by_name(parsed.method)
    if parsed.argument == "stop":
        fix = "Cancel the task instead"
    else:
        fix = INSTEAD.get(
            parsed.argument, f"`python -c 'help(\"ixbackoff.{parsed.method}\")'` lists them"
        )
    return Explanation(
        "no-such-option", f"{parsed.method}(...) has no option {parsed.argument}.", f"{fix}."
    )


def schedule(parsed: Parsed) -> Explanation | None:
    """Explain an argument that is not a schedule, or that may shorten waits."""
    left, right = shown(parsed.it).name, shown(parsed.wanted).name
    if parsed.sort == "join" and {left, right} & SHORTENING:
        return shortens(left if left in SHORTENING else right)
    if parsed.sort == "attribute" and left in SHORTENING:
        return shortens(left)
    if parsed.sort == "argument" and right in (SCHEDULES | SHORTENING) and left in SHORTENING:
        return shortens(left)
    if parsed.sort == "join" and left in SCHEDULES:
        return Explanation(
            "not-a-schedule",
            f"A schedule is combined with another one, or multiplied by a number: "
            f"{parsed.method} {with_names(parsed.wanted)} does not fit.",
            "Write Exponential() & Constant(60) for a cap, | for the longer wait, + for the sum, "
            "and 2 * Exponential() for twice the waits.",
        )
    if parsed.sort == "argument" and parsed.method == "Computed":
        return Explanation(
            "not-a-schedule",
            "Computed takes a function from the number of the wait, an int that begins with 0, to "
            f"seconds, and this is {described(parsed.it)}.",
            "Write Computed(lambda k: 2.0 * k + 1).",
        )
    if parsed.sort == "argument" and parsed.method == "Listed":
        return Explanation(
            "not-a-schedule",
            f"Listed takes a list of seconds, and this is {described(parsed.it)}.",
            "Write Listed([1, 2, 4]).",
        )
    if parsed.sort == "argument" and parsed.method in (*SHORTENING, "WholeSeconds"):
        return Explanation(
            "not-a-schedule",
            f"{parsed.method}(...) does not take {described(parsed.it)}.",
            "Give it a schedule.",
        )
    return None


def shortens(name: str) -> Explanation:
    return Explanation(
        "shortens",
        f"{name} can shorten a wait, so it is no schedule, and no program runs with it.",
        "Write Exponential().jittered(2), which only lengthens waits; simulations take "
        f"{name}(...) as it is.",
    )
