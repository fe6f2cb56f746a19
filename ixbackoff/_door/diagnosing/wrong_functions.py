"""Explanations of functions that steps call, and of their arguments."""

from __future__ import annotations

from ..reading.printed import described, is_function, parts, split, with_names
from ..reading.wordings import Parsed
from .explanation import Explanation

PASS_ON = ("call", "call_async", "program", "program_async")
APPLY = ("map", "expect", "then", "bind", "or_bind")


def arguments(parsed: Parsed) -> Explanation | None:
    decorates = parsed.method == "__call__" and parsed.owner == "Backoff"
    if not decorates and parsed.method not in PASS_ON:
        return None
    nameless = parsed.kind == "missing" and not parsed.argument
    if nameless or parsed.kind not in ("argument", "missing", "surplus"):
        return None
    if parsed.kind == "argument" and ("Callable[" in parsed.wanted or "-> " in parsed.wanted):
        return not_a_function(parsed)
    if decorates:
        fix = "Write backoff(N3)(function), or backoff(N3).call(function, ...)."
        return Explanation("wrong-arguments", "backoff(N3)(...) takes one function.", fix)
    problem = {
        "argument": f"takes {with_names(parsed.wanted)}, but this is {described(parsed.got)}",
        "missing": f"needs {parsed.argument}",
        "surplus": f"does not take {parsed.argument or 'as many'}",
    }[parsed.kind]
    return Explanation(
        "wrong-arguments",
        f"{parsed.method}(...) passes its other arguments to the function, which {problem}.",
        f"Write {parsed.method}(function, ...) with the arguments of that function.",
    )


def not_a_function(parsed: Parsed) -> Explanation:
    if "Coroutine[" in parsed.wanted and is_function(parsed.got):
        plain = parsed.method.removesuffix("_async")
        said = f"{parsed.method}(...) takes a coroutine function, but this is a plain one."
        return Explanation("wrong-arguments", said, f"Write {plain}(function, ...).")
    return Explanation(
        "wrong-arguments",
        f"{parsed.method.replace('__call__', 'backoff(N3)')}(...) takes a function first, but this "
        f"is {described(parsed.got)}.",
        "Give the function itself, not its result.",
    )


def streamed(parsed: Parsed) -> Explanation | None:
    if parsed.method != "stream" or parsed.kind not in ("parameter", "argument"):
        return None
    if parsed.kind == "argument" and not parsed.wanted.endswith(("T@stream", "[P, T]")):
        return None
    return Explanation(
        "wrong-arguments",
        ".stream is for generator functions, and this function does not yield.",
        "Write @backoff(N3) for a function that returns its result.",
    )


def applied(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "argument" or parsed.method not in APPLY or not is_function(parsed.wanted):
        return None
    if not is_function(parsed.got):
        return Explanation(
            "another-value",
            f".{parsed.method}(...) takes a function of the value, but this is "
            f"{described(parsed.got)}.",
            f"Write .{parsed.method}(lambda value: ...).",
        )
    given = taken(parsed.wanted)
    if not given:
        return None
    return Explanation(
        "another-value",
        f".{parsed.method}(...) calls the function with {with_names(given)}, but this one takes or "
        "returns another type.",
        f"Give a function that takes {with_names(given)}.",
    )


def taken(text: str) -> str:
    """Return the type of the first argument of a function.

    >>> taken("Callable[[str], bool]"), taken("(str, /) -> bool"), taken("int")
    ('str', 'str', '')
    """
    if text.startswith("Callable[["):
        text = split(text).inner[0]
    elif text.startswith("("):
        text = parts(text, "-")[0]
    else:
        return ""
    return parts(text[1:-1], ",")[0]
