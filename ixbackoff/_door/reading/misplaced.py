"""Explanations of arguments, steps and values that belong somewhere else."""

from __future__ import annotations

import re

from ..._words.nat import DEEPEST
from .explanation import Explanation
from .methods import DOWN, RETRIES, RUNS, TO_N0
from .options import OPTIONS, SCHEDULES
from .printed import described, members, shown
from .shapes import Seen

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


def argument_of_a_run(seen: Seen) -> Explanation | None:
    """Explain an option of a run that a step is given."""
    if seen.sort != "surplus" or seen.method not in (*RETRIES, "or_else", "backoff", "do"):
        return None
    if seen.owner == "Backoff" or (seen.method == "backoff" and seen.argument in OPTIONS):
        return None
    if seen.argument in OPTIONS:
        return Explanation(
            "no-such-option",
            f".{seen.method}(...) has no option {seen.argument}: a run has it.",
            f"Write .run(interpreter, {seen.argument}=...).",
        )
    if not seen.argument and seen.method in RETRIES:
        return Explanation(
            "not-a-failure",
            f".{seen.method}(...) takes one effect, and then on=, the failures that are retried.",
            f"Write .{seen.method}(effect, on=[OSError, ValueError]): a list.",
        )
    return None


def several_effects(seen: Seen) -> Explanation | None:
    """Explain effects that `first_of` is given one by one."""
    if seen.method != "first_of" or seen.sort not in ("surplus", "argument"):
        return None
    if seen.sort == "argument" and not seen.wanted.startswith("int"):
        return None
    return Explanation(
        "not-a-command",
        "first_of(...) takes the effects as a list.",
        "Write first_of([first, second]).",
    )


def option_of_a_schedule(seen: Seen) -> Explanation | None:
    """Explain an option that a schedule does not have."""
    if seen.sort != "surplus" or seen.method not in SCHEDULES or not seen.argument:
        return None
    fix = GENERAL.get(seen.argument, f"`python -c 'help(\"ixbackoff.{seen.method}\")'` lists them")
    return Explanation(
        "no-such-option", f"{seen.method}(...) has no option {seen.argument}.", f"{fix}."
    )


def without_parentheses(seen: Seen) -> Explanation | None:
    """Explain `@durable` without parentheses."""
    if seen.method != "durable" or seen.sort not in ("surplus", "argument") or seen.argument:
        return None
    return Explanation(
        "no-such-option",
        "durable(...) takes its options by name, before it decorates a function.",
        'Write @durable(name="order").',
    )


def step_of_another_value(seen: Seen) -> Explanation | None:
    """Explain a step on a rung, a command or an attempt."""
    if seen.sort != "attribute" or seen.argument not in LADDER:
        return None
    it = seen.it.removesuffix("*")
    if RUNG.fullmatch(it):
        return Explanation(
            "no-such-step",
            f"A rung has no .{seen.argument}(...): at(...) starts a program on it.",
            f"Write at(N3).{seen.argument}(...).",
        )
    kind = shown(it).name
    if kind not in ("Attempt", *COMMANDS):
        return None
    what = "An attempt" if kind == "Attempt" else "A command"
    return Explanation(
        "no-such-step",
        f"{what} has no .{seen.argument}(...): it is on no rung.",
        f"Put it on a ladder: at(N3).retry({'attempt' if kind == 'Attempt' else 'command'}), or "
        "at(N0).do(...) for a single try.",
    )


def unknown_rung(seen: Seen) -> Explanation | None:
    """Explain the name of a rung above the highest one."""
    number = re.fullmatch(r"N(\d+)", seen.it) if seen.sort == "name" else None
    if number is None or int(number[1]) <= DEEPEST:
        return None
    return Explanation(
        "not-a-rung",
        f"The deepest finite ladder is N{DEEPEST}, so {seen.it} does not exist.",
        f"Write N{DEEPEST}, or FOREVER with within=... for tries without end.",
    )


def not_planned(seen: Seen) -> Explanation | None:
    """Explain an argument of `plan` that is not a program."""
    if seen.sort != "argument" or seen.method != "plan" or "Ladder" not in seen.wanted:
        return None
    return Explanation(
        "not-a-program",
        f"plan(...) takes a program or a decorated function, and this is {described(seen.it)}.",
        "Write plan(at(N3).retry(effect)).",
    )


def model(seen: Seen) -> Explanation | None:
    """Explain the interpreter of a model, in place of a function that makes it."""
    wanted = seen.wanted.partition("Interpreter[")[0]
    if seen.sort != "argument" or "W" not in wanted or not seen.it.startswith("Interpreter["):
        return None
    return Explanation(
        "not-an-interpreter",
        "Model(...) takes a function from the world to its interpreter, because each explored run "
        "has a world of its own.",
        "Write Model(World, lambda world: world.interpreter), or Model(World, World.interpreter).",
    )


def workflow(seen: Seen) -> Explanation | None:
    """Explain a workflow whose commands the interpreter of an engine does not answer."""
    unsolved = seen.sort == "unsolved" and seen.method == "Engine"
    kinds = shown(seen.it), shown(seen.wanted)
    if unsolved or (seen.sort == "argument" and kinds[0].name == kinds[1].name == "Workflow"):
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
    """Return the commands of a row that are not answered; none if a checker does not say."""
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
