"""`ixbackoff completion SHELL`: completion of commands, options and files in bash and zsh."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

import shtab

from .._argument_parser import Parser, parser_of
from .mistake_pages import pages
from .subcommands import SUBCOMMANDS

SHELLS = ("bash", "zsh")
PACKAGE = __name__.partition(".")[0]
COMPLETE = "complete"  # shtab reads this attribute of an action
FILES = ("FILE", "MODULE:")  # prefixes of the metavars of arguments that may be files


def main(arguments: list[str]) -> int:
    parser = Parser(
        prog="ixbackoff completion",
        description="Print a script that completes commands, options and files. For bash: "
        'eval "$(ixbackoff completion bash)" in ~/.bashrc. For zsh: '
        'eval "$(ixbackoff completion zsh)" in ~/.zshrc, after compinit.',
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" or ".join(SHELLS))
    shell: str = parser.parse_args(arguments).shell
    print(shtab.complete(whole(), shell))
    return 0


def whole() -> ArgumentParser:
    """Make one parser of all subcommands, which is used for completion only."""
    top = ArgumentParser(prog="ixbackoff")
    top.add_argument("--version", action="store_true", help="show the version")
    below = top.add_subparsers(metavar="COMMAND")
    for name, subcommand in SUBCOMMANDS.items():
        inner = subparser(f"{PACKAGE}.{subcommand.module}")
        below.add_parser(name, help=subcommand.summary, parents=[inner], add_help=False)
    return top


def subparser(module: str) -> ArgumentParser:
    """Make the parser of a subcommand, or an empty parser if a package that it needs is missing."""
    try:
        imported = import_module(module)
    except ImportError:
        return ArgumentParser()
    names: dict[str, object] = getattr(imported, "COMMANDS", {})
    if not names:
        return completed(parser_of(imported.main))
    parser = ArgumentParser()
    below = parser.add_subparsers(metavar="COMMAND")
    for name in names:
        inner = completed(parser_of(imported.main, [name]))
        below.add_parser(name, help=inner.description or "", parents=[inner], add_help=False)
    return parser


def completed(parser: ArgumentParser) -> ArgumentParser:
    """Mark the arguments of a parser that are files, folders or codes of mistakes."""
    if parser.prog.endswith(" check"):  # this parser omits files, because the checker parses them
        parser.add_argument("files", nargs="*", metavar="FILE")
    for action in parser._actions:
        if action.dest == "code":
            action.choices = [*pages()]
        elif str(action.metavar).startswith(FILES):
            setattr(action, COMPLETE, shtab.FILE)
        elif action.type is Path:
            setattr(action, COMPLETE, shtab.DIRECTORY)
    return parser
