"""An observer that records spans and metrics with the API of OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .._limits.events import Answered, Began, Ended, Event, Hedged, Issued, WaitBegan
from .._limits.observers import Observer
from .._meaning.program_names import name_of_part
from .._words.extras import needed
from .json_lines import details

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

KEY = "ixbackoff-run"
"""The key, in OpenTelemetry's context, of the run whose command is being performed."""
ATTRIBUTES = {"status": "http.response.status_code", "retry_after": "ixbackoff.retry_after"}


class Current(NamedTuple):
    """The span of a command, which is current while its handler runs."""

    span: Span
    context: Any
    token: Any


def opentelemetry_observer(
    tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> Observer:
    """Make an observer that records a span of each run, with a child for each command.

    - The span of a run has the name of the run, events for waits and hedges, and the attributes
      `ixbackoff.run.id`, `ixbackoff.outcome`, `ixbackoff.tries`, `ixbackoff.wait_count` and
      `ixbackoff.wait_seconds`.
    - The span of a command has the name of its function or of its class. It is current while its
      handler runs, so the spans that the handler makes are its children. The span has
      `ixbackoff.resend_count`, the number of waits before it.
    - `ixbackoff.run.duration` is a histogram of the seconds of runs, with their waits, and
      `ixbackoff.retries` counts the waits after a failure.

    A failure is recorded in its span, with `error.type` and the status ERROR; in the span of a
    command also with `http.response.status_code` and `ixbackoff.retry_after` (seconds), if known.

    >>> from ixbackoff.observing import observed, opentelemetry_observer
    >>> with observed(opentelemetry_observer()):
    ...     pass

    Args:
        tracer_provider: makes the tracer; by default the global one.
        meter_provider: makes the meter; by default the global one.

    Raises:
        ImportError: opentelemetry-api is not installed.
    """
    with needed("opentelemetry_observer", "opentelemetry", {"opentelemetry"}):
        from opentelemetry import metrics, trace
    return Spans(
        trace.get_tracer("ixbackoff", tracer_provider=tracer_provider),
        metrics.get_meter("ixbackoff", meter_provider=meter_provider),
    )


class Spans:
    """The spans of the current runs and commands.

    A command's span is stored under the event that began it, not under the command: a command is a
    value, which many runs may issue concurrently.
    """

    def __init__(self, tracer: Any, meter: Any) -> None:
        self._tracer = tracer
        self._runs: dict[int | str, Span] = {}
        self._commands: dict[int, Current] = {}
        self._duration = meter.create_histogram(
            "ixbackoff.run.duration", unit="s", description="How long runs take, with their waits."
        )
        self._retries = meter.create_counter(
            "ixbackoff.retries", unit="{retry}", description="Waits after a failure."
        )

    def __call__(self, event: Event) -> None:
        match event:
            case Began():
                self._runs[event.run.id] = self._tracer.start_span(
                    event.run.name, attributes={"ixbackoff.run.id": event.run.id}
                )
            case Issued():
                self._commands[id(event)] = self._begin(event)
            case Answered():
                end(self._commands.pop(id(event.issued)), event.failure)
            case WaitBegan():
                self._wait(event)
            case Ended():
                self._end(event)
            case Hedged():
                attributes = {"ixbackoff.after": event.after, "ixbackoff.won": event.won}
                self._runs[event.run.id].add_event("ixbackoff.hedged", attributes)
            case _:
                pass  # the change of a breaker belongs to no run

    def _begin(self, event: Issued) -> Current:
        from opentelemetry import context
        from opentelemetry.trace import set_span_in_context

        number = event.run.id
        nested = context.get_value(KEY) == number  # inside a command such as `all_of`
        around = context.get_current() if nested else set_span_in_context(self._runs[number])
        span = self._tracer.start_span(
            name_of_part(event.command) or event.command.__class__.__name__,
            context=around,
            attributes={"ixbackoff.resend_count": event.run.wait_count},
        )
        inner = context.set_value(KEY, number, set_span_in_context(span))
        return Current(span, inner, context.attach(inner))

    def _wait(self, event: WaitBegan) -> None:
        attributes: dict[str, Any] = {"ixbackoff.wait": event.seconds, "ixbackoff.rung": event.rung}
        if event.failure is not None:
            attributes["error.type"] = kind_of(event.failure)
            counted = {"ixbackoff.run": event.run.name, "error.type": kind_of(event.failure)}
            self._retries.add(1, counted)
        self._runs[event.run.id].add_event("ixbackoff.wait", attributes)

    def _end(self, event: Ended) -> None:
        run, span = event.run, self._runs.pop(event.run.id)
        span.set_attributes(
            {
                "ixbackoff.outcome": event.reason,
                "ixbackoff.tries": run.tries,
                "ixbackoff.wait_count": run.wait_count,
                "ixbackoff.wait_seconds": run.wait_seconds,
            }
        )
        attributes = {"ixbackoff.run": run.name, "ixbackoff.outcome": event.reason}
        if event.failure is not None:
            failed(span, event.failure)
            attributes["error.type"] = kind_of(event.failure)
        span.end()
        self._duration.record(event.seconds, attributes)


def end(current: Current, failure: BaseException | None) -> None:
    """End the span of a command, and make the span around it current again."""
    from opentelemetry import context

    if context.get_current() is current.context:  # the GC may close a run in another context
        context.detach(current.token)
    if failure is not None:
        failed(current.span, failure)
        for name, value in details(failure).items():
            current.span.set_attribute(ATTRIBUTES[name], value)
    current.span.end()


def failed(span: Span, failure: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.record_exception(failure)
    span.set_attribute("error.type", kind_of(failure))
    span.set_status(Status(StatusCode.ERROR, kind_of(failure)))


def kind_of(failure: BaseException) -> str:
    """Return the class of a failure, in the form of `error.type`."""
    kind = failure.__class__
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"
