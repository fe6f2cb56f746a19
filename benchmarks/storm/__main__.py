"""The commands of the storm: `python -m benchmarks.storm COMMAND ...`."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "server": ("server", "the server of the crash, on this machine"),
    "client": ("client", "its clients"),
    "run": ("scenario", "the whole crash, from steady state to verdict"),
}
"""The module and the description of each command."""


def main(words: list[str]) -> int:
    """Run a command, and return its exit status."""
    name, arguments = (words[0], words[1:]) if words else ("", [])
    if name not in COMMANDS:
        lines = [f"  {name:8}{what}" for name, (_, what) in COMMANDS.items()]
        print("usage: python -m benchmarks.storm COMMAND ...", *lines, sep="\n", file=sys.stderr)
        return 2
    module, _ = COMMANDS[name]
    status: int = import_module(f"{__package__}.{module}").main(arguments)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
