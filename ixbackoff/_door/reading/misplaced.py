"""Explanations of arguments, steps and values that belong somewhere else."""

from __future__ import annotations

import re

from ..._words.rungs import DEEPEST
from .explanation import Explanation
from .methods import DOWN, RETRIES, RUNS, TO_N0
from .options import OPTIONS, SCHEDULES
from .printed import described, members, shown
from .wordings import Parsed

COMMANDS = ("Download", "Upload", "Log", "Call", "CallAsync", "Now", "Pick", "Throw", "Delay")
LADDER = (*DOWN, *TO_N0, *RUNS, "bind", "or_bind", "then", "map", "or_else", "do")
RUNG = re.compile(r"(?:type\[)?(?:Succ\[.*|Z|Forever|N\d+)\]?")
GENERAL = {
    "max": "Write cap=60, the longest wait",
    "maximum": "Write cap=60, the longest wait",
    "max_delay": "Write cap=60, the longest wait",
    "multiplier": "Write base=1, the first wait, and factor=2",
    "initial": "Write base=1, the first wait",
    "exp_base": "Write factor=2",
}


def argument_of_a_run(parsed: Parsed) -> Explanation | None:
    """Explain an option of a run that was given to a step."""
    if parsed.sort != "surplus" or parsed.method not in (*RETRIES, "or_else", "backoff", "do"):
        return None
    if parsed.owner == "Backoff" or (parsed.method == "backoff" and parsed.argument in OPTIONS):
        return None
    if parsed.argument in OPTIONS:
        return Explanation(
            "no-such-option",
            f".{parsed.method}(...) has no option {parsed.argument}: a run has it.",
            f"Write .run(interpreter, {parsed.argument}=...).",
        )
    if not parsed.argument and parsed.method in RETRIES:
        return Explanation(
            "not-a-failure",
            f".{parsed.method}(...) takes one effect, and then on=, the failures that are retried.",
            f"Write .{parsed.method}(effect, on=[OSError, ValueError]): a list.",
        )
    return None


def several_effects(parsed: Parsed) -> Explanation | None:
    """Explain effects that were given to `first_of` one by one."""
    if parsed.method != "first_of" or parsed.sort not in ("surplus", "argument"):
        return None
    if parsed.sort == "argument" and not parsed.wanted.startswith("int"):
        return None
    return Explanation(
        "not-a-command",
        "first_of(...) takes the effects as a list.",
        "Write first_of([first, second]).",
    )


def option_of_a_schedule(parsed: Parsed) -> Explanation | None:
    """Explain an option that a schedule does not have."""
    if parsed.sort != "surplus" or parsed.method not in SCHEDULES or not parsed.argument:
        return None
    fix = GENERAL.get(
        parsed.argument, f"`python -c 'help(\"ixbackoff.{parsed.method}\")'` lists them"
    )
    return Explanation(
        "no-such-option", f"{parsed.method}(...) has no option {parsed.argument}.", f"{fix}."
    )


def without_parentheses(parsed: Parsed) -> Explanation | None:
    """Explain `@durable` without parentheses."""
    if parsed.method != "durable" or parsed.sort not in ("surplus", "argument") or parsed.argument:
        return None
    return Explanation(
        "no-such-option",
        "durable(...) takes its options by name, before it decorates a function.",
        'Write @durable(name="order").',
    )


def step_of_another_value(parsed: Parsed) -> Explanation | None:
    """Explain a step on a rung, a command or an attempt."""
    if parsed.sort != "attribute" or parsed.argument not in LADDER:
        return None
    it = parsed.it.removesuffix("*")
    if RUNG.fullmatch(it):
        return Explanation(
            "no-such-step",
            f"A rung has no .{parsed.argument}(...): at(...) starts a program on it.",
            f"Write at(N3).{parsed.argument}(...).",
        )
    kind = shown(it).name
    if kind not in ("Attempt", *COMMANDS):
        return None
    what = "An attempt" if kind == "Attempt" else "A command"
    return Explanation(
        "no-such-step",
        f"{what} has no .{parsed.argument}(...): it is on no rung.",
        f"Put it on a ladder: at(N3).retry({'attempt' if kind == 'Attempt' else 'command'}), or "
        "at(N0).do(...) for a single try.",
    )


def unknown_rung(parsed: Parsed) -> Explanation | None:
    """Explain the name of a rung above the highest one."""
    number = re.fullmatch(r"N(\d+)", parsed.it) if parsed.sort == "name" else None
    if number is None or int(number[1]) <= DEEPEST:
        return None
    return Explanation(
        "not-a-rung",
        f"The deepest finite ladder is N{DEEPEST}, so {parsed.it} does not exist.",
        f"Write N{DEEPEST}, or FOREVER with within=... for tries without end.",
    )


def not_planned(parsed: Parsed) -> Explanation | None:
    """Explain an argument of `plan` that is not a program."""
    if parsed.sort != "argument" or parsed.method != "plan" or "Ladder" not in parsed.wanted:
        return None
    return Explanation(
        "not-a-program",
        f"plan(...) takes a program or a decorated function, and this is {described(parsed.it)}.",
        "Write plan(at(N3).retry(effect)).",
    )


def model(parsed: Parsed) -> Explanation | None:
    """Explain an interpreter that was given to a model in place of a function that makes one."""
    wanted = parsed.wanted.partition("Interpreter[")[0]
    if parsed.sort != "argument" or "W" not in wanted or not parsed.it.startswith("Interpreter["):
        return None
    return Explanation(
        "not-an-interpreter",
        "Model(...) takes a function from the world to its interpreter, because each explored run "
        "has a world of its own.",
        "Write Model(World, lambda world: world.interpreter), or Model(World, World.interpreter).",
    )


def workflow(parsed: Parsed) -> Explanation | None:
    """Explain a workflow whose commands the interpreter of an engine does not answer."""
    unsolved = parsed.sort == "unsolved" and parsed.method == "Engine"
    kinds = shown(parsed.it), shown(parsed.wanted)
    if unsolved or (parsed.sort == "argument" and kinds[0].name == kinds[1].name == "Workflow"):
        missing = [] if unsolved else not_in(kinds[0].inner[-1], kinds[1].inner[-1])
    else:
        return None
    if not missing:
        return Explanation(
            "no-handler",
            "The interpreter of an Engine answers all commands of its workflows, and this one does "
            "not.",
            "Join: interpreter | SomeCommand.handled_by(...).",
        )
    return Explanation(
        "no-handler",
        f"A workflow of this engine issues {' and '.join(missing)}, and no handler answers.",
        f"Join: interpreter | {missing[0]}.handled_by(...).",
    )


def not_in(row: str, answered: str) -> list[str]:
    """Return the commands of a row that are not answered, as far as a checker reports them."""
    heads = {shown(one).name for one in members(answered)}
    return [one for one in members(row) if "@" not in answered and shown(one).name not in heads]


MISPLACED = (
    argument_of_a_run,
    several_effects,
    option_of_a_schedule,
    without_parentheses,
    step_of_another_value,
    unknown_rung,
    not_planned,
    model,
    workflow,
)
