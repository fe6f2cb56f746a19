"""The command line: `ixbackoff fleet COMMAND ...`."""

from __future__ import annotations

import sys
from concurrent.futures import BrokenExecutor
from importlib import import_module

from .._argument_parser import FAILED, WRONG
from .._words.printable_text import printable

COMMANDS = {
    "simulate": ("simulate_command", "many clients run a program against a service that stops"),
    "fit": ("fit_command", "a model of a service from what its clients recorded"),
    "tune": ("tune_command", "the waits for a number of clients, checked by a simulation"),
}


def usage() -> str:
    lines = [
        "usage: ixbackoff fleet COMMAND ...; COMMAND --help tells more.",
        *[f"  {name:12}{what}" for name, (_, what) in COMMANDS.items()],
    ]
    return "\n".join(lines)


def main(words: list[str]) -> int:
    name, arguments = (words[0], words[1:]) if words else ("", [])
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name not in COMMANDS:
        text = f"{printable(name)} is not a command.\n{usage()}" if words else usage()
        print(text, file=sys.stderr)
        return WRONG
    try:
        status: int = import_module(f"{__package__}.{COMMANDS[name][0]}").main(arguments)
    except BrokenExecutor as error:
        print(error, file=sys.stderr)
        return FAILED
    return status
