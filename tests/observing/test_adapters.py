"""Observers for structlog, OpenTelemetry and Prometheus, read back from the packages themselves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from threading import Thread
from typing import Any, NamedTuple

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Delay,
    Download,
    Log,
    NotReady,
    ServerError,
    all_of,
    at,
    backoff,
    call,
    call_async,
    do,
)
from ixbackoff.live import live, live_async
from ixbackoff.observing import (
    observed,
    opentelemetry_observer,
    prometheus_observer,
    structlog_observer,
)
from ixbackoff.testing import Virtual, answers

from ..support.ways.functions import Script, sleeps

PAGE = Download("http://localhost/a", "a")


def fetch_twice_and_fail() -> None:
    """One run that is well after a wait, and one that gives up."""
    world = Virtual(
        Download.handled_by(answers(ServerError(503), None, ServerError(503), KeyError("id")))
    )
    fetch = at(N3).retry(PAGE).named("fetch")
    fetch.run(world.interpreter)
    with pytest.raises(KeyError):
        fetch.run(world.interpreter)


def test_structlog() -> None:
    with capture_logs() as lines, observed(structlog_observer()):
        fetch_twice_and_fail()
    numbers = [line.pop("run_id") for line in lines]
    assert numbers[0] != numbers[1] == numbers[2]
    waits = {
        "event": "waits",
        "log_level": "warning",
        "run": "fetch",
        "tries": 1,
        "rung": 3,
        "seconds": 1.0,
        "failure": "ServerError(503, None)",
    }
    ended = {
        "event": "ended",
        "log_level": "warning",
        "run": "fetch",
        "reason": "not worth another try",
        "tries": 2,
        "wait_count": 1,
        "wait_seconds": 1.0,
        "failure": "KeyError('id')",
    }
    assert lines == [waits, waits, ended]


def test_structlog_takes_a_logger() -> None:
    logger = structlog.get_logger().bind(service="shop")
    with capture_logs() as lines, observed(structlog_observer(logger)):
        fetch_twice_and_fail()
    assert {line["service"] for line in lines} == {"shop"}


def samples(registry: CollectorRegistry) -> set[str]:
    text = generate_latest(registry).decode().splitlines()
    return {line for line in text if not line.startswith("#") and "_created" not in line}


def seconds_of_runs(lines: set[str]) -> set[str]:
    return {line for line in lines if line.startswith("ixbackoff_run_seconds")}


def test_prometheus() -> None:
    registry = CollectorRegistry()
    with observed(prometheus_observer(registry)):
        fetch_twice_and_fail()
        with sleeps():
            at(N1).do(Log("begin")).wait().do(Log("look")).named("look").run(live())
    lines = samples(registry)
    assert {
        'ixbackoff_run_seconds_count{run="fetch"} 2.0',
        'ixbackoff_run_seconds_bucket{le="0.5",run="fetch"} 2.0',
        'ixbackoff_run_seconds_count{run="look"} 1.0',
    } < seconds_of_runs(lines)
    assert lines - seconds_of_runs(lines) == {
        'ixbackoff_runs_total{outcome="well",run="fetch"} 1.0',
        'ixbackoff_runs_total{outcome="not worth another try",run="fetch"} 1.0',
        'ixbackoff_runs_total{outcome="well",run="look"} 1.0',
        'ixbackoff_retries_total{error_type="ServerError",run="fetch"} 2.0',
        'ixbackoff_waited_seconds_total{run="fetch"} 2.0',
        'ixbackoff_waited_seconds_total{run="look"} 1.0',
    }


def test_a_registry_takes_the_counters_once() -> None:
    registry = CollectorRegistry()
    prometheus_observer(registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        prometheus_observer(registry)


class Telemetry(NamedTuple):
    """What was exported, and the observer that exports it."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    tracer: trace.Tracer
    observer: Any

    def named(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def points(self) -> dict[str, dict[tuple[Any, ...], Any]]:
        """From the name of a metric and its attributes to its value, or to its count."""
        data: Any = self.reader.get_metrics_data()
        return {
            metric.name: {
                tuple(sorted(point.attributes.items())): getattr(point, "value", None)
                or getattr(point, "count", None)
                for point in metric.data.data_points
            }
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    observer = opentelemetry_observer(tracers, meters)
    yield Telemetry(exporter, reader, tracers.get_tracer("test"), observer)
    tracers.shutdown()
    meters.shutdown()


def test_a_run_is_a_span_and_a_command_its_child(telemetry: Telemetry) -> None:
    with observed(telemetry.observer), telemetry.tracer.start_as_current_span("request") as around:
        fetch_twice_and_fail()
    well, failed = telemetry.named("fetch")
    assert well.parent.span_id == failed.parent.span_id == around.get_span_context().span_id
    assert well.status.status_code is StatusCode.UNSET
    assert failed.status.status_code is StatusCode.ERROR
    assert {name: value for name, value in failed.attributes.items() if "id" not in name} == {
        "ixbackoff.outcome": "not worth another try",
        "ixbackoff.tries": 2,
        "ixbackoff.wait_count": 1,
        "ixbackoff.wait_seconds": 1.0,
        "error.type": "KeyError",
    }
    assert [event.name for event in failed.events] == ["ixbackoff.wait", "exception"]
    assert dict(failed.events[0].attributes) == {
        "ixbackoff.wait": 1.0,
        "ixbackoff.rung": 3,
        "error.type": "ixbackoff.ServerError",
    }
    commands = telemetry.named("Download")
    assert [command.parent.span_id for command in commands] == [
        run.context.span_id for run in (well, well, failed, failed)
    ]
    assert [command.attributes["ixbackoff.resend_count"] for command in commands] == [0, 1, 0, 1]
    assert [command.status.status_code for command in commands] == [
        StatusCode.ERROR,
        StatusCode.UNSET,
        StatusCode.ERROR,
        StatusCode.ERROR,
    ]


def test_metrics(telemetry: Telemetry) -> None:
    with observed(telemetry.observer):
        fetch_twice_and_fail()
    run = ("ixbackoff.run", "fetch")
    assert telemetry.points() == {
        "ixbackoff.run.duration": {
            (("ixbackoff.outcome", "well"), run): 1,
            (("error.type", "KeyError"), ("ixbackoff.outcome", "not worth another try"), run): 1,
        },
        "ixbackoff.retries": {(("error.type", "ixbackoff.ServerError"), run): 2},
    }


def test_what_a_handler_calls_is_a_child_of_its_command(telemetry: Telemetry) -> None:
    def ask() -> None:
        with telemetry.tracer.start_as_current_span("http"):
            pass

    async def ask_async() -> None:
        await asyncio.sleep(0)
        ask()

    def in_a_block() -> None:
        for one_try in backoff(N1):
            with one_try:
                ask()

    async def in_tasks() -> None:
        await asyncio.gather(*[backoff(N1).call(ask_async) for _ in range(3)])
        await at(N1).retry(call_async(ask_async)).run_async(live_async())

    with observed(telemetry.observer):
        backoff(N1).call(ask)
        at(N1).retry(call(ask)).run(live())
        in_a_block()
        asyncio.run(in_tasks())
        assert not trace.get_current_span().get_span_context().is_valid
    finished: Any = telemetry.exporter.get_finished_spans()
    spans = {span.context.span_id: span for span in finished}
    inner = telemetry.named("http")
    parents = Counter(spans[span.parent.span_id].name for span in inner)
    assert parents == {"ask": 2, "Block": 1, "ask_async": 4}
    commands = [spans[span.parent.span_id] for span in inner]
    assert len({command.parent.span_id for command in commands}) == 7, "each in its own run"


def test_effects_at_the_same_time_are_children_of_their_command(telemetry: Telemetry) -> None:
    with observed(telemetry.observer):
        at(N0).do(all_of(Log("a"), do(Log("b")).then(lambda _: Log("c")))).run(live())
    [together] = telemetry.named("Together")
    [run] = [span for span in telemetry.named("Log") if span.parent is None]
    assert together.parent.span_id == run.context.span_id
    inner = [span for span in telemetry.named("Log") if span is not run]
    assert [span.parent.span_id for span in inner] == [together.context.span_id] * 3


def test_one_command_in_many_threads_has_a_span_in_each(telemetry: Telemetry) -> None:
    work = at(N1).retry(PAGE).named("fetch")
    answering = Download.handled_by(lambda _: None) | Delay.handled_by(lambda _: None)

    def many() -> None:
        for _ in range(20):
            work.run(answering)

    threads = [Thread(target=many) for _ in range(4)]
    with warnings.catch_warnings(), observed(telemetry.observer):
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    runs = {span.context.span_id for span in telemetry.named("fetch")}
    assert len(runs) == len(telemetry.named("Download")) == 80
    assert {span.parent.span_id for span in telemetry.named("Download")} == runs


def test_spans_end_when_a_run_is_cancelled(telemetry: Telemetry) -> None:
    async def main() -> None:
        async def slow() -> None:
            await asyncio.sleep(60)

        task = asyncio.create_task(backoff(N2).call(slow))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with observed(telemetry.observer):
        asyncio.run(main())
    command, run = telemetry.named("slow")
    assert command.parent.span_id == run.context.span_id
    assert run.attributes["ixbackoff.outcome"] == "cancelled"
    assert command.attributes["error.type"] == "asyncio.exceptions.CancelledError"


@pytest.mark.parametrize(
    ("function", "package", "extra"),
    [
        ("structlog_observer", "structlog", "structlog"),
        ("opentelemetry_observer", "opentelemetry", "opentelemetry"),
        ("prometheus_observer", "prometheus_client", "prometheus"),
    ],
)
def test_what_is_not_installed_is_named(function: str, package: str, extra: str) -> None:
    code = f"""
import sys
sys.modules["{package}"] = None
from ixbackoff import observing
try:
    observing.{function}()
except ImportError as error:
    print(error)
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert (
        done.stdout
        == f"{function} needs {package}: pip install '.[{extra}]' in a checkout of ixbackoff\n"
    )


def test_observing_imports_none_of_them() -> None:
    code = """
import sys
from ixbackoff import observing
assert not {"structlog", "opentelemetry", "prometheus_client", "logging"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_a_failure_that_is_retried_is_counted_by_its_class() -> None:
    registry = CollectorRegistry()
    script = Script([NotReady, ConnectionResetError, 1])
    with observed(prometheus_observer(registry)), sleeps():
        backoff(N3, name="fetch").call(script.ask)
    assert {line for line in samples(registry) if "retries" in line} == {
        'ixbackoff_retries_total{error_type="NotReady",run="fetch"} 1.0',
        'ixbackoff_retries_total{error_type="ConnectionResetError",run="fetch"} 1.0',
    }
