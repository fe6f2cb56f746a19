"""Keeping resources: the pipeline with real handlers, for several resources concurrently."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Event, Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .. import Delay, Exponential, Interpreter
from .._limits.budgets import RetryBudget
from .._words.commands import Handler
from ..live import Connections
from .chosen_storage import Storage, opened_index, storage_of, store_checked
from .commands import Resource
from .fetched_files import FetchedFiles, fetching_folder
from .handlers import Handlers, answering
from .inputs import BadLine, name_of, resources_of
from .one_line_text import described_with_reason
from .pipeline import Kept, Places, Row, squirrel
from .progress_display import Display, log_shown
from .summary import COPIED, HIT, Summary, SummaryLine
from .worker_threads import Jobs

MOST_ORIGINS = 4096  # the number of budgets that are kept


@dataclass(frozen=True)
class Options:
    """The options of keeping; `within` is the time limit of each resource, in seconds."""

    schedule: Exponential
    within: float
    jobs: int


class Parts(NamedTuple):
    """The parts with which the pipeline runs; `stop` ends all waits."""

    interpreter: Interpreter[Row | Delay]
    places: Places
    files: FetchedFiles
    options: Options
    budgets: OriginBudgets
    stop: Event
    display: Display


def keep_named(args: Namespace) -> int:
    summary = summary_of(args)
    display = Display(args.verbose, summary.progress)
    keep_all(resources_of(args), storage_of(args), options_of(args), display, summary)
    return 0 if summary.well else 1


def summary_of(args: Namespace) -> Summary:
    """Return a summary that prints a table, or each line at once if a file names the resources."""
    if args.input is None:
        return Summary(total=len(args.urls))
    return Summary(table=False)


def options_of(args: Namespace, base: float = 1.0) -> Options:
    """Read the options from the command line; by default the first wait takes `base` seconds."""
    first = base if args.base is None else args.base
    return Options(Exponential(base=first), args.within, args.jobs)


def keep_all(
    resources: Iterable[Resource | BadLine],
    storage: Storage,
    options: Options,
    display: Display,
    summary: Summary,
) -> None:
    try:
        with (
            log_shown(display),
            fetching_folder(storage.folder) as folder,
            store_checked(storage),
            opened_index(storage.index, options.schedule, display) as index,
            Connections() as connections,
        ):
            files = FetchedFiles(connections, display.progress)
            places = Places(storage.store, storage.name, str(folder))

            def has(resource: Resource) -> bool:
                return files.has(resource, places.folder) or index.has(resource, places.place)

            interpreter = answering(index, Handlers(connections, storage.stores, files, has))
            parts = Parts(
                interpreter, places, files, options, OriginBudgets(), summary.stop, display
            )
            keep = partial(line_of, partial(keep_one, parts))
            Jobs(resources, name_of, keep, summary.take, summary.stop).run(options.jobs)
    finally:  # after Ctrl-C, too
        display.close()
        summary.end()


def line_of(keep: Callable[[Resource], SummaryLine], item: Resource | BadLine) -> SummaryLine:
    return SummaryLine(*item) if isinstance(item, BadLine) else keep(item)


def keep_one(parts: Parts, resource: Resource) -> SummaryLine:
    waits: list[float] = []

    def shown(command: Any, handler: Handler) -> Any:
        waits.append(command.seconds)
        parts.files.abandon(resource)
        parts.display.wait(resource, command)
        return handler(command)

    program = squirrel(resource, parts.places)
    interpreter = parts.interpreter | Delay.handled_as_in(parts.interpreter).around(shown)

    def keep() -> Kept:
        return program.run(
            interpreter,
            schedule=parts.options.schedule,
            within=parts.options.within,
            budget=parts.budgets.of(resource),
            stop=parts.stop,
        )

    line = SummaryLine(str(resource), "")
    try:
        line = outcome(resource, keep)
    finally:
        parts.display.over(resource)
        parts.files.release(resource, parts.places.folder, line.kept)
    return line._replace(tries=len(waits) + 1, wait_seconds=sum(waits))


def outcome(resource: Resource, keep: Callable[[], Kept]) -> SummaryLine:
    """Call `keep` for a resource; return its line, without the tries and waits."""
    try:
        copy, hit = keep()
    except Exception as failure:
        # the line names the resource already
        text = described_with_reason(failure).replace(f" {resource}:", ":")
        return SummaryLine(str(resource), text)
    result = HIT if hit else COPIED
    return SummaryLine(str(resource), result, key=copy.key, size=copy.size)


class OriginBudgets:
    """The retry budgets of recent origins; all jobs share them, to spare an origin that fails."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of_origin = lru_cache(MOST_ORIGINS)(new_budget)

    def of(self, resource: Resource) -> RetryBudget:
        origin = urlsplit(resource.url).netloc.rpartition("@")[2].lower()
        with self._lock:  # otherwise two jobs might make two budgets of one origin
            return self._of_origin(origin)


def new_budget(_origin: str) -> RetryBudget:
    return RetryBudget.botocore()
