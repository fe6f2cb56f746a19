"""The tries that clients recorded: lines of `json_observer`, or spans as OTLP JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

LOCAL = {"Log", "Now", "Pick", "Reserve", "Throw", "Together"}
EVENTS = {"Began", "Answered"}
UNSENT = {"CircuitOpen", "Crowded"}
BEGIN, END = "startTimeUnixNano", "endTimeUnixNano"
COUNTS = "http.request.resend_count", "ixbackoff.resend_count"
OTLP = {"resourceSpans": "line", **dict.fromkeys(("spanId", BEGIN, END), "span")}
Place = tuple[str, Any]
"""The place of a line or a span, for errors, and the line itself."""


class Try(NamedTuple):
    """A try; `there` is the number of tries that the service held when this one began."""

    run: str
    begun: float
    ended: float
    failure: str | None = None
    status: int | None = None
    retry_after: float | None = None
    there: int = 0

    @property
    def seconds(self) -> float:
        return self.ended - self.begun

    def failed_with(self, names: Iterable[str]) -> bool:
        return bool({self.failure, str(self.status)} & {*names})


class Recorded(NamedTuple):
    """Tries in the order of their begins, and arrivals of runs, in seconds since the first arrival.

    `alone` counts the tries whose run, or the try before them in their run, is in no file.
    """

    tries: list[Try]
    arrivals: list[float]
    alone: int


def recorded(
    paths: Iterable[Path], form: str | None = None, peer: str | None = None, /
) -> Recorded:
    """Read the tries in these files, by default in the format that their first lines show.

    Raises:
        ValueError: a line is wrong, and the message says where; or there is no try.
        OSError: a file cannot be read.
    """
    spans, tries, arrived = list[Place](), list[Try](), dict[str, float]()
    for path in paths:
        otlp = form == "otlp"
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if number == 1 and form is None:
                otlp = '"resourceSpans"' in text
            place = f"{path}:{number}"
            try:
                line = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{place}: not a line of JSON: {error}.") from None
            if otlp:
                resources = field(place, line, "resourceSpans")
                scopes = [scope for one in resources for scope in one["scopeSpans"]]
                spans += [(place, span) for scope in scopes for span in scope["spans"]]
            elif field(place, line, "event") in EVENTS and line.get("name") not in LOCAL:
                run = f"{field(place, line, 'process')} {field(place, line, 'run')}"
                time = field(place, line, "t")
                if line["event"] == "Began":
                    arrived[run] = time
                else:
                    details = map(line.get, ("failure", "status", "retry_after"))
                    tries.append(Try(run, time - field(place, line, "seconds"), time, *details))
    found, alone = tries_of(spans, peer, arrived)
    alone += sum(one.run not in arrived for one in tries)
    tries += found
    for one in tries:
        arrived[one.run] = min(one.begun, arrived.get(one.run, one.begun))
    tries = sorted((one for one in tries if one.failure not in UNSENT), key=lambda one: one.begun)
    if not tries:
        raise ValueError("There is no try in these files.")
    start = min(arrived.values())
    tries = [one._replace(begun=one.begun - start, ended=one.ended - start) for one in tries]
    return Recorded(tries, sorted(time - start for time in arrived.values()), alone)


def field(place: str, line: Any, name: str) -> Any:
    if not isinstance(line, dict) or line.get(name) is None:
        raise ValueError(f'{place}: no "{name}" in this {OTLP.get(name, "event")}.')
    return line[name]


def tries_of(
    spans: Iterable[Place], peer: str | None, arrived: dict[str, float]
) -> tuple[list[Try], int]:
    """Return the tries of client spans, and the number of those that are alone.

    Spans of an HTTP client inside a command of ours take the place of the command's span.
    """
    parents, counts = dict[str, str](), defaultdict[str, set[int]](set)
    http, commands = list[Try](), dict[str, Try]()
    for place, span in spans:
        own = field(place, span, "spanId")
        begun, ended = (int(field(place, span, name)) / 1e9 for name in (BEGIN, END))
        above = parents[own] = span.get("parentSpanId") or own
        has = {one["key"]: next(iter(one["value"].values())) for one in span.get("attributes", ())}
        status = int(has.get("http.response.status_code", 0)) or None
        failure = has.get("error.type") or (str(status) if (status or 0) >= 400 else "")
        failure = failure.rpartition(".")[2] or None
        asked = has.get("ixbackoff.retry_after")
        one = Try(own, begun, ended, failure, status, asked and float(asked))
        if COUNTS[1] in has and span.get("name") not in LOCAL:
            commands[own] = one
        elif "http.request.method" in has:
            there = has.get("server.address"), has.get("network.peer.address")
            http += [one] if peer is None or peer in there else []
        elif "ixbackoff.run.id" in has:
            arrived[own] = begun
        counts[above].add(int(next((has[name] for name in COUNTS if name in has), 0)))
    tries = list[Try]()
    for one in http or commands.values():
        run = parents[one.run]
        while run in commands:
            run = parents[run]
        tries.append(one._replace(run=run))
    gaps = sum(one > 0 and one - 1 not in all_ for all_ in counts.values() for one in all_)
    return tries, gaps + sum(one.run not in parents for one in tries)
