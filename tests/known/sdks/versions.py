"""Write the versions of the installed SDKs, and today's date, into the table of the page."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "known.md"
HEADING = "## Which versions were tried"
VERSION = re.compile(r"\b([A-Za-z][\w-]*) ([0-9]+)(\.[0-9.]*[0-9])")
DATE = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}, on Python [0-9.]+[0-9]")


def installed(written: re.Match[str]) -> str:
    """Return a name with the installed version, if that has the same first number."""
    name, first, rest = written.groups()
    try:
        found = version(name)
    except PackageNotFoundError:
        return written[0]
    return f"{name} {found}" if found.partition(".")[0] == first else f"{name} {first}{rest}"


def main() -> None:
    before, heading, section = PAGE.read_text().partition(HEADING)
    today = f"{datetime.now(UTC):%Y-%m-%d}, on Python {sys.version_info[0]}.{sys.version_info[1]}"
    section = VERSION.sub(installed, DATE.sub(today, section))
    PAGE.write_text(before + heading + section)


if __name__ == "__main__":
    main()
