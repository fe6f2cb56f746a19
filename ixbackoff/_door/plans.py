"""`python -m ixbackoff plan MODULE:PROGRAM`: what it does at most, and whether that fits."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable

from .._commandline import FAILED, WRONG, Parser, in_one_line, number
from .._meaning.planning import plan
from . import finding
from .diagrams import as_mermaid
from .fitting import SERVICES, judged, limit
from .svg import as_svg
from .tables import Planned, as_json, as_text

FORMATS: dict[str, Callable[[Planned], str]] = {
    "text": as_text,
    "json": as_json,
    "svg": as_svg,
    "mermaid": as_mermaid,
}


def parsed(words: list[str]) -> Namespace:
    """Parse the command line."""
    parser = Parser(
        prog="python -m ixbackoff plan",
        description="Say what a program does at most, without running it: its tries, its waits, "
        "how long it takes, and whether that fits a limit. The exit status is 1 if it does not.",
    )
    finding.add_program(parser)
    parser.add_argument(
        "--each",
        type=number(0, 1e9),
        metavar="SECONDS",
        help="what a try takes at most, where its own limit is not shorter",
    )
    parser.add_argument(
        "--fits",
        type=limit,
        action="append",
        default=[],
        metavar="LIMIT",
        help=f"seconds, or one of {', '.join(SERVICES)}; can be given more than once",
    )
    parser.add_argument(
        "--output-format",
        choices=[*FORMATS],
        default="text",
        help="what to print (default: %(default)s)",
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Print the plan of a program; 1 if it does not fit a limit."""
    args = parsed(words)
    found: finding.Found = args.program
    try:
        known = plan(found.program, args.schedule, each=args.each)
    except (TypeError, ValueError) as error:  # a schedule may give unusable seconds
        print(f"{found.name} cannot be planned: {in_one_line(error)}", file=sys.stderr)
        return WRONG
    verdicts = [judged(known, one) for one in args.fits]
    print(FORMATS[args.output_format](Planned(found.name, known, verdicts)))
    return 0 if all(verdict.fits for verdict in verdicts) else FAILED
