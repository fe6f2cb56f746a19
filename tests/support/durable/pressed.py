"""A durable run in which Ctrl-C is pressed.

`python -m tests.support.durable.pressed DATABASE RUN URL FILE` waits, and downloads a file.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

from ixbackoff import N1, Constant, Download, at, call
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live


@durable(name="fetching", schedule=Constant(1.0))
def fetching(url: str, file: str) -> Any:
    return at(N1).do(call(print, "begun", flush=True)).wait().do(Download(url, file))


def main(database: str, run: str, url: str, file: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Engine(live(), fetching, database=database) as engine:
        engine.start_with_id(run, fetching, url, file).result()


if __name__ == "__main__":
    main(*sys.argv[1:])
