"""Explanations of effects: commands, attempts, and values that are neither."""

from __future__ import annotations

from ..amounts_in_words import counted
from ..reading.printed import (
    UNKNOWN,
    answer,
    described,
    is_function,
    is_program,
    members,
    span_of,
    split,
    with_names,
)
from ..reading.wordings import RETRIES, Parsed
from .explanation import Explanation

EFFECT = ("CommandOrAttempt", "Alone", "Effect")
CONTEXT = ("", "__enter__", "__aenter__", "__exit__", "__aexit__")


def tried(parsed: Parsed) -> Explanation | None:
    if parsed.kind not in ("argument", "value"):
        return None
    wanted = answer(parsed.wanted)
    if split(wanted).name == "Iterable" and split(wanted).inner:
        return listed(parsed, split(wanted).inner[0])
    if split(wanted).name not in EFFECT:
        return None
    from_a_function = wanted != parsed.wanted or (parsed.kind == "value" and not parsed.method)
    given = answer(parsed.got) if from_a_function else parsed.got
    if from_a_function and parsed.kind == "argument" and not is_function(parsed.got):
        alone = ".retry(...)" if parsed.method == "retry_with" else ".do(...)"
        return Explanation(
            "not-a-command",
            f".{parsed.method}(...) takes a function that makes a command or an attempt, but this "
            f"is {described(parsed.got)}.",
            f"Write .{parsed.method}(lambda value: ...), or {alone} for a command alone.",
        )
    if is_program(given):
        return a_program(parsed, given, from_a_function)
    return neither(parsed, given, wanted)


def listed(parsed: Parsed, wanted: str) -> Explanation | None:
    if split(wanted).name not in EFFECT:
        return None
    inner = split(parsed.got).inner
    if inner and inner[0] in ("object", "AnyCommand"):
        pair = " Or give each by itself: all_of(a, b)." if parsed.method == "all_of" else ""
        return Explanation(
            "not-a-command",
            f"The effects in this list differ, and their common type is {inner[0]}.",
            "Declare the list: list[CommandOrAttempt[Download | Log, None]], with all commands and "
            f"answers.{pair}",
        )
    if split(parsed.got).name in ("list", "tuple", "set") and inner:
        item = parsed._replace(got=inner[0], owner="")
        if is_program(inner[0]):
            return a_program(item, inner[0], False)
        return neither(item, inner[0], wanted)
    return Explanation(
        "not-a-command",
        f"{parsed.method}(...) takes a list of commands and attempts, but this is "
        f"{described(parsed.got)}.",
        f"Write {parsed.method}([first, second]).",
    )


def a_program(parsed: Parsed, given: str, from_a_function: bool) -> Explanation:
    dot = "" if parsed.method in ("all_of", "first_of") else "."
    step = f"{dot}{parsed.method}(...)" if parsed.method else "this step"
    if from_a_function and parsed.method != "retry_with":
        return Explanation(
            "retry-in-an-attempt",
            f"The function of {step} makes a command or an attempt, but this one makes a program, "
            "which waits by itself.",
            "Write .bind(...) for a function that makes a program, or make only the command, "
            "without the retry.",
        )
    span = span_of(given)
    inside = "" if span is None else f", with up to {counted(span.start + 1, 'try', 'tries')}"
    return Explanation(
        "retry-in-a-retry",
        f"{step} performs a command or an attempt, but this is a program, which waits by "
        f"itself{inside}: the tries would multiply.",
        "Give the command itself, or join the programs with >>.",
    )


def neither(parsed: Parsed, given: str, wanted: str) -> Explanation:
    step = f".{parsed.method}(...)" if parsed.method else "this step"
    if parsed.method in ("do", "call", "all_of", "first_of") and parsed.owner != "Program":
        step = f"{parsed.method}(...)"
    row = split(wanted).inner
    kind = given.removeprefix("type[").removeprefix("<class '")
    this = described(given)
    fix = "Give a command such as Download(url, path), do(...), or a call of an @attempt function."
    if is_function(given):
        this = "a function"
        fix = (
            "Write call(function, ...), call_async(function, ...) for a coroutine function, or "
            "@attempt above a generator function."
        )
    elif kind != given:
        this = "a class"
        fix = f"Make an instance: {kind.rstrip(']>').rstrip(chr(39))}(...)."
    elif row and given in members(row[0]) and row[-1] not in UNKNOWN:
        return Explanation(
            "another-value",
            f"The value of {given} is not {with_names(row[-1])}, the type that is declared here.",
            "Declare its value, or change it with do(...).map(...).",
        )
    elif row and known(row[0]) and given not in members(row[0]):
        return not_among(given, members(row[0]), waits=parsed.method in RETRIES)
    said = f"{step} performs a command or an attempt, but this is {this}."
    return Explanation("not-a-command", said, fix)


def not_among(given: str, declared: list[str], waits: bool) -> Explanation:
    issued = members(split(given).inner[0]) if split(given).name == "Attempt" else [given]
    more = [one for one in issued if one not in declared]
    fixed = [*declared, *more]
    if waits and "Delay" not in fixed:
        fixed.append("Delay")
    plural = "are" if len(more) > 1 else "is"
    return Explanation(
        "row-too-narrow",
        f"{' and '.join(more)} {plural} not among the commands that are declared: "
        f"{' | '.join(declared)}.",
        f"Declare the commands {' | '.join(fixed)}.",
    )


def known(row: str) -> bool:
    """Return whether a checker knows the declared commands."""
    return row not in UNKNOWN and "@" not in row and row != "object"


def several(parsed: Parsed) -> Explanation | None:
    if parsed.kind not in ("overload", "option") or parsed.method != "all_of" or not parsed.got:
        return None
    if "Program[" in parsed.got:
        given = "one of these is a program, which waits by itself"
    else:
        given = f"this is {described(parsed.got)}"
    return Explanation(
        "retry-in-an-attempt" if "Program[" in parsed.got else "not-a-command",
        f"all_of(...) performs commands and attempts, but {given.replace(chr(34), '')}.",
        "Give all_of(a, b, ...) commands and attempts, or one list of them.",
    )


def yielded(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "yielded":
        return None
    if is_program(parsed.got):
        return Explanation(
            "retry-in-an-attempt",
            "An attempt is on one rung, so it cannot contain a program, which waits by itself.",
            "Write `yield from` before the command itself, and retry the whole attempt; or join "
            "the programs with >>.",
        )
    if not parsed.wanted or parsed.got in UNKNOWN:
        return None
    return Explanation(
        "row-too-narrow",
        f"The attempt issues {parsed.got}, but its type declares {parsed.wanted}.",
        f"Declare Do[{parsed.wanted} | {parsed.got}, ...].",
    )


def another_row(parsed: Parsed) -> Explanation | None:
    got, wanted = split(parsed.got), split(parsed.wanted)
    if parsed.kind != "value" or (got.name, wanted.name) != ("Attempt", "Attempt"):
        return None
    more = [one for one in members(got.inner[0]) if one not in members(wanted.inner[0])]
    if not more:
        return None
    return Explanation(
        "row-too-narrow",
        f"This attempt may issue {' and '.join(more)}, which the type does not name.",
        f"Declare Attempt[{' | '.join((wanted.inner[0], *more))}, ...].",
    )


def decorated(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "argument" or parsed.method != "attempt" or not is_function(parsed.wanted):
        return None
    if is_program(answer(parsed.got)):
        return Explanation(
            "retry-in-an-attempt",
            "@attempt takes a generator function of commands, but this one makes a program.",
            "Leave @attempt out, and join its program with >> or .bind(...).",
        )
    return Explanation(
        "not-an-attempt",
        f"@attempt takes a generator function that returns Do[commands, value], but this is "
        f"{described(parsed.got)}.",
        "Write `-> Do[Download, None]`, and `yield from` before each command.",
    )


def not_called(name: str, step: str) -> Explanation:
    return Explanation(
        "no-such-step",
        f"{name} is a function that makes a program, but it is not called here.",
        f"Write {name}().{step}(...), with its parentheses.",
    )


def missing_step(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "attribute":
        return None
    owner = split(parsed.got.removesuffix("*")).name
    if owner == "Program" and parsed.argument == "__iter__":
        return yielded(parsed._replace(kind="yielded"))
    if owner == "Backoff" and parsed.argument in CONTEXT:
        word = "async " if parsed.argument.startswith("__a") else ""
        return Explanation(
            "no-such-step",
            "A backoff is not a context manager: each of its tries is one.",
            f"Write `{word}for one_try in backoff(N3):`, and `with one_try:` in it.",
        )
    return None
