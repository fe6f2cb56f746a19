"""The flags for seeds and pictures, which most commands have."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from .._argument_parser import Flag, add_flags, whole


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
    add_flags(
        parser,
        [Flag("picture", None, Path, "also draw into this folder; needs matplotlib", "FOLDER")],
    )
