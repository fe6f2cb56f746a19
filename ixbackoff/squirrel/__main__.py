"""The command line: `python -m ixbackoff.squirrel URL...`."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

INTERRUPTED = 130


def parsed(arguments: list[str] | None) -> Namespace:
    """The command line's words."""
    parser = ArgumentParser(
        prog="python -m ixbackoff.squirrel",
        description="Keep copies of web resources in an object store, and an index of them. What "
        "is kept already, by its ETag, is not copied again; a failure that may pass is tried again "
        "after a wait, at most three times, each longer than the one before.",
        epilog="Exit status: 0 if all resources are kept, 1 if not, 2 if the command is wrong.",
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="an http:// or https:// resource")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="where copies are kept: file:///folder, memory://, s3://bucket/prefix with the usual "
        "AWS variables (default: the folder objects in --folder)",
    )
    parser.add_argument(
        "--endpoint", metavar="URL", help="of an S3 service other than AWS's, for s3:// stores"
    )
    parser.add_argument(
        "--index",
        metavar="URL",
        help="where it stands what is kept: sqlite:///file, postgresql+psycopg://host/database "
        "(default: the file index.sqlite in --folder)",
    )
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        type=Path,
        default=Path("squirrel"),
        help="for the defaults of --store and --index, and for files in passing (%(default)s)",
    )
    parser.add_argument(
        "--base", metavar="SECONDS", type=float, help="the first wait (1; with --demo 0.1)"
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="copy five resources, twice, from an origin on loopback that fails as real ones do",
    )
    parser.add_argument("--verbose", action="store_true", help="show what the program logs")
    words = parser.parse_args(arguments)
    if words.demo == bool(words.urls):
        parser.error("give the URLs of the resources, or --demo and none")
    return words


def main(arguments: list[str] | None = None) -> int:
    """Keep what the command line names; the exit status."""
    words = parsed(arguments)
    try:
        from .index import IndexBroken, IndexUnavailable
        from .running import demonstrated, kept
    except ModuleNotFoundError as missing:
        print(f"{missing.name} is missing: pip install 'ixbackoff[squirrel]'", file=sys.stderr)
        return 2
    if words.verbose:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("ixbackoff").setLevel(logging.INFO)
    try:
        return demonstrated(words) if words.demo else kept(words)
    except KeyboardInterrupt:
        print("Interrupted; what is kept so far stands in the index.", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ImportError, IndexBroken, IndexUnavailable) as error:
        print(f"{error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
