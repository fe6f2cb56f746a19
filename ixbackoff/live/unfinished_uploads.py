"""Multipart uploads to S3 that a killed process left unfinished.

Lists of objects leave such uploads out, but the uploads cost money. The store library cannot list
them, so this module sends the requests itself, signed by AWS's rule. An upload counts as abandoned

- if a process of this user on this machine began an upload of the same key and died; or
- if it is older than any upload with the current limits can be, by more than 15 minutes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from logging import getLogger
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

import httpx2
from anyio import move_on_after

from .exchanges import hidden
from .filesystem import READ, is_sole, lock
from .limits import Deadline, Limits
from .ownfolders import OwnFolder, own_folder
from .signatures import Signer, signer_of
from .transports import trusted

if TYPE_CHECKING:
    from obstore.store import S3Store

LOGGER = getLogger("ixbackoff")

MARGIN = timedelta(minutes=15)  # added to the time that an upload may take
MOST = 1 << 20  # bytes of a list; one page has at most 1,000 uploads
SECONDS = 10.0  # for all requests of one upload
SHARE = 0.1  # the part of the remaining time that these requests may take
OLD = 7 * 86400.0  # seconds, for a note
NOTE = re.compile("[0-9a-f]{64}")  # the shape of the name of a note


class UnfinishedUpload(NamedTuple):
    id: str
    begun: datetime


@asynccontextmanager
async def without_leftovers(
    store: S3Store, key: str, limits: Limits, deadline: Deadline
) -> AsyncGenerator[None]:
    """Abort abandoned uploads of a key as far as possible, then run the block, which uploads it."""
    signer = await signer_of(store, key)
    if signer is None:
        yield
        return
    with UploadNote(f"{signer.place}{signer.path}") as note:
        if not note.taken:
            longest = None if note.found else timedelta(seconds=limits.total_timeout) + MARGIN
            await tidy(signer, longest, limits, deadline)
        yield
        note.done()


async def abort_all(store: S3Store, key: str, limits: Limits, deadline: Deadline) -> None:
    """Abort all unfinished uploads of a key that will not be uploaded again, as far as possible."""
    signer = await signer_of(store, key)
    if signer is not None:
        await tidy(signer, None, limits, deadline)


async def tidy(
    signer: Signer, longest: timedelta | None, limits: Limits, deadline: Deadline
) -> None:
    """Do what `abort_left` does, in a part of the remaining time; log a failure, and raise none."""
    with move_on_after(min(SECONDS, limits.part_timeout, deadline.left * SHARE)):
        try:
            async with httpx2.AsyncClient(timeout=SECONDS, verify=trusted()) as client:
                await abort_left(client, signer, longest)
        except Exception as error:
            LOGGER.debug("%s: abandoned uploads stay: %r", signer.place, error)


async def abort_left(client: httpx2.AsyncClient, signer: Signer, longest: timedelta | None) -> None:
    """Abort the unfinished uploads of a key that are older than `longest`; `None` aborts all."""
    for upload in unfinished(await listed(client, signer), signer.key):
        if longest is None or datetime.now(UTC) - upload.begun > longest:
            request = client.build_request("DELETE", signer.aborting(upload.id))
            await (await client.send(hidden(request), stream=True)).aclose()


async def listed(client: httpx2.AsyncClient, signer: Signer) -> str:
    """Return the store's list of unfinished uploads whose keys begin with the signer's key."""
    request = client.build_request("GET", signer.listing())
    async with aclosing(await client.send(hidden(request), stream=True)) as answer:
        body = bytearray()
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > MOST:
                raise ValueError("The list of unfinished uploads is too long.")
        if not answer.is_success:
            raise ValueError("The store does not list unfinished uploads.")
        return body.decode()


def unfinished(text: str, key: str) -> list[UnfinishedUpload]:
    """Return the unfinished uploads of one key in a store's list, as far as it can be read.

    >>> unfinished('''<List><Upload><Key>a</Key><UploadId>7</UploadId>
    ... <Initiated>2038-01-01T00:00:00.000Z</Initiated></Upload></List>''', "a")[0].id
    '7'
    """
    found: list[UnfinishedUpload] = []
    if "<!DOCTYPE" in text:  # its entities could fill the memory
        return found
    parser: XMLPullParser[Element] = XMLPullParser(["end"])
    parser.feed(text)
    ends: Any = parser.read_events()  # an error is the last of them if the text is not XML
    with suppress(ParseError):
        for _, element in ends:
            if element.tag.rpartition("}")[2] == "Upload" and element.findtext("{*}Key") == key:
                with suppress(ValueError):
                    begun = datetime.fromisoformat(element.findtext("{*}Initiated", ""))
                    begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
                    if upload := element.findtext("{*}UploadId"):
                        found.append(UnfinishedUpload(upload, begun))
    return found


class UploadNote:
    """A file that exists and is locked while a process of this user uploads to a URL."""

    def __init__(self, url: str) -> None:
        user = os.geteuid() if hasattr(os, "geteuid") else 0
        self._folder = os.path.join(gettempdir(), f"ixbackoff-uploads-{user}")
        self._name = sha256(url.encode()).hexdigest()
        self._descriptor = -1
        self.found = False  # whether a process that died left the file
        self.taken = True  # whether another process uploads to the URL, or the file cannot be made

    def __enter__(self) -> Self:
        with suppress(OSError):
            with suppress(FileExistsError):
                os.mkdir(self._folder, 0o700)
            with own_folder(self._folder) as folder:
                self._descriptor = folder.open(self._name, READ | os.O_CREAT)
                status = os.fstat(self._descriptor)
                lock(self._descriptor)
                if is_sole(status) and folder.has(self._name, self._descriptor):
                    self.found = status.st_size > 0
                    os.write(self._descriptor, b"uploading")
                    self.taken = False
                    forget_old(folder)
        return self

    def done(self) -> None:
        """Remove the note: the upload left nothing."""
        if not self.taken:
            with suppress(OSError), own_folder(self._folder) as folder:
                folder.remove(self._name)

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def forget_old(folder: OwnFolder) -> None:
    """Remove notes so old that their uploads count as abandoned by age."""
    for name in folder.names(NOTE):
        with suppress(OSError):
            if folder.age_of(name, time.time()) > OLD:
                folder.remove_unlocked(name)
