"""Plans as Mermaid state diagrams."""

from __future__ import annotations

from math import inf

from .amounts import counted, spoken
from .plan_text import Planned


def as_mermaid(planned: Planned) -> str:
    """Write a plan as a state diagram: a state for each rung, and an arrow for each wait.

    >>> from ixbackoff import N1, Log, at, plan
    >>> print(as_mermaid(Planned("page", plan(at(N1).retry(Log("try"))), [])))
    ---
    title: "page: at most 2 tries, 1 wait and 1 s in all"
    ---
    stateDiagram-v2
        [*] --> N1
        N1: N1, 1 try
        N1 --> N0: failed, waits 1 s
        N0: N0, 1 try
        N0 --> [*]: ends
    """
    plan = planned.plan
    title = planned.headline.replace('"', "'")
    lines = ["---", f'title: "{title}"', "---", "stateDiagram-v2"]
    lines.append(f"    [*] --> N{plan.rungs[0].rung}")
    for rung in plan.rungs:
        here, last = f"N{rung.rung}", rung is plan.rungs[-1]
        lines.append(f"    {here}: {here}, {counted(rung.tries, 'try', 'tries')}")
        below = here if last else f"N{rung.rung - 1}"
        if rung.wait_seconds is not None:
            lines.append(f"    {here} --> {below}: {rung.when}, waits {spoken(rung.wait_seconds)}")
        elif not last:
            lines.append(f"    {here} --> {below}: without a wait")
    ends = "succeeded" if plan.wait_count == inf else "ends"
    lines.append(f"    N{plan.rungs[-1].rung} --> [*]: {ends}")
    return "\n".join(lines)
