"""The tries that clients recorded are read from lines and spans, and what is wrong is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id

from ixbackoff import N2, Constant, ServerError, Throttled, backoff
from ixbackoff.fleet.fit_command import main
from ixbackoff.fleet.fits.choosing import fitted
from ixbackoff.fleet.fits.recorded_tries import Try, recorded
from ixbackoff.observing import json_observer, observed, opentelemetry_observer

from ..support.fleets.truths import STEPS, Truth, events, otlp, span, spans, tries_of, written

TRIES = tries_of(Truth(), load=STEPS[1:4])
ANSWERED = {"event": "Answered", "t": 9.0, "process": "p", "run": 1, "name": "get", "seconds": 1}
SPAN = {"spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}


def test_spans_of_any_http_client_give_the_same_model(tmp_path: Path) -> None:
    lines = recorded([written(tmp_path / "lines", events(TRIES))])
    read = recorded([written(tmp_path / "spans", [otlp(spans(TRIES)[::-1])])])
    assert (read.alone, lines.alone) == (0, 0)
    assert read.arrivals == pytest.approx(lines.arrivals, abs=1e-5)
    for one, other in zip(read.tries, lines.tries, strict=True):
        assert one[1:3] == pytest.approx(other[1:3], abs=1e-5)
    first, second = (fitted(some.tries, ["503"], []) for some in (lines, read))
    assert (first.limit, first.tries) == (second.limit, second.tries)
    assert [(found.kind, found.workers) for found in first.near] == [("fifo", 4)]
    assert second.near[0].works == pytest.approx(first.near[0].works, abs=1e-5)


def test_only_spans_of_clients_are_tries(tmp_path: Path) -> None:
    kinds: Sequence[Any] = 3, "SPAN_KIND_CLIENT", 2, "SPAN_KIND_SERVER"
    counts = [
        len(recorded([written(tmp_path / "spans", [otlp(spans(TRIES, kind))])]).tries)
        for kind in kinds[:2]
    ]
    assert counts == [len(TRIES)] * 2
    for kind in kinds[2:]:
        with pytest.raises(ValueError, match="There is no try in these files"):
            recorded([written(tmp_path / "spans", [otlp(spans(TRIES, kind))])])


def test_a_peer_is_chosen(tmp_path: Path) -> None:
    file = written(tmp_path / "spans", [otlp(spans(TRIES))])
    assert len(recorded([file], None, "books").tries) == len(TRIES)
    with pytest.raises(ValueError, match="There is no try"):
        recorded([file], None, "pens")
    with pytest.raises(ValueError, match=r"lines:1: --peer needs spans, .* in this event\."):
        recorded([written(tmp_path / "lines", events(TRIES))], None, "books")


def attributes(**found: str) -> dict[str, Any]:
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in found.items()]
    return {"attributes": pairs}


def test_only_the_runs_that_reached_the_peer_arrive(tmp_path: Path) -> None:
    found = list[dict[str, Any]]()
    for begun, place in enumerate(["books", "pens", "pens"]):
        run, command, own = (f"{name}{begun}" for name in ("run", "command", "try"))
        asked = {"http.request.method": "GET", "server.address": place}
        found += [
            span(run, "", begun, begun + 0.5) | attributes(**{"ixbackoff.run.id": "1"}),
            span(command, run, begun, begun + 0.5) | attributes(**{"ixbackoff.resend_count": "0"}),
            span(own, command, begun, begun + 0.5) | attributes(**asked),
        ]
    file = written(tmp_path / "spans", [otlp(found)])
    assert [one.run for one in recorded([file]).tries] == ["run0", "run1", "run2"]
    assert recorded([file], None, "pens").arrivals == [0.0, 1.0]
    commands = written(tmp_path / "commands", [otlp([found[1] | {"parentSpanId": ""}])])
    assert [one.run for one in recorded([commands]).tries] == ["command0"]
    with pytest.raises(ValueError, match="There is no try"):
        recorded([commands], None, "pens")


def exported(real: ReadableSpan) -> dict[str, Any]:
    """Return a span of the SDK as OTLP JSON has it."""
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    attributes = [
        {"key": key, "value": {kinds[type(value)]: str(value) if type(value) is int else value}}
        for key, value in (real.attributes or {}).items()
    ]
    assert real.context is not None
    return {
        "spanId": format_span_id(real.context.span_id),
        "parentSpanId": format_span_id(real.parent.span_id) if real.parent else "",
        "name": real.name,
        "kind": real.kind.value + 1,
        "startTimeUnixNano": str(real.start_time),
        "endTimeUnixNano": str(real.end_time),
        "attributes": attributes,
    }


def test_spans_of_a_real_export_are_the_tries_of_our_lines(tmp_path: Path) -> None:
    exporter, tracers, lines = InMemorySpanExporter(), TracerProvider(), StringIO()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    outcomes = iter([ServerError(503, 0.0), Throttled(0.0), None, ServerError(500), None] * 2)

    @backoff(N2, schedule=Constant(0.01))
    def ask() -> None:
        sleep(0.02)
        if failure := next(outcomes):
            raise failure

    with observed(json_observer(lines)), observed(opentelemetry_observer(tracers)):
        for _ in range(4):
            ask()
    found = [exported(span) for span in exporter.get_finished_spans()]
    tracers.shutdown()
    spans_file = written(tmp_path / "spans", [otlp(found[:5]), otlp(found[5:])])
    (tmp_path / "lines").write_text(lines.getvalue())
    read, ours = recorded([spans_file]), recorded([tmp_path / "lines"])
    assert (read.alone, ours.alone) == (0, 0)
    assert len(ours.tries) == 10
    for one, other in zip(read.tries, ours.tries, strict=True):
        assert one[3:] == other[3:]
        assert one[1:3] == pytest.approx(other[1:3], abs=0.01)
    assert read.arrivals == pytest.approx(ours.arrivals, abs=0.01)
    assert len({one.run for one in read.tries}) == 4


def test_tries_without_a_run_or_a_try_before_them_are_alone(tmp_path: Path) -> None:
    found = spans(TRIES)
    begun = [one for one in found if one["spanId"].startswith("run")]
    tried = [one for one in found if one["spanId"].startswith("try")]
    later = [one for one in tried if one["spanId"].endswith(" 1")]
    without = [one for one in found if one not in begun[:5]]
    tries = sum(one["parentSpanId"] in {run["spanId"] for run in begun[:5]} for one in without)
    assert recorded([written(tmp_path / "spans", [otlp(without)])]).alone == tries
    kept = begun + [one for one in tried if not one["spanId"].endswith(" 0")]
    assert recorded([written(tmp_path / "spans", [otlp(kept)])]).alone == len(later)
    lines = [one for one in events(TRIES) if one["event"] != "Began"]
    assert recorded([written(tmp_path / "lines", lines)]).alone == len(TRIES)


def test_spans_that_are_parents_of_each_other_are_read_to_the_end(tmp_path: Path) -> None:
    count = {"attributes": [{"key": "ixbackoff.resend_count", "value": {"intValue": "0"}}]}
    pair = [{**span(own, parent, 1.0, 2.0), **count} for own, parent in ("ab", "ba")]
    assert len(recorded([written(tmp_path / "spans", [otlp(pair)])]).tries) == 2


def test_lines_in_any_order_and_twice_are_the_same_trace(tmp_path: Path) -> None:
    lines = events(TRIES)
    first = written(tmp_path / "first", lines[: len(lines) // 2])
    second = written(tmp_path / "second", lines[len(lines) // 2 :])
    whole = recorded([written(tmp_path / "whole", lines)])
    assert recorded([second, first]) == whole
    assert recorded([written(tmp_path / "back", lines[::-1])]) == whole
    assert recorded([first, second, second]) == whole


def test_a_last_line_may_be_incomplete(tmp_path: Path) -> None:
    file = written(tmp_path / "killed", events(TRIES))
    text = file.read_text()
    file.write_text(text[:-20])
    assert len(recorded([file]).tries) == len(TRIES) - 1
    file.write_text(text[:-20] + text)
    with pytest.raises(ValueError, match=rf"killed:{text.count(chr(10))}: .* in this event\."):
        recorded([file])


def test_commands_that_no_service_answered_are_left_out(tmp_path: Path) -> None:
    lines = [
        {**ANSWERED, "name": "Log"},
        {**ANSWERED, "name": "Delay"},
        {**ANSWERED, "failure": "CircuitOpen"},
        {**ANSWERED, "event": "Ended"},
        ANSWERED,
    ]
    assert recorded([written(tmp_path / "lines", lines)]).tries == [Try("p 1", 0.0, 1.0)]


def without(line: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key != name}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((without(ANSWERED, key), f'no "{key}" in this event.') for key in ANSWERED),
        ({**ANSWERED, "seconds": -1}, "negative seconds, in this event."),
        ({**ANSWERED, "seconds": float("nan")}, "no finite times, or negative seconds, in this"),
        ({**ANSWERED, "t": float("inf")}, "no finite times, or negative seconds, in this event."),
        ({**ANSWERED, "t": "noon"}, "no usable JSON in this event."),
        ({**ANSWERED, "seconds": None}, "in this event."),
        ({**ANSWERED, "event": "Began", "t": None}, "in this event."),
        ({**ANSWERED, "event": "Began", "t": float("nan")}, "in this event."),
        ({**ANSWERED, "retry_after": "soon"}, "could not convert string to float: 'soon' in this"),
        ([1, 2], "no usable JSON in this event."),
        (7, "no usable JSON in this event."),
        (None, "no usable JSON in this event."),
        *((otlp([without(SPAN, key)]), f'no "{key}" in this span.') for key in SPAN),
        (otlp([{**SPAN, "endTimeUnixNano": "0"}]), "negative seconds, in this span."),
        (otlp([{**SPAN, "endTimeUnixNano": "now"}]), "in this span."),
        (otlp([{**SPAN, "attributes": [{"key": "a"}]}]), 'no "value" in this span.'),
        (otlp([{**SPAN, "attributes": [{"key": "a", "value": {}}]}]), "There is no try"),
        (otlp([{**SPAN, "attributes": 7}]), "in this span."),
        ({"resourceSpans": [{}]}, 'no "scopeSpans" in this span.'),
        ({"resourceSpans": None}, "in this span."),
        ({"resourceSpans": [7]}, "in this span."),
    ],
)
def test_a_wrong_line_is_named(line: Any, said: str, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps(ANSWERED | {"event": "Ended"}) + "\n" + json.dumps(line) + "\n")
    assert main([str(file)]) == 2
    [error] = capsys.readouterr().err.splitlines()
    assert said in error
    assert error.startswith(f"{file}:2: ") or "There is no try" in error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "There is no try in these files."),
        (b"\xff\xfe\x00\n", "trace:1: "),
        (b"nonsense\n", "trace:1: "),
        (b"\n", "trace:1: "),
        (b"[" * 100_000 + b"\n", "trace:1: "),
        (b"{}\n", 'trace:1: no "event" in this event.'),
    ],
)
def test_a_file_without_tries_is_refused(
    content: bytes, said: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "trace").write_bytes(content)
    assert main([str(tmp_path / "trace")]) == 2
    assert said in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
