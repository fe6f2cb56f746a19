"""The logger `"ixbackoff"`; logging is imported when there is something to say."""

from __future__ import annotations

from functools import cache
from typing import Any


class Mute:
    """A logger that says nothing, for a process that cannot open another file.

    After a failure the retry then still takes place, and only the line in the log is lost.
    """

    level = 100  # above CRITICAL

    def isEnabledFor(self, _: int) -> bool:  # noqa: N802  as logging names it
        return False

    def log(self, *_: object, **__: object) -> None:
        pass

    warning = log


def default_logger() -> Any:
    try:
        return imported_logger()
    except OSError:
        return Mute()


@cache
def imported_logger() -> Any:
    from logging import getLogger  # 16 ms

    return getLogger("ixbackoff")
