"""The experiments: `python -m benchmarks.experiments NAME ...`."""

from __future__ import annotations

import sys
from concurrent.futures import BrokenExecutor

from ixbackoff._argument_parser import FAILED, INTERRUPTED, WRONG, open_streams

from .experiment import run

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
    lines = [f"  {name:12}{what}" for name, (_, what) in EXPERIMENTS.items()]
    head = "usage: python -m benchmarks.experiments NAME ...; NAME --help tells more."
    return "\n".join([head, *lines])


def main(words: list[str]) -> int:
    """Run the experiment that the first word names; return its exit status."""
    open_streams()
    try:
        status = named(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenExecutor as error:
        print(error, file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # the reader of a pipe has ended
        sys.stdout = None  # Python flushes it at exit, and would fail
        return FAILED
    return status


def named(words: list[str]) -> int:
    name, arguments = (words[0], words[1:]) if words else ("", [])
    if name in EXPERIMENTS:
        return run(name, EXPERIMENTS[name][0], arguments)
    if name in ("-h", "--help"):
        print(usage())
        return 0
    print(f"{name!r} is not an experiment.\n{usage()}" if words else usage(), file=sys.stderr)
    return WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
