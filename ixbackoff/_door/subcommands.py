"""The table of the subcommands of `ixbackoff`: the module, a summary and the extra of each."""

from __future__ import annotations

from typing import NamedTuple


class Subcommand(NamedTuple):
    """A module with `main(arguments: list[str]) -> int`, imported when the subcommand runs."""

    module: str
    summary: str
    extra: str = ""  # the extra that installs its further packages, if it needs any


SUBCOMMANDS = {
    "check": Subcommand("_door.check_command", "run a type checker, and explain its errors"),
    "audit": Subcommand("_door.audit_command", "find layers of retries in a code base"),
    "explain": Subcommand("_door.mistake_pages", "explain a mistake by its code"),
    "plan": Subcommand("_door.plan_command", "show the tries, waits and limits of a program"),
    "run": Subcommand("_door.run_command", "run a program, or a shell command on a ladder", "live"),
    "fleet": Subcommand("fleet.fleet_subcommands", "simulate many clients of one service"),
    "durable": Subcommand(
        "durable.durable_command", "list, pause or cancel durable runs", "durable"
    ),
    "squirrel": Subcommand(
        "squirrel.squirrel_command", "copy web resources to a store", "squirrel"
    ),
    "plot": Subcommand("plotting.plot_command", "draw the waits of schedules", "plot"),
    "completion": Subcommand("_door.completion", "complete commands in bash or zsh", "completion"),
}
