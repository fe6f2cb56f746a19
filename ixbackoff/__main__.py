"""The command line: `ixbackoff COMMAND ...`, or `python -m ixbackoff COMMAND ...`."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module

from . import __version__
from ._argument_parser import FAILED, INTERRUPTED, WRONG, escape_unencodable, open_streams
from ._door.subcommands import SUBCOMMANDS, Subcommand
from ._words.extras import INSTALL
from ._words.printable_text import printable


def usage() -> str:
    """List all commands.

    >>> print(usage().splitlines()[0])
    usage: ixbackoff COMMAND [ARGUMENT ...]
    """
    return "\n".join(
        [
            "usage: ixbackoff COMMAND [ARGUMENT ...]",
            "",
            *[f"  {name:12}{command.summary}" for name, command in SUBCOMMANDS.items()],
            "",
            "ixbackoff COMMAND --help shows its arguments, ixbackoff --version the version.",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name; return its exit status."""
    open_streams()
    escape_unencodable()
    try:
        status = dispatched(sys.argv[1:] if arguments is None else arguments)
        print(end="", flush=True)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has gone
        sys.stdout = None  # or Python would flush it at exit, and fail again
        return FAILED
    return status


def dispatched(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = arguments
    if name == "--version":
        print(f"ixbackoff {__version__}")
        return 0
    if name in SUBCOMMANDS:
        return imported_and_run(name, SUBCOMMANDS[name], rest)
    near = get_close_matches(name, SUBCOMMANDS, 1)
    perhaps = f"did you mean {near[0]}?" if near else f"give one of {', '.join(SUBCOMMANDS)}."
    print(f"{printable(name)} is not a command: {perhaps}", file=sys.stderr)
    return WRONG


def imported_and_run(name: str, command: Subcommand, arguments: list[str]) -> int:
    """Import the module of a command and run it, or name the extra that is missing."""
    try:
        status: int = import_module(f"{__package__}.{command.module}").main(arguments)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if not command.extra or package in ("", __package__):
            raise
        message = f"ixbackoff {name} needs {package}: {INSTALL.format(command.extra)}"
        print(message, file=sys.stderr)
        return WRONG
    return status


if __name__ == "__main__":
    sys.exit(main())
