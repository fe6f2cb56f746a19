"""`ixbackoff audit`: the calls of a code base that more than one layer tries again."""

from __future__ import annotations

import sys
from pathlib import Path

from .._argument_parser import WRONG, Parser
from .audit.layers import LayerTable
from .audit.stack_report import findings, text
from .audit.stacks import Stack, walked
from .check_command import FORMATS
from .check_formats import FORMATS as WRITERS
from .python_files import audited_files


def parser() -> Parser:
    made = Parser(
        prog="ixbackoff audit",
        description="Show the calls that more than one layer of retries tries again, and what the "
        "layers multiply to. The source is only read: nothing is imported or run.",
        epilog="Exit status: 1 if a stack of layers is certain (with --at-most, only if it has "
        "more tries); 2 if a path or the table does not exist, there is no Python file, or the "
        "table cannot be read. `# ixbackoff: one layer` on the line of a layer hides its stacks.",
    )
    made.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a folder or file")
    made.add_argument("--all", action="store_true", help="show uncertain stacks and single layers")
    made.add_argument(
        "--top", type=int, default=10, metavar="N", help="show up to N stacks as text (default: 10)"
    )
    made.add_argument("--at-most", type=int, metavar="N", help="allow stacks of up to N tries")
    made.add_argument(
        "--output-format", choices=FORMATS, default="full", help="the format (default: full)"
    )
    made.add_argument("--tests", action="store_true", help="read tests, docs, builds and such, too")
    made.add_argument("--table", type=Path, metavar="FILE", help="rows of more libraries, as TOML")
    return made


def above(stack: Stack, limit: int | None) -> bool:
    return limit is None or stack.tries * 2**stack.unknown > limit  # unknown tries count as 2


def main(words: list[str]) -> int:
    given = parser().parse_args(words)
    for path in (*given.paths, *filter(None, [given.table])):
        if not path.exists():
            print(f"{path} does not exist.", file=sys.stderr)
            return WRONG
    try:
        LayerTable(given.table, [])
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        print(f"{given.table} is not a table of rows: {error}.", file=sys.stderr)
        return WRONG
    if not any(audited_files(given.paths, tests=True)):
        print(f"No Python file in {', '.join(map(str, given.paths))}.", file=sys.stderr)
        return WRONG
    walk = walked(audited_files(given.paths, tests=given.tests), given.table)
    found = [one for one in walk.all() if above(one, given.at_most)]
    sure = [one for one in found if one.sure]
    shown = found if given.all else sure
    if given.output_format == "full":
        print(*text(walk, shown, given.top, given.all, given.at_most), sep="\n")
    else:
        print(*WRITERS[given.output_format](findings(shown)), sep="", end="")
    return int(bool(sure))
