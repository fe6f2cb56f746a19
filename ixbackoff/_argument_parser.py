"""The parts that all command lines share: parsers of arguments, and errors in one line."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from math import inf
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, TypeVar

from ._words.printable_text import printable
from .schedules.base import Timing
from .schedules.kinds import Constant

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

N = TypeVar("N", int, float)

FAILED = 1
WRONG = 2
INTERRUPTED = 130
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def open_streams() -> None:
    """Open the null device in place of a closed standard output or standard error.

    Python sets `sys.stdout` or `sys.stderr` to `None` after `>&-` or `2>&-`, and in pythonw. A
    shell command that `ixbackoff run` starts still finds the stream closed.
    """
    for name in "stdout", "stderr":
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def escape_unencodable() -> None:
    """Make the standard output escape characters that its encoding lacks, instead of failing."""
    output: Any = sys.stdout
    if getattr(output, "errors", "") == "strict" and hasattr(output, "reconfigure"):
        output.reconfigure(errors="backslashreplace")


class Parser(ArgumentParser):
    """A parser that reports an error in one line."""

    hands_over: ClassVar[bool] = False  # whether `--help` raises `HelpRequested`

    def error(self, message: str) -> Never:
        self.exit(WRONG, f"{printable(message)}; --help tells more.\n")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        if Parser.hands_over:
            raise HelpRequested(self)
        super().print_help(file)


class HelpRequested(Exception):
    """An exception that `print_help` raises; its argument is the parser for `parser_of`."""


def parser_of(main: Callable[[list[str]], int], words: Sequence[str] = ()) -> Parser:
    """Return the parser that `main` makes for these words, without running the command.

    Raises:
        LookupError: `main` makes no parser.
    """
    Parser.hands_over = True
    try:
        main([*words, "--help"])
    except HelpRequested as request:
        parser: Parser = request.args[0]
        return parser
    finally:
        Parser.hands_over = False
    raise LookupError(main)


class Flag(NamedTuple):
    name: str  # without the dashes
    default: float | str | Path | None
    read: Callable[[str], object]  # `bool` for a flag without a value
    help: str
    unit: str = "NUMBER"  # the name of the value in the help
    required: bool = False


def add_flags(parser: ArgumentParser, flags: Iterable[Flag]) -> None:
    for flag in flags:
        default = flag.default
        how: dict[str, Any] = {"type": flag.read, "metavar": flag.unit, "default": default}
        text = flag.help if default is None else f"{flag.help} (default: %(default)s)"
        if flag.read is bool:
            how, text = {"action": "store_true"}, flag.help
        parser.add_argument(f"--{flag.name}", **how, required=flag.required, help=text)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Make a parser of whole numbers from `least` to `most`."""
    bounds = f"{least} or more" if most is None else f"{least} to {most}"
    return bounded(int, least, inf if most is None else most, f"a whole number, {bounds}")


def number(least: float, most: float) -> Callable[[str], float]:
    """Make a parser of numbers from `least` to `most`."""
    return bounded(float, least, most, f"a number, {least:g} to {most:g}")


def duration(least: float, most: float = 1e9) -> Callable[[str], float]:
    """Make a parser of times: seconds, or a number with `s`, `m` or `h`.

    >>> [duration(0.001)(text) for text in ("2.5", "1s", "5m")]
    [2.5, 1.0, 300.0]
    """

    def seconds(text: str) -> float:
        unit = UNITS.get(text[-1:])
        return float(text[:-1]) * unit if unit else float(text)

    bounds = f"{least:g} to {most:g}, or a number with s, m or h, such as 5m"
    return bounded(seconds, least, most, f"seconds, {bounds}")


def bounded(parse: Callable[[str], N], least: float, most: float, what: str) -> Callable[[str], N]:
    def read(text: str) -> N:
        with suppress(ValueError):
            if least <= (value := parse(text)) <= most:
                return value
        raise ArgumentTypeError(f"{text}: give {what}")

    return read


def timing(text: str, kind: type[Any] = Timing) -> Any:
    """Import a schedule, or make one with equal waits of a given length.

    >>> timing("0.1s")
    Constant(every=0.1)
    """
    if re.fullmatch(r"(\d+(\.\d+)?|\.\d+)[smh]?", text):
        return Constant(duration(0)(text))
    named = imported(text)
    if not isinstance(named, kind):
        raise ArgumentTypeError(f"{text} is not a schedule, but {named!r}")
    return named


def imported(text: str) -> Any:
    """Import the object that `MODULE:NAME` names; the current folder is searched, too.

    MODULE can also be a file, inside a package or not, and NAME can have dots.

    >>> imported("ixbackoff.schedules.kinds:powers_of_two")
    Exponential(base=1.0, factor=2.0, cap=None)

    Raises:
        ArgumentTypeError: the module cannot be imported, or it lacks the name.
    """
    module, _, name = text.rpartition(":")
    if not module or not name:
        stem = text.strip(":").removesuffix(".py")
        example = (
            f"{stem}:NAME" if stem.isidentifier() else "ixbackoff.schedules.published:post_blue"
        )
        raise ArgumentTypeError(f"{text}: write MODULE:NAME, such as {example}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    is_file = module.endswith(".py") or "/" in module
    dotted = name_of_file(Path(module)) if is_file else module
    try:
        found: Any = import_module(dotted)
    except (Exception, SystemExit) as error:  # the module may have any fault
        raise ArgumentTypeError(f"{text}: cannot be imported: {in_one_line(error)}") from None
    for part in name.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, dir(found), 1)
            perhaps = f"; did you mean {near[0]}?" if near else ""
            kind = "module" if isinstance(found, ModuleType) else found.__class__.__name__
            raise ArgumentTypeError(f"{text}: the {kind} has no {part}{perhaps}")
        found = getattr(found, part)
    return found


def name_of_file(file: Path) -> str:
    """Make a file importable, and return the name of its module with its packages.

    >>> from ixbackoff import schedules
    >>> name_of_file(Path(schedules.__file__).parent / "kinds.py")
    'ixbackoff.schedules.kinds'

    Raises:
        ArgumentTypeError: the file does not exist, or another module has that name.
    """
    whole = (file / "__init__.py" if file.is_dir() else file).resolve()
    if not whole.is_file():
        raise ArgumentTypeError(f"{file}: there is no such file")
    parts = [] if whole.stem == "__init__" else [whole.stem]
    folder = whole.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    name = ".".join(parts)
    known = getattr(sys.modules.get(name), "__file__", None)
    if name in sys.modules and (known is None or Path(known).resolve() != whole):
        raise ArgumentTypeError(f"{file}: another module has the name {name}: rename the file")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return name


def in_one_line(error: BaseException) -> str:
    message = printable(" ".join(str(error).split()))
    return f"{error.__class__.__name__}: {message}" if message else error.__class__.__name__
