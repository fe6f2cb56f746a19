"""The command line: `ixbackoff plot [MODULE:NAME ...]`."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from .._argument_parser import WRONG, Flag, Parser, add_flags, timing, whole
from ..schedules.base import Timing
from .wait_curves import plot

POST = ("ixbackoff.schedules.published:post_blue", "ixbackoff.schedules.published:post_green")
MOST = 1000


def named(text: str) -> tuple[str, Timing]:
    return text, timing(text)


def labelled(timings: dict[str, Timing]) -> dict[str, Timing]:
    """Label schedules by their names, with their modules if two have the same name."""
    names = [text.rpartition(":")[2] for text in timings]
    return {
        text if names.count(name) > 1 else name: timing
        for name, (text, timing) in zip(names, timings.items(), strict=True)
    }


def file_name(text: str) -> str:
    """Return `text`, if the names of the files can begin with it."""
    if not text or Path(text).name != text or not text.isprintable():
        raise ArgumentTypeError(
            f"{text!r} is not a name for a file: give a name, and the folder with --folder"
        )
    return text


FLAGS = (
    Flag("waits", 20, whole(1, MOST), "the number of waits", "WAITS"),
    Flag("seed", 1, whole(0), "the seed of the random numbers", "SEED"),
    Flag("folder", None, Path, "the folder of the files (default: the current one)", "FOLDER"),
    Flag("name", "waits", file_name, "the beginning of the names of the files", "NAME"),
)


def pictured(draw_into: Callable[[Path], Iterable[Path]], folder: Path | None) -> int:
    """Draw if a folder is given; print the files or the error, and return the exit status."""
    if folder is None:
        return 0
    try:
        files = [*draw_into(folder)]
    except OSError as error:
        print(f"{error.filename or folder} cannot be used: {error.strerror}.", file=sys.stderr)
        return WRONG
    except (ImportError, ValueError) as error:
        print(f"{error}", file=sys.stderr)
        return WRONG
    print(*files, sep="\n")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(
        prog="ixbackoff plot",
        description="Draw the waits of schedules over the number of the try, on a linear and a "
        "logarithmic axis, as PNG and SVG. Without names it draws the two graphs of the post "
        '"Exponential Backoff or how not to crash a server".',
    )
    parser.add_argument(
        "timings",
        nargs="*",
        type=named,
        metavar="MODULE:NAME",
        help="a schedule in a module that can be imported, or the length of equal waits: 0.5, 2m",
    )
    add_flags(parser, FLAGS)
    args = parser.parse_args(arguments)
    timings = labelled(dict(args.timings or map(named, POST)))
    how = {"wait_count": args.waits, "seed": args.seed, "name": args.name}
    return pictured(partial(plot, timings, **how), args.folder or Path())
