"""The command line: `python -m ixbackoff.fleet COMMAND ...`."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "simulate": ("rehearsal", "your own program, by many clients, against a service that stops"),
    "tune": ("tuning", "the waits for so many clients, checked by a simulation"),
    "crash": ("experiments.crash", "experiment: a server that stops, with three ways to wait"),
    "contention": ("experiments.contention", "experiment: many clients update one row"),
    "submissions": ("experiments.submissions", "experiment: jobs, and a pool of file descriptors"),
    "buffer": ("experiments.buffer", "experiment: producers share a disk that gets full"),
    "blackhole": ("experiments.readers", "experiment: one of three servers never answers"),
    "layers": ("experiments.layers", "experiment: what retries in nested layers multiply to"),
    "recovery": ("experiments.recovery", "experiment: how late the end of an outage is noticed"),
    "server": ("real.server", "for real: the server of the crash, on this machine"),
    "client": ("real.client", "for real: its clients"),
    "storm": ("real.storm", "for real: the whole crash, from steady state to verdict"),
}
FAILED = 1
WRONG = 2
INTERRUPTED = 130


def usage() -> str:
    """What there is.

    >>> print(usage().splitlines()[0])
    usage: python -m ixbackoff.fleet COMMAND ...; COMMAND --help tells more.
    """
    lines = [f"  {name:12}{what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(
        ["usage: python -m ixbackoff.fleet COMMAND ...; COMMAND --help tells more.", *lines]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status."""
    try:
        status = commanded(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads what it prints
        sys.stdout = None  # so nothing is left to be written at the end
        return FAILED
    return status


def commanded(words: list[str]) -> int:
    """Run the command that the words say; its exit status."""
    if words and words[0] in ("-h", "--help"):
        print(usage())
        return 0
    if not words or words[0] not in COMMANDS:
        print(f"{words[0]}: no such command.\n{usage()}" if words else usage(), file=sys.stderr)
        return WRONG
    module, _ = COMMANDS[words[0]]
    status: int = import_module(f"{__package__}.{module}").main(words[1:])
    return status


if __name__ == "__main__":
    sys.exit(main())
