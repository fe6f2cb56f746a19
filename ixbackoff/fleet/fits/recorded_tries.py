"""The tries that clients recorded: lines of `json_observer`, or spans as OTLP JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

LOCAL = {"Log", "Now", "Pick", "Reserve", "Throw", "Together"}
UNSENT = {"CircuitOpen", "Crowded"}
REFUSED = ("429", "503")
LEFT = ("TimeoutError", "Expired")
COUNTS = "http.request.resend_count", "ixbackoff.resend_count"


class Try(NamedTuple):
    """A try: its run, its seconds on the clock of the clients, and its failure.

    `there` is the number of tries that the service held when this one began.
    """

    run: str
    begun: float
    ended: float
    failure: str | None = None
    status: int | None = None
    retry_after: float | None = None
    there: int = 0

    def failed_with(self, names: Iterable[str]) -> bool:
        return bool({self.failure, str(self.status)} & {*names})


class Recorded(NamedTuple):
    """Tries in the order in which they began, arrivals of runs, and the number of lone tries.

    A try is alone if its run, or the try before it in its run, is in no file.
    """

    tries: list[Try]
    arrivals: list[float]
    alone: int


class Lines(NamedTuple):
    events: list[tuple[str, Any]]
    spans: list[tuple[str, Any]]


def recorded(paths: Iterable[Path], form: str | None = None, peer: str | None = None) -> Recorded:
    """Read the tries in these files, by default in the format that their first lines show.

    Raises:
        ValueError: a line is wrong; the message names it.
        OSError: a file cannot be read.
    """
    lines = Lines([], [])
    for path in paths:
        otlp = form == "otlp"
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if number == 1 and form is None:
                    otlp = '"resourceSpans"' in text
                place = f"{path}:{number}"
                try:
                    line = json.loads(text)
                except ValueError as error:
                    raise ValueError(f"{place}: not a line of JSON: {error}.") from None
                if otlp:
                    lines.spans.extend((place, span) for span in spans_of(place, line))
                else:
                    lines.events.append((place, line))
    tries, arrived, alone = of_spans(lines.spans, peer)
    for place, line in lines.events:
        of_event(place, line, tries, arrived)
    alone += sum(run not in arrived for run in {one.run for one in tries})
    for one in tries:
        arrived[one.run] = min(one.begun, arrived.get(one.run, one.begun))
    sent = [one for one in tries if one.failure not in UNSENT]
    return Recorded(sorted(sent, key=lambda one: one.begun), sorted(arrived.values()), alone)


def found(place: str, line: Any, *names: str, what: str = "event") -> Iterator[Any]:
    for name in names:
        value = line.get(name) if isinstance(line, dict) else None
        if value is None:
            raise ValueError(f'{place}: no "{name}" in this {what}.')
        yield value


def of_event(place: str, line: Any, tries: list[Try], arrived: dict[str, float]) -> None:
    [event] = found(place, line, "event")
    if event in ("Began", "Answered") and line.get("name") not in LOCAL:
        process, run, time = found(place, line, "process", "run", "t")
        if event == "Began":
            arrived[f"{process} {run}"] = time
            return
        [seconds] = found(place, line, "seconds")
        details = (line.get(name) for name in ("failure", "status", "retry_after"))
        tries.append(Try(f"{process} {run}", time - seconds, time, *details))


def spans_of(place: str, line: Any) -> Iterator[dict[str, Any]]:
    [resources] = found(place, line, "resourceSpans", what="line")
    for resource in resources:
        for scope in resource.get("scopeSpans", ()):
            yield from scope.get("spans", ())


def of_spans(
    spans: Iterable[tuple[str, Any]], peer: str | None
) -> tuple[list[Try], dict[str, float], int]:
    """Return the tries of client spans, the known runs, and the number of tries that are alone.

    Spans of an HTTP client inside a command of ours take the place of the command's span.
    """
    parents: dict[str, str] = {}
    http, commands, counts = list[Try](), list[Try](), dict[str, set[int]]()
    inside: set[str] = set()  # the commands' spans
    for place, span in spans:
        own, begun, ended = found(
            place, span, "spanId", "startTimeUnixNano", "endTimeUnixNano", what="span"
        )
        parents[own] = span.get("parentSpanId") or ""
        has = {one["key"]: next(iter(one["value"].values())) for one in span.get("attributes", ())}
        status = int(has.get("http.response.status_code") or 0) or None
        failure = has.get("error.type") or (str(status) if (status or 0) >= 500 else None)
        asked = has.get("ixbackoff.retry_after")
        times = int(begun) / 1e9, int(ended) / 1e9
        failure = failure and failure.rpartition(".")[2]
        one = Try(own, *times, failure, status, None if asked is None else float(asked))
        if COUNTS[1] in has and span.get("name") not in LOCAL:
            inside.add(own)
            commands.append(one)
        elif "http.request.method" in has:
            there = {has.get("server.address"), has.get("network.peer.address")}
            http += [one] if peer is None or peer in there else []
        if (count := next((has[name] for name in COUNTS if name in has), None)) is not None:
            counts.setdefault(parents[own] or own, set()).add(int(count))
    tries, known = list[Try](), dict[str, float]()
    for one in http or commands:
        run = parents[one.run] or one.run
        while run in inside:
            run = parents[run] or run
        tries.append(one._replace(run=run))
        if run in parents:
            known[run] = one.begun
    gaps = sum(number > 0 and number - 1 not in all_ for all_ in counts.values() for number in all_)
    return tries, known, gaps
