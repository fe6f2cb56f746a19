"""What the command lines of the experiments share."""

from __future__ import annotations

from ..._commandline import Parser, whole
from ..drawing import add_picture


def command(name: str, description: str) -> Parser:
    """The parser of an experiment, which can be drawn and has random numbers.

    >>> command("crash", "A server that stops.").prog
    'python -m ixbackoff.fleet crash'
    """
    parser = Parser(
        prog=f"python -m ixbackoff.fleet {name}",
        description=description,
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    parser.add_argument(
        "--seed", type=whole(0, 2**32), default=0, help="of the random numbers (default: 0)"
    )
    add_picture(parser)
    return parser
