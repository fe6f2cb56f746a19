"""Explanations of interpreters and handlers."""

from __future__ import annotations

from ..reading.printed import (
    UNKNOWN,
    answer,
    described,
    is_function,
    members,
    parts,
    split,
    with_names,
)
from ..reading.wordings import RUNS, Parsed
from .explanation import Explanation
from .wrong_functions import taken

INTERPRETERS = ("Interpreter", "AsyncInterpreter")
ANSWERED = "Command", "Call", "CallAsync"


def interpreter(parsed: Parsed) -> Explanation | None:
    if parsed.kind not in ("argument", "value"):
        return None
    kinds = [split(one) for one in members(parsed.wanted)]
    wanted = [one for one in kinds if one.name in INTERPRETERS and one.inner]
    if not wanted or len(wanted) < len(kinds):
        return None
    got = split(parsed.got)
    if got.name not in INTERPRETERS or not got.inner:
        return no_interpreter(parsed.got, parsed.method)
    if got.name == "AsyncInterpreter" and "AsyncInterpreter" not in [one.name for one in wanted]:
        return Explanation(
            "awaited-handlers",
            "Some of these handlers are coroutine functions, but .run(...) awaits nothing.",
            "Write `await program.run_async(interpreter)`.",
        )
    if got.name == "Interpreter" and "Interpreter" not in [one.name for one in wanted]:
        return Explanation(
            "awaited-handlers",
            "These handlers are plain functions, but an AsyncInterpreter is expected here.",
            "Make it with .awaited_by(...); .run_async(...) takes either kind.",
        )
    return unanswered(got.inner[0], wanted[0].inner[0])


def no_interpreter(given: str, method: str = "") -> Explanation:
    return Explanation(
        "not-an-interpreter",
        f"An interpreter has the handlers of the commands, but this is {described(given)}.",
        "Write world = Virtual(SomeCommand.handled_by(...)), and program.run(world.interpreter)."
        if method == "Virtual"
        else "Give live(), Virtual(...).interpreter, or SomeCommand.handled_by(function).",
    )


def unanswered(row: str, wanted: str) -> Explanation | None:
    answered = members(row)
    others = [one for one in members(wanted) if f"{split(one).name}[Any]" not in answered]
    missing = [one for one in others if one not in answered and "omitted" not in one]
    if not missing:
        return None
    heads = {split(one).name for one in answered}
    if any(split(one).name in heads and split(one).inner for one in missing) or "Command" in heads:
        return Explanation(
            "wrong-answer",
            f"The handlers answer {' | '.join(answered)}, but the program issues "
            f"{' | '.join(missing)}: an answer has exactly one type.",
            f"Write {split(missing[0]).name}[...] with the same type in both places.",
        )
    if "object" in missing:
        said = "mypy infers the type object for the commands of more than eight different effects."
        fix = "Nest them: all_of(all_of(first, second), third, ...)."
        return Explanation("no-handler", said, fix)
    names = [split(one).name for one in missing]
    handlers = [f"{one}.handled_by(...)" for one in names if one not in ("Delay", "CallAsync")]
    fixes = [f"Join: interpreter | {' | '.join(handlers)}."] if handlers else []
    if "Delay" in missing:
        fixes.append("live() has a handler of Delay; in a test, Virtual(...).interpreter has one.")
    if "CallAsync" in names:
        fixes.append("Write .run_async(live_async()), which has a handler of CallAsync.")
    sentence = f"No handler answers {' and '.join(missing)}."
    if len(missing) > 1 and any("omitted" in one for one in answered):  # ty prints 3 types at most
        sentence = f"Not all of {' and '.join(missing)} have a handler."
    return Explanation("no-handler", sentence, " ".join(fixes))


def joined(parsed: Parsed, wanted: list[str] | None = None) -> Explanation | None:
    """Explain a join of interpreters that lack handlers, or a join with a value of another kind.

    `wanted` are the commands of the program, if the source shows them.
    """
    if parsed.kind != "join" or parsed.method != "|" or split(parsed.got).name not in INTERPRETERS:
        return None
    other = split(parsed.wanted)
    if other.name not in INTERPRETERS:
        return no_interpreter(parsed.wanted)
    rows = [split(one).inner[0] for one in (parsed.got, parsed.wanted) if split(one).inner]
    if wanted is not None:
        return unanswered(" | ".join(rows), " | ".join(wanted))
    return Explanation(
        "no-handler",
        f"These handlers answer {' | '.join(rows)}, but the program issues other commands, too.",
        "Assign the joined handlers to a variable and run with it: the error then names the "
        "missing ones.",
    )


def handler(parsed: Parsed) -> Explanation | None:
    if parsed.kind != "argument" or parsed.method not in ("handled_by", "awaited_by"):
        return None
    takes, gives = taken(parsed.wanted), answer(parsed.wanted)
    if not is_function(parsed.got):
        return Explanation(
            "not-a-handler",
            f"{parsed.method} takes a function of a command, but this is {described(parsed.got)}.",
            f"Write .{parsed.method}(lambda command: ...).",
        )
    got = answer(parsed.got)
    if split(got).name in ("Coroutine", "CoroutineType") and parsed.method == "handled_by":
        return Explanation(
            "awaited-handlers",
            "This handler is a coroutine function, but handled_by awaits nothing.",
            "Write .awaited_by(...), and run with `await program.run_async(interpreter)`.",
        )
    if got != gives:
        said = f"The command promises {promised(gives)}, but this handler returns {promised(got)}."
        fix = f"Return {promised(gives)}, or let the class of the command promise another type."
        if gives in UNKNOWN:
            said = f"The command has no answer, but this handler returns {got}."
            fix = "Raise an exception in the handler, and annotate the handler with -> Never."
        return Explanation("wrong-answer", said, fix)
    return Explanation(
        "not-a-handler",
        f"A handler takes one argument, the command{takes and f' {takes}'}.",
        f"Write .{parsed.method}(lambda command: ...).",
    )


def promised(text: str) -> str:
    """Return the type that a coroutine returns; any other type is returned as it is."""
    head = split(text)
    awaited = head.name in ("Awaitable", "Coroutine", "CoroutineType") and head.inner
    return head.inner[-1] if awaited else text


def around_or_as_in(parsed: Parsed) -> Explanation | None:
    if parsed.method == "around" and parsed.kind == "argument":
        start, answer, word = "def", "R", "return"
        if parsed.owner == "AsyncInterpreter":
            start, answer, word = "async def", "Awaitable[R]", "return await"
        return Explanation(
            "not-a-handler",
            "A wrapper takes any command and its handler, and returns the answer of the handler.",
            f"Write `{start} wrapper(command: Command[R], handler: Callable[[Command[R]], "
            f"{answer}]) -> R`, and {word} handler(command).",
        )
    if parsed.method == "handled_as_in" and parsed.kind in ("argument", "overload"):
        return Explanation(
            "not-an-interpreter",
            "handled_as_in takes an interpreter that answers this command, but this is "
            f"{described(parsed.got)}.".replace('"', ""),
            "Give an interpreter that has a handler for the command.",
        )
    return None


def without_interpreter(parsed: Parsed) -> Explanation | None:
    if parsed.kind == "option" and parsed.method in RUNS and parsed.got:
        first = parts(parsed.got, ",")[0]  # `got`: pyrefly lists the types of all arguments
        return None if split(first).name in INTERPRETERS or "=" in first else no_interpreter(first)
    nothing = parsed.kind == "option" and parsed.method in RUNS
    missing = (parsed.kind, parsed.argument) == ("missing", "interpreter")
    if not nothing and (not missing or parsed.method not in ("", *RUNS)):
        return None
    return Explanation(
        "not-an-interpreter",
        "A program does not run by itself: an interpreter answers its commands.",
        f"Write .{parsed.method or 'run'}(live()), or give handlers of your own.",
    )


def answered(parsed: Parsed) -> Explanation | None:
    if parsed.kind == "answer":
        return Explanation(
            "wrong-answer",
            "The class of a command promises its answer, so __iter__ cannot be overridden.",
            "Leave __iter__ out, and change the class: Command[int] answers with an int.",
        )
    if parsed.kind != "value" or split(parsed.wanted).name not in ANSWERED:
        return None
    inner = split(parsed.wanted).inner
    if not inner or "->" in parsed.got:
        return None
    return Explanation(
        "wrong-answer",
        f"{with_names(parsed.got)} is not a {parsed.wanted}: the answer of a command has exactly "
        "one type, not a wider one.",
        "Declare the type that the command promises.",
    )


def workflow(parsed: Parsed) -> Explanation | None:
    unsaid = parsed.kind == "unsolved" or "omitted" in parsed.wanted  # ty prints 3 types at most
    kinds = split(parsed.got), split(parsed.wanted)
    workflows = parsed.kind == "argument" and kinds[0].name == kinds[1].name == "Workflow"
    if not workflows and not (unsaid and parsed.method == "Engine"):
        return None
    missing = not_in(kinds[0].inner[-2], kinds[1].inner[-2]) if workflows else []
    if not missing:
        return Explanation(
            "no-handler",
            "The interpreter of an Engine answers all commands of its workflows, but this one does "
            "not.",
            "Join: interpreter | SomeCommand.handled_by(...).",
        )
    return Explanation(
        "no-handler",
        f"A workflow of this engine issues {' and '.join(missing)}, which no handler answers.",
        f"Join: interpreter | {missing[0]}.handled_by(...).",
    )


def not_in(row: str, answered: str) -> list[str]:
    """Return which commands of a row lack a handler; none if a type variable (`@`) is unsolved."""
    heads = {split(one).name for one in members(answered)}
    return [one for one in members(row) if "@" not in answered and split(one).name not in heads]
