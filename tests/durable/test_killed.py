"""Killed at random moments, runs keep what is promised, as the file of their handlers shows.

These are the short forms of what `make kill` does, all at the same time, since they mostly wait.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from ..support.kills.durable_runs import BROKEN_ON_FILE, FOUND, ON_FILE, ON_SERVER, Part
from ..support.kills.killing import Report
from ..support.servers.postgresql import Server

pytestmark = pytest.mark.slow

KILLS = 4
AT_ONCE = 8  # forms
Reports = dict[Part, Future[Report]]


def named(part: Part) -> str:
    return part.name


def begun(part: Part, number: int, server: Server, pool: ThreadPoolExecutor) -> Future[Report]:
    """Begin the short form of a part."""
    short = part._replace(kills=KILLS, at_a_time=2)
    if part in ON_FILE + BROKEN_ON_FILE:
        return pool.submit(short.on_file)
    url = f"postgresql://{server.address.rpartition('/')[0]}/killed{number}"
    return pool.submit(short.among_workers, url)


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest, roomy_postgresql: Server) -> Generator[Reports]:
    """What is found in the parts of all tests that are run."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    mine = [item for item in items if item.module is request.module]
    parts: list[Any] = [item.callspec.params["part"] for item in mine]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            part: begun(part, number, roomy_postgresql, pool) for number, part in enumerate(parts)
        }


@pytest.mark.parametrize("part", ON_SERVER + ON_FILE, ids=named)
def test_killed_runs_keep_what_is_promised(part: Part, reports: Reports) -> None:
    report = reports[part].result()
    assert report.broken == [], str(report)
    assert sum(report.counts[what] for what in ("kills", "stops", "cuts")) >= KILLS
    assert report.counts["runs"] >= 2


@pytest.mark.parametrize("part", BROKEN_ON_FILE, ids=named)
def test_what_is_broken_on_purpose_is_found(part: Part, reports: Reports) -> None:
    report = reports[part].result()
    assert any(FOUND[part.control] in broken for broken in report.broken), str(report)
