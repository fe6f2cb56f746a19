"""The command line: `ixbackoff fleet COMMAND ...`."""

from __future__ import annotations

import sys
from concurrent.futures import BrokenExecutor
from importlib import import_module

from .._argument_parser import FAILED, INTERRUPTED, WRONG, open_streams
from .._words.texts import printable

COMMANDS = {
    "simulate": ("simulate_command", "many clients run a program against a service that stops"),
    "fit": ("fit_command", "a model of a service from what its clients recorded"),
    "tune": ("tuning", "the waits for a number of clients, checked by a simulation"),
}
"""The module and the description of each command."""
EXPERIMENTS = {
    "crash": ("crash", "a server that stops, with three ways to wait"),
    "remedies": ("remedies", "that server with budgets, with circuit breakers, with a short queue"),
    "contention": ("contention", "many clients update one row"),
    "submissions": ("submissions", "jobs, and a pool of file descriptors"),
    "buffer": ("buffer", "producers share a disk that fills up"),
    "blackhole": ("blackhole", "one of three servers never answers"),
    "layers": ("layered", "retries in nested layers multiply"),
    "breakers": ("circuit_breakers", "a service that is down, and circuit breakers"),
    "metastable": ("metastable", "which loads and outages keep a server down"),
    "recovery": ("recovery", "how late the end of an outage is noticed"),
}
"""The module and the description of each experiment."""


def usage() -> str:
    lines = [
        "usage: ixbackoff fleet COMMAND ...; COMMAND --help tells more.",
        *[f"  {name:12}{what}" for name, (_, what) in COMMANDS.items()],
        *[f"  {name:12}experiment: {what}" for name, (_, what) in EXPERIMENTS.items()],
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    open_streams()
    try:
        status = run_command(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenExecutor as error:
        print(error, file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # the reader of a pipe has ended
        sys.stdout = None  # so that Python does not flush it when it exits
        return FAILED
    return status


def run_command(words: list[str]) -> int:
    if words and words[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, arguments = (words[0], words[1:]) if words else ("", [])
    if name in EXPERIMENTS:
        from .experiments.experiment import main as experiment

        return experiment(name, EXPERIMENTS[name][0], arguments)
    if name in COMMANDS:
        module, _ = COMMANDS[name]
        status: int = import_module(f"{__package__}.{module}").main(arguments)
        return status
    print(f"{printable(name)} is not a command.\n{usage()}" if words else usage(), file=sys.stderr)
    return WRONG
