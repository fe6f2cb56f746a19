"""Explanations of arguments, steps and values that belong somewhere else."""

from __future__ import annotations

import re

from ..._words.rungs import DEEPEST
from .explanation import Explanation
from .printed import members, shown
from .wordings import Parsed


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
    unknown_rung,
    workflow,
)
