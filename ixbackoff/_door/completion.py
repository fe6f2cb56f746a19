"""`ixbackoff completion SHELL`: completion of commands, options and files in bash and zsh."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .._commandline import Parser, parser_of
from .pages import pages
from .subcommands import SUBCOMMANDS

SHELLS = ("bash", "zsh")
PACKAGE = __name__.partition(".")[0]
COMPLETE = "complete"
"""The attribute of an action that shtab reads."""
FILES = ("FILE", "MODULE:")
"""What the metavar of an argument begins with if its value may be a file."""


class Marks(NamedTuple):
    """The marks with which shtab completes an argument with files or folders."""

    file: object
    folder: object


def parser() -> Parser:
    """Make the parser of this command."""
    parser = Parser(
        prog="ixbackoff completion",
        description="Print a script that completes commands, options and files. For bash: "
        'eval "$(ixbackoff completion bash)" in ~/.bashrc. For zsh: '
        'eval "$(ixbackoff completion zsh)" in ~/.zshrc, behind compinit.',
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" or ".join(SHELLS))
    return parser


def main(arguments: list[str]) -> int:
    """Print the script for a shell."""
    shell: str = parser().parse_args(arguments).shell
    import shtab

    print(shtab.complete(whole(Marks(shtab.FILE, shtab.DIRECTORY)), shell))
    return 0


def whole(marks: Marks) -> ArgumentParser:
    """Make one parser of all subcommands, which completes and never parses."""
    top = ArgumentParser(prog="ixbackoff")
    top.add_argument("--version", action="store_true", help="show the version")
    below = top.add_subparsers(metavar="COMMAND")
    for name, subcommand in SUBCOMMANDS.items():
        found = subparser(f"{PACKAGE}.{subcommand.module}", marks)
        below.add_parser(name, help=subcommand.summary, parents=[found], add_help=False)
    return top


def subparser(module: str, marks: Marks) -> ArgumentParser:
    """Make the parser of one subcommand; an empty one if a package that it needs is missing."""
    try:
        room = import_module(module)
    except ImportError:
        return ArgumentParser()
    inner: dict[str, object] = getattr(room, "COMMANDS", {}) | getattr(room, "EXPERIMENTS", {})
    if not inner:
        return completed(parser_of(room.main), marks)
    parser = ArgumentParser()
    below = parser.add_subparsers(metavar="COMMAND")
    for name in inner:
        found = completed(parser_of(room.main, [name]), marks)
        below.add_parser(name, help=found.description or "", parents=[found], add_help=False)
    return parser


def completed(parser: ArgumentParser, marks: Marks) -> ArgumentParser:
    """Mark the arguments of a parser that are files, folders or codes."""
    if parser.prog.endswith(" check"):  # which passes its other arguments on to the checker
        parser.add_argument("files", nargs="*", metavar="FILE")
    for action in parser._actions:
        metavar = str(action.metavar or "")
        if action.dest == "code":
            action.choices = [*pages()]
        elif metavar.startswith(FILES):
            setattr(action, COMPLETE, marks.file)
        elif action.type is Path:
            setattr(action, COMPLETE, marks.folder)
    return parser
