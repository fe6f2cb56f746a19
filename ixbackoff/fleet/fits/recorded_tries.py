"""The tries that clients recorded: lines of `json_observer`, or spans as OTLP JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from fileinput import FileInput
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

UNSERVED = {"Delay", "Log", "Now", "Pick", "Reserve", "Throw", "Together"}  # need no service
UNSENT = {"CircuitOpen", "Crowded"}  # failures before a request was sent
HTTP, COMMAND, RUN = "http.request.method", "ixbackoff.resend_count", "ixbackoff.run.id"
CLIENTS = {3, "SPAN_KIND_CLIENT"}  # kinds of spans


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
        asked = self.retry_after
        return self if asked is None else self._replace(retry_after=float(asked))

    def failed_with(self, names: Iterable[str]) -> bool:
        return bool({self.failure, str(self.status)} & {*names})


class Recorded(NamedTuple):
    """The tries in the order of their begins; times are seconds since the first arrival."""

    tries: list[Try]
    arrivals: list[float]  # of runs
    alone: int  # how often the files lack the run of a try, or the try before a retry


Span: TypeAlias = tuple[Try, dict[str, Any]]
"""A try made of a span, with the span's id as its run; and the span's fields and attributes."""


def recorded(paths: Sequence[Path], form: str | None = None, peer: str | None = None) -> Recorded:
    """Read the tries in these files; if `form` is `None`, each line shows its format itself.

    The last line of a file may be incomplete, as after its process was killed.

    Raises:
        ValueError: a line is wrong, and the message says where; or there is no try.
        OSError: a file cannot be read.
    """
    spans, tries, arrived = list[Span](), list[Try](), dict[str, float]()
    with FileInput(paths, encoding="utf-8", errors="replace") as file:
        for text in file:
            otlp = '"resourceSpans"' in text if form is None else form == "otlp"
            try:
                line = json.loads(text)
                if otlp:
                    scopes = [scope for one in line["resourceSpans"] for scope in one["scopeSpans"]]
                    spans += [span_of(span) for scope in scopes for span in scope["spans"]]
                elif peer is not None:
                    raise ValueError("--peer needs spans, for there is no address")
                elif line["event"] in {"Began", "Answered"} and line["name"] not in UNSERVED:
                    add_event(line, tries, arrived)
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
                if text.endswith("\n") or not isinstance(error, json.JSONDecodeError):
                    no = f'"{error.args[0]}"' if isinstance(error, KeyError) else "usable JSON"
                    what = error if error.__class__ is ValueError else f"no {no}"
                    place = f"{file.filename()}:{file.filelineno()}: {what} in this"
                    raise ValueError(f"{place} {'span' if otlp else 'event'}.") from None
    alone = sum(one.run not in arrived for one in tries) + add_spans(spans, peer, tries, arrived)
    sent = (one for one in dict.fromkeys(tries) if one.failure not in UNSENT)
    tries = sorted(sent, key=lambda one: one.begun)
    if not tries:
        raise ValueError("There is no try in these files.")
    for one in tries:
        arrived[one.run] = min(one.begun, arrived.get(one.run, one.begun))
    first, *_ = times = sorted(arrived.values())
    tries = [one._replace(begun=one.begun - first, ended=one.ended - first) for one in tries]
    return Recorded(tries, [time - first for time in times], alone)


def add_event(line: dict[str, Any], tries: list[Try], arrived: dict[str, float]) -> None:
    run, ended, get = f"{line['process']} {line['run']}", line["t"], line.get
    begun = ended - (line["seconds"] if line["event"] == "Answered" else 0.0)
    one = Try(run, begun, ended, get("failure"), get("status"), get("retry_after")).checked()
    if line["event"] == "Began":
        arrived[run] = ended
    else:
        tries.append(one)


def span_of(span: dict[str, Any]) -> Span:
    has: dict[str, Any] = {"kind": 3, "name": "", **span}
    for one in span.get("attributes", ()):
        has[one["key"]] = next(iter(one["value"].values()), None)
    begun, ended = (int(span[f"{name}TimeUnixNano"]) / 1e9 for name in ("start", "end"))
    status = int(has.get("http.response.status_code", 0)) or None
    failure = has.get("error.type") or (str(status) if status and status >= 400 else "")
    details = failure.rpartition(".")[2] or None, status, has.get("ixbackoff.retry_after")
    has["resent"] = int(has.get(COMMAND, has.get("http.request.resend_count", 0)))
    return Try(span["spanId"], begun, ended, *details).checked(), has


def add_spans(
    spans: Sequence[Span], peer: str | None, tries: list[Try], arrived: dict[str, float]
) -> int:
    """Add the tries of client spans, and their runs; return how often a run or a try is missing.

    The tries are the spans of HTTP clients if there are any, else those of our commands.
    """
    parents = {one.run: has.get("parentSpanId") or one.run for one, has in spans}
    http = [span for span in spans if HTTP in span[1] and span[1]["kind"] in CLIENTS]
    commands = [span for span in spans if COMMAND in span[1] and span[1]["name"] not in UNSERVED]
    counts: set[tuple[str, int]] = {
        (parents[one.run], has["resent"]) for one, has in http + commands
    }
    alone = sum(count > 0 and (run, count - 1) not in counts for run, count in counts)
    ours = {one.run for one, _ in commands}
    for one, has in http or commands:
        run, passed = parents[one.run], {one.run}
        while run in ours and run not in passed:
            passed.add(run)
            run = parents[run]
        alone += run not in parents
        if peer in {None, has.get("server.address"), has.get("network.peer.address")}:
            tries.append(one._replace(run=run))
    if peer is None:
        arrived |= {one.run: one.begun for one, has in spans if RUN in has}
    return alone
