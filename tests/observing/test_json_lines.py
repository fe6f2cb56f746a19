"""JSON lines of tries, read back; and the same facts on spans."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ixbackoff import N1, N2, Constant, Log, NotReady, Throttled, at, backoff
from ixbackoff.observing import json_observer, observed, opentelemetry_observer
from ixbackoff.testing import Virtual, answers

from ..support.servers.busy import Said, busy


@backoff(N1, schedule=Constant(0.01))
def fetch(url: str) -> bytes:
    return httpx.get(url).raise_for_status().content


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_tries_of_a_function_are_lines_with_the_status_and_the_retry_after(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tries.jsonl"
    with busy(Said(503, headers=(("Retry-After", "0"),))) as server, file.open("a") as lines:
        with observed(json_observer(lines)):
            assert fetch(server.url) == b"acorn"
        with observed(json_observer(lines)), pytest.raises(httpx.UnsupportedProtocol):
            fetch("nowhere")
    first, second, wait, third, ended, *others = read(file.read_text())
    assert [line["event"] for line in (first, second, wait, third, ended)] == [
        *("Began", "Answered", "WaitBegan", "Answered", "Ended")
    ]
    failed = {"failure": "HTTPStatusError", "status": 503, "retry_after": 0.0}
    assert {name: second[name] for name in failed} == failed
    assert {name: wait[name] for name in ("wait", *failed)} == {"wait": 0.01, **failed}
    assert third.keys() == {"event", "t", "process", "run", "name", "seconds"}
    assert ended["reason"] == "well"
    assert 0 <= third["seconds"] <= ended["seconds"] <= ended["t"] - first["t"] + 0.01
    assert [line["t"] for line in (first, second, wait, third, ended)] == sorted(
        line["t"] for line in (first, second, wait, third, ended)
    )
    assert {line["name"] for line in (first, second, wait, third, ended)} == {"fetch"}
    assert others[-1]["failure"] == "UnsupportedProtocol"
    assert "status" not in others[-1]
    runs = {(line["process"], line["run"]) for line in read(file.read_text())}
    assert len(runs) == 2


def test_a_program_names_its_run_and_its_commands() -> None:
    lines = StringIO()
    world = Virtual(Log.handled_by(answers(Throttled(5), NotReady(), None)))
    with observed(json_observer(lines)):
        at(N2).retry(Log("nut")).named("poll").run(world.interpreter)
    tries = [line for line in read(lines.getvalue()) if line["event"] == "Answered"]
    assert [line["name"] for line in tries] == ["Log"] * 3
    assert [
        (line.get("failure"), line.get("status"), line.get("retry_after")) for line in tries
    ] == [
        ("Throttled", 429, 5.0),
        ("NotReady", None, None),
        (None, None, None),
    ]
    assert {line["name"] for line in read(lines.getvalue()) if line["event"] != "Answered"} == {
        "poll"
    }


def test_a_span_of_a_failed_command_has_the_status_and_the_retry_after() -> None:
    exporter, tracers = InMemorySpanExporter(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    refused = Said(503, headers=(("Retry-After", "0"),))
    with busy(refused) as server, observed(opentelemetry_observer(tracers)):
        fetch(server.url)
    failed, well, _ = exporter.get_finished_spans()
    assert failed.attributes is not None
    assert failed.attributes["http.response.status_code"] == 503
    assert failed.attributes["ixbackoff.retry_after"] == 0.0
    assert "http.response.status_code" not in (well.attributes or {})
    tracers.shutdown()
