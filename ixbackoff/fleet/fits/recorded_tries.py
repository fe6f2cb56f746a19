"""The tries that clients recorded: lines of `json_observer`, or spans as OTLP JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

UNSERVED = {"Delay", "Log", "Now", "Pick", "Reserve", "Throw", "Together"}
EVENTS = {"Began", "Answered"}
UNSENT = {"CircuitOpen", "Crowded"}
CLIENT = 3, "SPAN_KIND_CLIENT"
HTTP, COMMAND, RUN = KINDS = "http.request.method", "ixbackoff.resend_count", "ixbackoff.run.id"
COUNTS = "http.request.resend_count", COMMAND


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

    def checked(self) -> Try:
        if not -inf < self.begun <= self.ended < inf:
            raise ValueError("no finite times, or negative seconds,")
        return self

    def failed_with(self, names: Iterable[str]) -> bool:
        return bool({self.failure, str(self.status)} & {*names})


class Span(NamedTuple):
    """A span as a try of its own, with the id of the span around it, and its kind of count."""

    own: Try
    parent: str
    kind: str | None
    resent: int
    there: set[Any]


class Recorded(NamedTuple):
    """Tries in the order of their begins, and arrivals of runs, in seconds since the first arrival.

    `alone` counts the tries whose run, or the try before them in their run, is in no file.
    """

    tries: list[Try]
    arrivals: list[float]
    alone: int


def recorded(paths: Iterable[Path], form: str | None = None, peer: str | None = None) -> Recorded:
    """Read the tries in these files, each line in the format that it shows if `form` is `None`.

    The last line of a file may be incomplete, as if its process was killed.

    Raises:
        ValueError: a line is wrong, and the message says where; or there is no try.
        OSError: a file cannot be read.
    """
    spans, tries, arrived = list[Span](), list[Try](), dict[str, float]()
    for path, number, text in lines_of(paths):
        otlp = '"resourceSpans"' in text if form is None else form == "otlp"
        try:
            line = json.loads(text)
            if otlp:
                scopes = [scope for one in line["resourceSpans"] for scope in one["scopeSpans"]]
                spans += [span_of(span) for scope in scopes for span in scope["spans"]]
            elif peer is not None:
                raise ValueError("--peer needs spans, for there is no address")
            elif line["event"] in EVENTS and line["name"] not in UNSERVED:
                seconds = line["seconds"] if line["event"] == "Answered" else 0.0
                details = map(line.get, ("failure", "status", "retry_after"))
                run, ended = f"{line['process']} {line['run']}", line["t"]
                one = Try(run, ended - seconds, ended, *details).checked()
                if line["event"] == "Began":
                    arrived[run] = ended
                else:
                    tries.append(one)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and not text.endswith("\n"):
                continue
            what = f'no "{error.args[0]}"' if isinstance(error, KeyError) else error
            raise ValueError(
                f"{path}:{number}: {what} in this {'span' if otlp else 'event'}."
            ) from None
    found, alone = tries_of(spans, peer, arrived)
    alone += sum(one.run not in arrived for one in tries)
    sent = (one for one in dict.fromkeys(tries + found) if one.failure not in UNSENT)
    tries = sorted(sent, key=lambda one: one.begun)
    if not tries:
        raise ValueError("There is no try in these files.")
    for one in tries:
        arrived[one.run] = min(one.begun, arrived.get(one.run, one.begun))
    times = sorted(arrived.values())
    start = times[0]
    tries = [one._replace(begun=one.begun - start, ended=one.ended - start) for one in tries]
    return Recorded(tries, [time - start for time in times], alone)


def lines_of(paths: Iterable[Path]) -> Iterable[tuple[Path, int, str]]:
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, text in enumerate(file, 1):
                yield path, number, text


def span_of(span: dict[str, Any]) -> Span:
    has = {
        one["key"]: next(iter(one["value"].values()), None) for one in span.get("attributes", ())
    }
    begun, ended = (int(span[f"{name}TimeUnixNano"]) / 1e9 for name in ("start", "end"))
    status = int(has.get("http.response.status_code", 0)) or None
    failure = has.get("error.type") or (str(status) if status and status >= 400 else "")
    asked = has.get("ixbackoff.retry_after")
    details = failure.rpartition(".")[2] or None, status, None if asked is None else float(asked)
    own = Try(span["spanId"], begun, ended, *details).checked()
    kind = next((name for name in KINDS if name in has), None)
    if span.get("name") in UNSERVED or (span.get("kind", 3) not in CLIENT and kind == HTTP):
        kind = None
    count = int(next((has[name] for name in COUNTS if name in has), 0))
    there = {has.get("server.address"), has.get("network.peer.address")}
    return Span(own, span.get("parentSpanId") or own.run, kind, count, there)


def tries_of(
    spans: Iterable[Span], peer: str | None, arrived: dict[str, float]
) -> tuple[list[Try], int]:
    """Return the tries of client spans, and the number of those that are alone.

    Spans of an HTTP client inside a command of ours take the place of the command's span.
    """
    parents = {span.own.run: span.parent for span in spans}
    commands = {span.own.run: span.own for span in spans if span.kind == COMMAND}
    http = [one.own for one in spans if one.kind == HTTP and (peer is None or peer in one.there)]
    arrived |= {span.own.run: span.own.begun for span in spans if span.kind == RUN}
    counts = {(one.parent, one.resent) for one in spans if one.kind in {HTTP, COMMAND}}
    gaps = sum(count > 0 and (parent, count - 1) not in counts for parent, count in counts)
    tries = list[Try]()
    for one in http or commands.values():
        run = parents[one.run]
        while run in commands:
            run = parents[run]
        tries.append(one._replace(run=run))
    return tries, gaps + sum(one.run not in parents for one in tries)
