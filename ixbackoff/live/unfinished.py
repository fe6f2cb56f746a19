"""Uploads to S3 in parts that a killed process has left unfinished.

Nobody sees them and everybody pays for them. The store library cannot list them, so that is asked
for here, with requests that are signed by AWS's own rule. An upload is taken for one that was left:

- if a process of this user on this machine has begun an upload of the same key and has died; or
- if it is older than an upload may take by its limits.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html import unescape
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from .exchanges import hidden
from .files import READ, is_mine, stands
from .limits import Limits
from .locks import lock
from .signatures import Signer, signer_of
from .times import Deadline
from .transports import trusted

if TYPE_CHECKING:
    from obstore.store import S3Store

MARGIN = timedelta(minutes=15)  # of the time that an upload may take
MOST = 1 << 20  # bytes of a list; one page has at most 1,000 uploads
SECONDS = 10.0  # for a request
OLD = 7 * 86400.0  # seconds, for a note
UPLOAD = re.compile("<Upload>(.*?)</Upload>", re.DOTALL)


class Left(NamedTuple):
    """An upload that is unfinished.

    Attributes:
        number: its identifier.
        begun: the time at which it was begun.
    """

    number: str
    begun: datetime


@asynccontextmanager
async def tidied(
    store: S3Store, key: str, limits: Limits, deadline: Deadline
) -> AsyncGenerator[None]:
    """Abort what was left of earlier uploads of a key, and upload it in this block.

    What cannot be listed or aborted stays: tidying up fails no upload.
    """
    signer = await signer_of(store, key)
    if signer is None:
        yield
        return
    with Note(f"{signer.place}{signer.path}") as note:
        if not note.taken:
            longest = None if note.found else timedelta(seconds=limits.total_timeout) + MARGIN
            with suppress(httpx2.HTTPError, httpx2.InvalidURL, ValueError):
                timeout = deadline.of(min(SECONDS, limits.part_timeout))
                async with httpx2.AsyncClient(timeout=timeout, verify=trusted()) as client:
                    await abort_left(client, signer, longest)
        yield
        note.done()


async def abort_all(store: S3Store, key: str, limits: Limits, deadline: Deadline) -> None:
    """Abort all unfinished uploads of a key that nobody needs any more.

    What cannot be listed or aborted stays, as for `tidied`.
    """
    signer = await signer_of(store, key)
    if signer is not None:
        with suppress(httpx2.HTTPError, httpx2.InvalidURL, ValueError):
            timeout = deadline.of(min(SECONDS, limits.part_timeout))
            async with httpx2.AsyncClient(timeout=timeout, verify=trusted()) as client:
                await abort_left(client, signer, None)


async def abort_left(client: httpx2.AsyncClient, signer: Signer, longest: timedelta | None) -> None:
    """Abort the unfinished uploads of a key.

    Args:
        client: sends the requests.
        signer: signs them.
        longest: how old one can be that still goes on; with `None` all are aborted.
    """
    for left in unfinished(await listed(client, signer), signer.key):
        if longest is None or datetime.now(UTC) - left.begun > longest:
            request = client.build_request("DELETE", signer.aborting(left.number))
            await (await client.send(hidden(request), stream=True)).aclose()


async def listed(client: httpx2.AsyncClient, signer: Signer) -> str:
    """Return the list of unfinished uploads whose key begins with that of the signer.

    Raises:
        ValueError: the store does not tell.
    """
    request = client.build_request("GET", signer.listing())
    async with aclosing(await client.send(hidden(request), stream=True)) as answer:
        body = b""
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MOST:
                raise ValueError("The list of unfinished uploads is too long.")
        if not answer.is_success:
            raise ValueError("The store does not list unfinished uploads.")
        return body.decode()


def unfinished(text: str, key: str) -> list[Left]:
    """Return the unfinished uploads of one key in a list of them.

    >>> unfinished('''<Upload><Key>a</Key><UploadId>7</UploadId>
    ... <Initiated>2038-01-01T00:00:00.000Z</Initiated></Upload>''', "a")[0].number
    '7'
    """
    found: list[Left] = []
    for upload in UPLOAD.findall(text):
        told = {name: unescape(value) for name, value in re.findall(r"<(\w+)>([^<]*)</\1>", upload)}
        with suppress(KeyError, ValueError):
            begun = datetime.fromisoformat(told["Initiated"])
            begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
            if told["Key"] == key:
                found.append(Left(told["UploadId"], begun))
    return found


class Note:
    """A file that says that a process of this user uploads to a URL; locked as long as it does.

    Attributes:
        found: true if it was left by a process that has died.
        taken: true if another one uploads there now, or no note can be made.
    """

    def __init__(self, url: str) -> None:
        user = os.geteuid() if hasattr(os, "geteuid") else 0
        self._folder = Path(gettempdir()) / f"ixbackoff-uploads-{user}"
        self._path = str(self._folder / sha256(url.encode()).hexdigest())
        self._descriptor = -1
        self.found = False
        self.taken = True

    def __enter__(self) -> Note:
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._descriptor = os.open(self._path, READ | os.O_CREAT, 0o600)
            status = os.fstat(self._descriptor)
            lock(self._descriptor)
            if is_mine(status) and stands(self._descriptor, self._path):
                self.found = status.st_size > 0
                os.write(self._descriptor, b"uploading")
                self.taken = False
                self._forget_old()
        return self

    def _forget_old(self) -> None:
        """Remove notes so old that what they stand for is too old to go on, anyway."""
        for entry in os.scandir(self._folder):
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > OLD:
                    descriptor = os.open(entry.path, READ)
                    try:
                        lock(descriptor)
                        os.unlink(entry.path)
                    finally:
                        os.close(descriptor)

    def done(self) -> None:
        """Remove the note, since nothing is left."""
        if not self.taken:
            os.unlink(self._path)

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
