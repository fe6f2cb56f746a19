"""The live interpreters, `live` and `live_async`."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .._limits.stopping import checked_stop
from .._running.sleeping import sleep, sleep_async, sleep_until
from .._running.tasks_and_timeouts import now
from .._words.call_commands import Call, CallAsync
from .._words.commands import AsyncInterpreter, Interpreter
from .._words.extras import LIVE, needed
from .._words.printable_text import printable
from .._words.standard_commands import Delay, Download, Log, Now, Pick, Throw, Upload, throw
from .connections import Connections, connections_of
from .limits import Deadline, Limits
from .uploads import upload, upload_async

if TYPE_CHECKING:
    from threading import Event

    from obstore.store import ObjectStore

    from .._words.standard_commands import Standard
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
      disk. If a download with a strong ETag breaks off, its part stays as `.{name}.part`, unless it
      is small, and on Linux the next try or run resumes it. Requests accept no encoding; the body
      of an encoded response is stored unchanged.
    - `Upload` puts a file into an object store. If that is a folder, the copy is synced to disk,
      and leftovers of killed uploads of the same key, `{key}.ixbackoff#1` and so on, are removed.
    - `Delay` sleeps, and logs: WARNING after a failure, DEBUG in line at a gate, else INFO.
    - `Log` goes to `logging`, in one line: control characters and line ends appear as escapes.
      `Throw` raises its exception, and `Call` calls its function.

    Transient failures are raised as `ConnectionError`, `TimeoutError`, `ServerError`, `Throttled`,
    `NotReady` (status 202, or another download into the same file) or `socket.gaierror` (no name
    server answers). Permanent failures are raised as `ClientError`, `TooLarge`, `RedirectError`,
    `StoreError`, `OSError` (disk full, folder missing, permission denied, unknown host),
    `ssl.SSLCertVerificationError` or `ValueError` (a URL of the wrong kind). No failure shows the
    user name, password, query or fragment of a URL. The `Retry-After` of an object store is
    unknown, because the store's client drops it.

    A download or an upload ends with `TimeoutError` at its limit or that of the program (`within`,
    `.limit`), whatever the server does; on a busy machine up to a quarter of a second later.
    Looking up the address of a host, importing the packages of the extra, waiting for a disk, and
    the function of a `Call` cannot be interrupted. `docs/live.md` has more.

    >>> from ixbackoff import N0, Log, at
    >>> at(N0).do(Log("ready")).run(live())

    Args:
        limits: the time-outs, in seconds, and the bounds of downloads; by default those of
            `connections`.
        connections: shared connections to web servers; by default the interpreter has its own,
            which are closed when Python collects it.
        stores: object stores by the beginnings of their URLs, such as `{"memory://": store}`; the
            longest beginning wins.
        progress: called at the start of a download and after each piece, with the command, the
            bytes received so far, and the bytes of the whole, `None` if the server did not announce
            them.
        logger: the logger for `Log` and `Delay`; by default `"ixbackoff"`.
        stop: an event that ends each program in its current or next wait: the program raises its
            last failure, or `Stopped` after a success. `run(..., stop=...)` ends only one program.
    """
    shared = connections_of(limits, connections)
    own_stores = dict(stores or {})
    log = logger or LOGGER
    waits = partial(sleep, logger=log)
    if stop is not None:
        waits = partial(sleep_until, stop=checked_stop(stop), logger=log)

    def download(command: Download) -> None:
        deadline = Deadline(shared.limits)
        with needed("Download", "live", LIVE):
            from . import web_requests
        web_requests.fetch(command, shared, deadline, progress)

    return (
        Download.handled_by(download)
        | Upload.handled_by(lambda command: upload(command, own_stores, shared.limits))
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

    A cancelled command, also one that a deadline cancels, leaves no connection, no part of a file
    unless it can be resumed, and no thread except one that looks up the address of a host. `Call`
    runs its function in the event loop, so a slow function blocks the loop; `CallAsync` is awaited.

    >>> import asyncio
    >>> from ixbackoff import N0, Log, at
    >>> asyncio.run(at(N0).do(Log("ready")).run_async(live_async()))

    The arguments are those of `live`, without `stop`: cancel the task instead.
    """
    shared = connections_of(limits, connections)
    own_stores = dict(stores or {})
    log = logger or LOGGER

    async def download(command: Download) -> None:
        deadline = Deadline(shared.limits)
        with needed("Download", "live", LIVE):
            from . import web_requests
        await web_requests.fetch_async(command, shared, deadline, progress)

    calls: type[CallAsync[Any]] = CallAsync

    return (
        Download.awaited_by(download)
        | Upload.awaited_by(lambda command: upload_async(command, own_stores, shared.limits))
        | Delay.awaited_by(partial(sleep_async, logger=log))
        | calls.awaited_by(lambda command: command())
        | at_once(log)
    )


def at_once(logger: logging.Logger) -> Interpreter[Log | Throw | Call[Any] | Now | Pick]:
    """Make the handlers that sync and async programs share: none of them is awaited."""
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
