"""Pictures of simulations, saved as PNG and SVG."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from .._commandline import WRONG
from .._words.extras import needed
from ..plotting.pictures import FORMATS, SAME


class Drawing(NamedTuple):
    """A figure, and the files that it is saved to.

    Attributes:
        figure: the figure of matplotlib; Any, since its stubs leave much out.
        files: one for each format.
    """

    figure: Any
    files: list[Path]


@contextmanager
def drawing(folder: Path, name: str, inches: tuple[float, float]) -> Generator[Drawing]:
    """Draw in this block; the figure is saved at its end.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, drawing(Path(folder), "empty", (2, 1)) as empty:
    ...     print([file.name for file in empty.files])
    ['empty.png', 'empty.svg']

    Args:
        folder: the folder of the files; it is made if it is missing.
        name: the name of the files, without the suffix.
        inches: width and height.

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    with needed("drawing", "plot", {"matplotlib"}):
        matplotlib: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{form}" for form in FORMATS]
    with matplotlib.rc_context(SAME):
        figure = figures.Figure(figsize=inches, layout="constrained")
        yield Drawing(figure, files)
        for file in files:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def add_picture(parser: ArgumentParser) -> None:
    """Add the flag of commands that can draw."""
    parser.add_argument(
        "--picture", type=Path, metavar="FOLDER", help="draw it there, too; needs matplotlib"
    )


def pictured(draw: Callable[[Path], Iterable[Path]], folder: Path | None) -> int:
    """Draw if a folder is given, and print the files or what went wrong; the exit status.

    >>> pictured(lambda folder: [folder / "waits.svg"], Path("pictures"))
    pictures/waits.svg
    0
    """
    if folder is None:
        return 0
    try:
        files = [*draw(folder)]
    except OSError as error:
        print(f"{error.filename or folder} cannot be used: {error.strerror}.", file=sys.stderr)
        return WRONG
    except ImportError as error:
        print(f"{error}", file=sys.stderr)
        return WRONG
    print(*files, sep="\n")
    return 0
