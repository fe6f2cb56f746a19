"""The live interpreters: who answers the standard commands in the real world."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Never

from .._running.eventloops import now
from .._running.sleeping import sleep, sleep_async
from .._words.calls import Call, CallAsync
from .._words.commands import AsyncInterpreter, Interpreter
from .._words.vocabulary import Delay, Download, Log, Now, Pick, Standard, Throw, Upload
from .extras import needed
from .limits import DEFAULT_LIMITS, Limits
from .times import Deadline
from .uploads import upload, upload_async

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from .exchanges import Progress

LOGGER = logging.getLogger("ixbackoff")


def live(
    *,
    limits: Limits = DEFAULT_LIMITS,
    stores: Mapping[str, ObjectStore] | None = None,
    progress: Progress | None = None,
    logger: logging.Logger | None = None,
) -> Interpreter[Standard | Call[Any] | Now | Pick]:
    """The interpreter that answers the standard commands in the real world.

    `Download` gets a file over HTTP: it stands at its path when it is whole, and nothing stands
    beside it when it failed. It is asked for without an encoding; one that comes nevertheless is
    kept as it came. `Upload` puts a file into an object store; in a folder, what a killed upload
    left of the same key, `{key}#1` and so on, is removed. `Delay` says so at
    the level INFO and sleeps, `Log` goes to `logging`, `Throw` raises, and `Call` calls.

    What may pass by itself is raised as `ConnectionError`, `TimeoutError`, `ServerError`,
    `Throttled` or, where another download into the same file is under way, `NotReady`. What another
    try would not help is raised as `ClientError`, `TooLarge`, `RedirectError`, `StoreError`,
    `OSError` (no space, no such folder, no permission), `ssl.SSLCertVerificationError` or
    `ValueError` (a URL of the wrong kind). No text of any of them holds the user name, password,
    query or fragment of a URL. A store's `Retry-After` is not carried: its client drops it.

    A download or an upload ends, with `TimeoutError`, when its limits or the program's time
    (`within`, `.limit`) are over, a quarter of a second later at most on a busy machine, whatever
    the other side does. What cannot be ended is left to end by itself: looking up the address of a
    host, importing what the first command needs, waiting for a disk, and the function of a `Call`.
    Parts of a large file that a store did not take in time are removed if it answers at once; a
    bucket should have a rule that removes the others.

    >>> from ixbackoff import N0, Log, at
    >>> at(N0).do(Log("ready")).run(live())

    Args:
        limits: how long, how large and how far.
        stores: object stores by the beginning of their URLs, such as `{"memory://": store}`, used
            for what begins so; the longest beginning wins.
        progress: called with a download, the bytes that it has, and those that it will have,
            `None` if that is not known; once at its start, and with each piece.
        logger: where `Log` goes; by default the logger `"ixbackoff"`.
    """
    kept = dict(stores or {})
    log = logger or LOGGER

    def download(command: Download) -> None:
        deadline = Deadline(limits)
        with needed("Download"):
            from . import http
        http.download(command, limits, deadline, progress)

    return (
        Download.handled_by(download)
        | Upload.handled_by(lambda command: upload(command, kept, limits))
        | Delay.handled_by(lambda wait: sleep(wait, log))
        | at_once(log)
    )


def live_async(
    *,
    limits: Limits = DEFAULT_LIMITS,
    stores: Mapping[str, ObjectStore] | None = None,
    progress: Progress | None = None,
    logger: logging.Logger | None = None,
) -> AsyncInterpreter[Standard | Call[Any] | CallAsync[Any] | Now | Pick]:
    """As `live`, for `run_async`, under asyncio and trio.

    A command that is cancelled, as it is when its time is over, leaves nothing behind: no part of a
    file, no connection, no thread but one that looks up the address of a host.
    `Call` calls its function where it is, so a function that takes long holds up the event loop.
    """
    kept = dict(stores or {})
    log = logger or LOGGER

    async def download(command: Download) -> None:
        deadline = Deadline(limits)
        with needed("Download"):
            from . import http
        await http.download_async(command, limits, deadline, progress)

    calls: type[CallAsync[Any]] = CallAsync

    return (
        Download.awaited_by(download)
        | Upload.awaited_by(lambda command: upload_async(command, kept, limits))
        | Delay.awaited_by(lambda wait: sleep_async(wait, log))
        | calls.awaited_by(lambda command: command())
        | at_once(log)
    )


def at_once(logger: logging.Logger) -> Interpreter[Log | Throw | Call[Any] | Now | Pick]:
    """What needs no waiting."""

    def throw(command: Throw) -> Never:
        try:
            raise command.error
        finally:
            del command  # or the error would be kept alive by a frame in its own traceback

    calls: type[Call[Any]] = Call

    return (
        Log.handled_by(lambda command: logger.log(command.level, "%s", command.message))
        | Throw.handled_by(throw)
        | calls.handled_by(lambda command: command())
        | Now.handled_by(lambda _: now())
        | Pick.handled_by(lambda command: random.randrange(command.count))  # noqa: S311
    )
