"""An observer that writes JSON lines."""

from __future__ import annotations

from json import dumps
from os import getpid
from secrets import token_hex
from time import time
from typing import Any, TextIO

from .._limits.events import Answered, Began, Ended, Event, WaitBegan
from .._limits.observers import Observer
from .._meaning.program_names import name_of_part
from .._words.failure_classes import Throttled
from .._words.judging import retry_after


def json_observer(file: TextIO) -> Observer:
    """Make an observer that writes JSON lines: the beginning, commands, waits and end of each run.

    - `event` is `Began`, `Answered` (the end of a command), `WaitBegan` or `Ended`, and `t` is
      its time in Unix seconds.
    - `process` and `run` together are unique; `name` is that of the run, or of the command.
    - `seconds` is the length of a command or run, and `wait` that of a wait; `reason` says why
      a run ended.
    - `failure` is the class of a failure, with its HTTP `status` and its `retry_after` if known.

    >>> from io import StringIO
    >>> from ixbackoff.observing import json_observer, observed
    >>> lines = StringIO()
    >>> with observed(json_observer(lines)):
    ...     pass  # run programs, and call decorated functions

    Args:
        file: a text file, or anything with `write`; it is neither flushed nor closed.
    """
    maker = token_hex(4)  # process ids are not unique among hosts, and are used again

    def observer(event: Event) -> None:
        if not isinstance(event, Began | Answered | WaitBegan | Ended):
            return
        run, line = event.run, dict[str, Any](event=event.__class__.__name__, t=time())
        line |= {"process": f"{maker}-{getpid()}", "run": run.id, "name": run.name}
        if isinstance(event, Answered):
            command = event.issued.command
            line["name"] = name_of_part(command) or command.__class__.__name__
        if isinstance(event, WaitBegan):
            line["wait"] = event.seconds
        elif not isinstance(event, Began):
            line["seconds"] = event.seconds
        if isinstance(event, Ended):
            line["reason"] = event.reason
        if not isinstance(event, Began) and event.failure is not None:
            line |= {"failure": event.failure.__class__.__qualname__, **details(event.failure)}
        file.write(dumps(line) + "\n")

    return observer


def details(failure: BaseException) -> dict[str, Any]:
    """Return the `status` and the `retry_after` of a failure, as far as it has them."""
    places = failure, getattr(failure, "response", None)
    names = "status", "status_code", "code"
    found: list[Any] = [getattr(place, name, None) for place in places for name in names]
    statuses = [one for one in found if isinstance(one, int) and 100 <= one < 600]
    if isinstance(failure, Throttled):
        statuses = [429]
    asked = retry_after(failure) if isinstance(failure, Exception) else None
    status = {"status": statuses[0]} if statuses else {}
    return status if asked is None else {**status, "retry_after": asked}
