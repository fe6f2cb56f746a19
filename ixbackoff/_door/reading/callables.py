"""Explanations of functions that steps call, and of their arguments."""

from __future__ import annotations

from .explanation import Explanation
from .printed import described, is_function, with_names
from .shapes import Seen

PASS_ON = ("__call__", "call", "call_async", "program", "program_async")
APPLY = ("map", "expect", "then", "bind", "or_bind")


def arguments(seen: Seen) -> Explanation | None:
    """Explain arguments that `call` passes on, and that the function does not take."""
    if seen.method == "__call__" and seen.owner != "Backoff":
        return None
    if seen.method not in PASS_ON or seen.sort not in ("argument", "missing", "surplus"):
        return None
    if seen.sort == "argument" and ("Callable[" in seen.wanted or "-> " in seen.wanted):
        return not_a_function(seen)
    problem = {
        "argument": f"it takes {with_names(seen.wanted)}, and this is {described(seen.it)}",
        "missing": f"{seen.argument} is missing",
        "surplus": f"it does not take {seen.argument or 'as many'}",
    }[seen.sort]
    return Explanation(
        "wrong-arguments",
        f"{seen.method}(...) passes its other arguments to the function: {problem}.",
        f"Write {seen.method}(function, ...) with the arguments of that function.",
    )


def not_a_function(seen: Seen) -> Explanation:
    if "Coroutine[" in seen.wanted and is_function(seen.it):
        plain = seen.method.removesuffix("_async")
        return Explanation(
            "wrong-arguments",
            f"{seen.method}(...) takes a coroutine function, and this is a plain one.",
            f"Write {plain}(function, ...).",
        )
    return Explanation(
        "wrong-arguments",
        f"{seen.method.replace('__call__', 'backoff(N3)')}(...) takes a function first, and this "
        f"is {described(seen.it)}.",
        "Give the function itself, not its result.",
    )


def applied(seen: Seen) -> Explanation | None:
    """Explain a function that does not take the value that a step passes to it."""
    if seen.sort != "argument" or seen.method not in APPLY or not is_function(seen.wanted):
        return None
    if not is_function(seen.it):
        return Explanation(
            "another-value",
            f".{seen.method}(...) takes a function of the value, and this is {described(seen.it)}.",
            f"Write .{seen.method}(lambda value: ...).",
        )
    given = taken(seen.wanted)
    if not given:
        return None
    return Explanation(
        "another-value",
        f".{seen.method}(...) calls the function with {with_names(given)}, which this one does not "
        "take, or it returns another type.",
        f"Give a function that takes {with_names(given)}.",
    )


def taken(text: str) -> str:
    """Return the type of the first argument of a function.

    >>> taken("Callable[[str], bool]"), taken("(str, /) -> bool"), taken("int")
    ('str', 'str', '')
    """
    level = 0
    begin = len("Callable[[") if text.startswith("Callable[[") else 1
    if begin == 1 and not text.startswith("("):
        return ""
    for place in range(begin, len(text)):
        if not level and text[place] in ",])":
            return text[begin:place].strip()
        level += (text[place] in "[(") - (text[place] in "])")
    return ""
