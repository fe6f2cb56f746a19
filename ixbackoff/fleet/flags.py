"""`Flag`: a flag of a command; and the flags for seeds and pictures, which most commands have."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .._commandline import whole


class Flag(NamedTuple):
    """A flag of a command.

    Attributes:
        name: its name, without the dashes.
        default: its default; a tuple for a flag that can be given more than once.
        read: converts the text to its value; `bool` for a flag without a value.
        help: its description.
        unit: the name of the value in the help.
        argument: the name of the model's argument, if it differs from `name`.
    """

    name: str
    default: float | str | tuple[float, ...] | None
    read: Callable[[str], object]
    help: str
    unit: str = "NUMBER"
    argument: str = ""


def add_flags(parser: ArgumentParser, flags: Iterable[Flag]) -> None:
    """Add flags to a parser."""
    for flag in flags:
        default = flag.default
        how: dict[str, Any] = {"type": flag.read, "metavar": flag.unit, "default": default}
        text = flag.help if default is None else f"{flag.help} (default: %(default)s)"
        if flag.read is bool:
            how, text = {"action": "store_true"}, flag.help
        elif isinstance(default, tuple):
            how |= {"action": "append", "default": None}
            text = f"{flag.help}; can be repeated (default: {', '.join(map(str, default))})"
        parser.add_argument(f"--{flag.name}", **how, help=text)


def add_seeds(parser: ArgumentParser, default: int = 1, text: str = "the number of seeds") -> None:
    """Add the flags for the seeds and the number of processes; `text` describes `--seeds`."""
    processes = "the number of processes for many seeds (default: the number of processors)"
    flags = [
        Flag("seed", 0, whole(0, 2**32), "the seed of the random numbers"),
        Flag("seeds", default, whole(1, 100_000), f"{text}, from --seed on"),
        Flag("jobs", None, whole(1, 1000), processes),
    ]
    add_flags(parser, flags)


def add_picture(parser: ArgumentParser) -> None:
    """Add the flag of the folder for pictures."""
    add_flags(
        parser,
        [Flag("picture", None, Path, "also draw into this folder; needs matplotlib", "FOLDER")],
    )
