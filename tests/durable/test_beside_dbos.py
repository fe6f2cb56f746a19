"""DBOS workflows beside durable runs: the page shows schedules, signals and child runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS

from ..support.durable import beside
from ..support.durable.engines import url_in

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_dbos_workflow_that_waits_for_a_signal_survives_its_process(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "tests.support.durable.beside", url],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.kill()
    beside.decorated()
    with beside.engine(url) as engine:
        DBOS.send(beside.ID, "signalled")
        handle: Any = DBOS.retrieve_workflow(beside.ID)
        assert handle.get_result() == "Walden"
        assert [run.run for run in engine.runs()] == [f"signalled {beside.ID}"]
