"""A DBOS workflow beside durable runs.

`python -m tests.support.durable.beside URL` starts one, which waits for a signal.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from dbos import DBOS, SetWorkflowID

from ixbackoff import N1, at, call
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live

ID = "approved"
ENGINES: list[Engine[Any]] = []


@durable(name="title")
def title(text: str) -> Any:
    return at(N1).retry(call(str.title, text))


def decorated() -> Any:
    """Decorate a workflow that waits for a signal; each engine of a process needs it anew."""

    @DBOS.step()
    def titled(id: str, text: str) -> Any:  # noqa: A002
        return ENGINES[-1].start_with_id(id, title, text).result()

    @DBOS.workflow()
    def approved(text: str) -> Any:
        return titled(f"{DBOS.recv()} {DBOS.workflow_id}", text)

    return approved


def engine(url: str) -> Engine[Any]:
    ENGINES.append(Engine(live(), title, database=url))
    return ENGINES[-1]


def main(url: str) -> None:
    approved = decorated()
    with engine(url), SetWorkflowID(ID):
        DBOS.start_workflow(approved, "walden")
        print("waiting", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
