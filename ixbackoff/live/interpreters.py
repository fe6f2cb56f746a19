"""The live interpreters, `live` and `live_async`."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Never

from .._limits.stopping import checked_stop
from .._running.eventloops import now
from .._running.sleeping import sleep, sleep_async, sleep_until
from .._words.calls import Call, CallAsync
from .._words.commands import AsyncInterpreter, Interpreter
from .._words.texts import printable
from .._words.vocabulary import Delay, Download, Log, Now, Pick, Standard, Throw, Upload
from .connections import Connections, connections_of
from .extras import needed
from .limits import Limits
from .times import Deadline
from .uploads import upload, upload_async

if TYPE_CHECKING:
    from threading import Event

    from obstore.store import ObjectStore

    from .exchanges import Progress

LOGGER = logging.getLogger("ixbackoff")


def live(
    *,
    limits: Limits | None = None,
    connections: Connections | None = None,
    stores: Mapping[str, ObjectStore] | None = None,
    progress: Progress | None = None,
    logger: logging.Logger | None = None,
    stop: Event | None = None,
) -> Interpreter[Standard | Call[Any] | Now | Pick]:
    """Make an interpreter that carries out the standard commands for real.

    - `Download` gets a file over HTTP. The file appears at its path when it is complete and on the
      disk. A large part of one with a strong ETag stays beside it as `.{name}.part` when the
      download breaks off, and the next try or run goes on with it. No encoding is asked for, and an
      encoded answer is kept as it came.
    - `Upload` puts a file into an object store. In a folder it is on the disk then. What a killed
      upload of the same key has left is removed: in a folder `{key}#1` and so on, in S3 the parts
      of an unfinished upload.
    - `Delay` sleeps, and logs the wait: after a failure a WARNING, else at the level INFO.
    - `Log` goes to `logging`, in one line: control characters and line ends are shown as escapes.
      `Throw` raises its exception, and `Call` calls its function.

    Failures that may pass by themselves are raised as `ConnectionError`, `TimeoutError`,
    `ServerError`, `Throttled`, or `NotReady` if another download into the same file is running.
    Failures that another try would not help are raised as `ClientError`, `TooLarge`,
    `RedirectError`, `StoreError`, `OSError` (disk full, folder missing, permission denied),
    `ssl.SSLCertVerificationError` or `ValueError` (a URL of the wrong kind). None of them shows the
    user name, password, query or fragment of a URL. The `Retry-After` of an object store is not
    known, because the store's client drops it.

    A download or an upload ends with `TimeoutError` when its limits or the time of the program
    (`within`, `.limit`) are over, whatever the other side does; on a busy machine up to a quarter
    of a second later. Looking up the address of a host, importing the packages of the extra,
    waiting for a disk, and the function of a `Call` cannot be interrupted. When the upload of a
    large file ends so, its parts are removed if the store answers at once, or by the next upload;
    give the bucket a rule that removes the others. `docs/live.md` has more.

    >>> from ixbackoff import N0, Log, at
    >>> at(N0).do(Log("ready")).run(live())

    Args:
        limits: the time-outs, in seconds, and the bounds of downloads; by default those of
            `connections`.
        connections: connections to web servers that are shared with others; by default the
            interpreter has its own, and closes them when nobody uses it any more.
        stores: object stores by the beginnings of the URLs that they are used for, such as
            `{"memory://": store}`; the longest beginning wins.
        progress: called at the start of a download and after each piece, with the command, the
            bytes received so far, and the bytes expected in all, `None` if the server did not say.
        logger: the logger for `Log` and `Delay`; by default `"ixbackoff"`.
        stop: an event that ends the waits of each program, and the program with its last failure;
            `run(..., stop=...)` is the same for one program.
    """
    shared = connections_of(limits, connections)
    kept = dict(stores or {})
    log = logger or LOGGER
    waits = partial(sleep, logger=log)
    if stop is not None:
        waits = partial(sleep_until, stop=checked_stop(stop), logger=log)

    def download(command: Download) -> None:
        deadline = Deadline(shared.limits)
        with needed("Download"):
            from . import http
        http.fetch(command, shared, deadline, progress)

    return (
        Download.handled_by(download)
        | Upload.handled_by(lambda command: upload(command, kept, shared.limits))
        | Delay.handled_by(waits)
        | at_once(log)
    )


def live_async(
    *,
    limits: Limits | None = None,
    connections: Connections | None = None,
    stores: Mapping[str, ObjectStore] | None = None,
    progress: Progress | None = None,
    logger: logging.Logger | None = None,
) -> AsyncInterpreter[Standard | Call[Any] | CallAsync[Any] | Now | Pick]:
    """Make an interpreter that does what `live` does, for `run_async`, under asyncio or trio.

    A command that is cancelled, also at a deadline, leaves nothing behind: no part of a file, no
    connection, and no thread except one that looks up the address of a host. `Call` calls its
    function in the event loop, so a slow function blocks the loop; `CallAsync` is awaited.

    >>> import asyncio
    >>> from ixbackoff import N0, Log, at
    >>> asyncio.run(at(N0).do(Log("ready")).run_async(live_async()))

    The arguments are those of `live`, but for `stop`: cancel the task instead.
    """
    shared = connections_of(limits, connections)
    kept = dict(stores or {})
    log = logger or LOGGER

    async def download(command: Download) -> None:
        deadline = Deadline(shared.limits)
        with needed("Download"):
            from . import http
        await http.fetch_async(command, shared, deadline, progress)

    calls: type[CallAsync[Any]] = CallAsync

    return (
        Download.awaited_by(download)
        | Upload.awaited_by(lambda command: upload_async(command, kept, shared.limits))
        | Delay.awaited_by(partial(sleep_async, logger=log))
        | calls.awaited_by(lambda command: command())
        | at_once(log)
    )


def at_once(logger: logging.Logger) -> Interpreter[Log | Throw | Call[Any] | Now | Pick]:
    """Make the handlers that need no waiting, which sync and async programs share."""

    def throw(command: Throw) -> Never:
        try:
            raise command.error
        finally:
            del command  # or the error would be kept alive by a frame in its own traceback

    calls: type[Call[Any]] = Call

    return (
        Log.handled_by(
            lambda command: logger.log(command.level, "%s", printable(f"{command.message}"))
        )
        | Throw.handled_by(throw)
        | calls.handled_by(lambda command: command())
        | Now.handled_by(lambda _: now())
        | Pick.handled_by(lambda command: random.randrange(command.count))  # noqa: S311
    )
