"""The command line: `python -m ixbackoff.fleet COMMAND ...`."""

from __future__ import annotations

import sys
from concurrent.futures import BrokenExecutor
from importlib import import_module

from .experiments.experiment import main as experiment

COMMANDS = {
    "simulate": ("rehearsal", "your own program, by many clients, against a service that stops"),
    "tune": ("tuning", "the waits for so many clients, checked by a simulation"),
    "server": ("real.server", "for real: the server of the crash, on this machine"),
    "client": ("real.client", "for real: its clients"),
    "storm": ("real.storm", "for real: the whole crash, from steady state to verdict"),
}
"""Commands: the module that has their `main`, and a description."""
EXPERIMENTS = {
    "crash": "a server that stops, with three ways to wait",
    "remedies": "what would have saved it: budgets, circuit breakers, a shorter queue",
    "contention": "many clients update one row",
    "submissions": "jobs, and a pool of file descriptors",
    "buffer": "producers share a disk that gets full",
    "blackhole": "one of three servers never answers",
    "layers": "retries in nested layers multiply",
    "breakers": "a service that is down, and circuit breakers",
    "recovery": "how late the end of an outage is noticed",
}
"""Experiments: the package of each has the name of its command; and a description."""
FAILED = 1
WRONG = 2
INTERRUPTED = 130


def usage() -> str:
    """All commands, and how they are called.

    >>> print(usage().splitlines()[0])
    usage: python -m ixbackoff.fleet COMMAND ...; COMMAND --help tells more.
    """
    lines = [
        "usage: python -m ixbackoff.fleet COMMAND ...; COMMAND --help tells more.",
        *[f"  {name:12}{told}" for name, (_, told) in COMMANDS.items()],
        *[f"  {name:12}experiment: {told}" for name, told in EXPERIMENTS.items()],
    ]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status."""
    try:
        status = commanded(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenExecutor as error:
        print(error, file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # nobody reads what it prints
        sys.stdout = None  # so nothing is left to be written at the end
        return FAILED
    return status


def commanded(words: list[str]) -> int:
    """Run the command that the words say; its exit status."""
    if words and words[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, arguments = (words[0], words[1:]) if words else ("", [])
    if name in EXPERIMENTS:
        command = import_module(f"{__package__}.experiments.{name}.command")
        return experiment(command.EXPERIMENT, arguments)
    if name in COMMANDS:
        module, _ = COMMANDS[name]
        status: int = import_module(f"{__package__}.{module}").main(arguments)
        return status
    print(f"{name} is not a command.\n{usage()}" if words else usage(), file=sys.stderr)
    return WRONG


if __name__ == "__main__":
    sys.exit(main())
