"""`ixbackoff plan MODULE:PROGRAM`: the tries and waits of a program, and time limits."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial

from .._argument_parser import FAILED, WRONG, Parser, duration, in_one_line
from .._meaning.planning import plan
from . import named_objects
from .plan_svg import as_svg
from .plan_texts import Planned, as_json, as_mermaid, as_text
from .platform_time_limits import SERVICES, fit, service_limit

FORMATS: dict[str, Callable[[Planned], str]] = {
    "text": as_text,
    "json": as_json,
    "svg": as_svg,
    "mermaid": as_mermaid,
}


def parsed(words: list[str]) -> Namespace:
    words, given = named_objects.arguments_apart(words)
    parser = Parser(
        prog="ixbackoff plan",
        usage="ixbackoff plan MODULE:PROGRAM [options] [-- ARGUMENT ...]",
        description="Show what a program does at most, without running it: its tries, its waits, "
        f"its time, and whether that fits a limit. {named_objects.TRUST}",
        epilog="Exit status: 0; 1 if the program does not fit a limit; 2 if it has no plan.",
    )
    parser.add_argument(
        "program",
        type=partial(named_objects.program, given=given),
        metavar="MODULE:PROGRAM",
        help=named_objects.PROGRAM_HELP,
    )
    named_objects.add_schedule(parser)
    parser.add_argument(
        "--each",
        type=duration(0),
        metavar="SECONDS",
        help="the longest time of a try; a shorter .limit(...) of the try takes precedence",
    )
    parser.add_argument(
        "--fits",
        type=service_limit,
        action="append",
        default=[],
        metavar="LIMIT",
        help=f"seconds, a time such as 5m, or one of {', '.join(SERVICES)}; may be repeated",
    )
    parser.add_argument(
        "--output-format", choices=[*FORMATS], default="text", help="the format (default: text)"
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    args = parsed(words)
    found: named_objects.Found = args.program
    try:
        whole = plan(found.program, args.schedule, each=args.each)
    except (TypeError, ValueError) as error:  # a schedule may return seconds that no wait can have
        print(f"{found.name} cannot be planned: {in_one_line(error)}", file=sys.stderr)
        return WRONG
    fits = [fit(whole, limit) for limit in args.fits]
    print(FORMATS[args.output_format](Planned(found.name, whole, fits)))
    return 0 if all(one.fits for one in fits) else FAILED
