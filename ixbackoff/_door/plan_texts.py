"""Plans as a table, as JSON, and as Mermaid state diagrams."""

from __future__ import annotations

import json
from math import inf, isfinite
from typing import NamedTuple

from .._meaning.planning import Plan
from .amounts_in_words import counted, spoken
from .platform_time_limits import Fit

WIDEST = 24  # characters in the longest bar


class Planned(NamedTuple):
    name: str
    plan: Plan
    fits: list[Fit]

    @property
    def headline(self) -> str:
        """The plan in one sentence; `as_mermaid` has an example."""
        plan = self.plan
        if plan.wait_count == inf:
            ends = "" if plan.longest in (None, inf) else f" or {spoken(plan.longest)} are over"
            return f"{self.name}: tries without end, until it succeeds{ends}"
        parts = [counted(plan.tries, "try", "tries"), counted(plan.wait_count, "wait", "waits")]
        if plan.longest is None:
            parts.append(f"{spoken(plan.seconds)} of waiting")
        else:
            parts.append(f"{spoken(plan.longest)} in all")
        return f"{self.name}: at most {parts[0]}, {parts[1]} and {parts[2]}"


def as_text(planned: Planned) -> str:
    """Write a plan as a table, with a bar for each wait and a line for each limit."""
    plan = planned.plan
    longest = max((rung.wait_seconds or 0.0 for rung in plan.rungs), default=0.0)
    lines = [planned.headline, "", "rung  tries          from    then waits  if"]
    for rung in plan.rungs:
        tries = "?" if rung.tries is None else str(rung.tries)
        waits = "-" if rung.wait_seconds is None else spoken(rung.wait_seconds)
        bar = "#" * max(1, round(WIDEST * rung.wait_seconds / longest)) if rung.wait_seconds else ""
        times = f"{spoken(rung.begins):>12}  {waits:>12}"
        lines.append(f"N{rung.rung:<3}  {tries:>5}  {times}  {rung.when:8}{bar}".rstrip())
    if plan.wait_count == inf:
        lines.append("and so on, with the last wait repeated")
    if any(rung.takes is None and rung.tries != 0 for rung in plan.rungs):
        lines.append("The times leave out tries of unknown length: give --each or .limit(...).")
    if planned.fits:
        lines.append("")
    lines += [f"{'yes' if one.fits else 'no':5}{one.reason}" for one in planned.fits]
    return "\n".join(lines)


def as_json(planned: Planned) -> str:
    """Write a plan as JSON, with `null` for infinite numbers and those that only the run knows."""
    plan = planned.plan
    return json.dumps(
        {
            "program": planned.name,
            "endless": plan.wait_count == inf,
            "tries": finite_or_none(plan.tries),
            "wait_count": finite_or_none(plan.wait_count),
            "seconds": finite_or_none(plan.seconds),
            "longest": finite_or_none(plan.longest),
            "commands": {
                kind.__name__: finite_or_none(many) for kind, many in plan.commands.kinds.items()
            },
            "uncounted": sorted(plan.commands.uncounted),
            "rungs": [rung._asdict() for rung in plan.rungs],
            "fits": [
                {
                    "limit": one.limit.seconds,
                    "service": one.limit.name or None,
                    "fits": one.fits,
                    "reason": one.reason,
                }
                for one in planned.fits
            ],
        },
        indent=2,
    )


def finite_or_none(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


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
