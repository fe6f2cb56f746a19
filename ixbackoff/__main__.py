"""The command line: `python -m ixbackoff COMMAND ...`."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module

from ._commandline import FAILED, INTERRUPTED, WRONG

COMMANDS = {
    "check": ("_door.check", "a type checker's errors, explained in a sentence and a drawing"),
    "explain": ("_door.explain", "a mistake by its code: what is wrong, and how to write it"),
    "plan": ("_door.plans", "what a program does at most, and whether that fits a limit"),
    "run": ("_door.running", "a program, for real or rehearsed; or a shell command on a ladder"),
    "durable": ("durable.__main__", "durable runs: what each does, and pause, resume or cancel it"),
    "fleet": ("fleet.__main__", "many clients against a modelled service, and the experiments"),
    "plotting": ("plotting.__main__", "pictures of schedules"),
    "squirrel": ("squirrel.__main__", "copies of web resources in an object store, with an index"),
}
"""Commands: the module that has their `main(words: list[str]) -> int`, and a description.

A module is imported only when its command is used.
"""


def usage() -> str:
    """All commands, and how they are called.

    >>> print(usage().splitlines()[0])
    usage: python -m ixbackoff COMMAND ...; COMMAND --help tells more.
    """
    lines = [f"  {name:10}{told}" for name, (_, told) in COMMANDS.items()]
    return "\n".join(["usage: python -m ixbackoff COMMAND ...; COMMAND --help tells more.", *lines])


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the words name; its exit status."""
    try:
        status = commanded(sys.argv[1:] if arguments is None else arguments)
        print(end="", flush=True)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads what it prints
        sys.stdout = None  # so nothing is left to be written at the end
        return FAILED
    return status


def commanded(words: list[str]) -> int:
    """Run the command, and let an interruption and a closed pipe through."""
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = words
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, 1)
        perhaps = f"did you mean {near[0]}?" if near else f"give one of {', '.join(COMMANDS)}."
        print(f"{name} is not a command: {perhaps}", file=sys.stderr)
        return WRONG
    module, _ = COMMANDS[name]
    status: int = import_module(f"{__package__}.{module}").main(rest)
    return status


if __name__ == "__main__":
    sys.exit(main())
