"""Uploads in parts that were killed: the next one of the same key aborts what is left of them."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import httpx2
import pytest
from obstore.store import S3Store

from ixbackoff import N0, Upload, at, is_transient
from ixbackoff.live import live, s3_store, uploads
from ixbackoff.live.signatures import Signer, signer_of
from ixbackoff.live.unfinished_uploads import MOST, UploadNote, listed, unfinished
from ixbackoff.testing.web import Malformed, Origin

from ..support.processes import Child
from ..support.ways.live import PATIENT, QUICK, SYNC, Way, each_way

if TYPE_CHECKING:
    from obstore.store import S3Credential

LARGE = bytes(range(256)) * (2 * uploads.PART // 256 + 1)
KEY = "prefix/key é+&#a"


@pytest.fixture
def bucket(moto: str, aws: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A new bucket; notes of uploads are kept apart from those of others."""
    aws.setenv("AWS_ENDPOINT_URL", moto)
    aws.setenv("TMPDIR", str(tmp_path))
    aws.setattr("tempfile.tempdir", None)
    name = f"bucket-{time.monotonic_ns()}"
    httpx2.put(f"{moto}/{name}").raise_for_status()
    return name


@pytest.fixture(autouse=True)
def dated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say of each upload that it was begun now; the server here says that it was in 2010."""
    told = listed

    async def listed_now(client: httpx2.AsyncClient, signer: Signer) -> str:
        now = datetime.now(UTC).isoformat()
        return re.sub("<Initiated>.*?<", f"<Initiated>{now}<", await told(client, signer))

    monkeypatch.setattr("ixbackoff.live.unfinished_uploads.listed", listed_now)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    return path


def begun(moto: str, bucket: str, key: str) -> str:
    """Begin an upload in parts, as somebody else; return its identifier."""
    answer = httpx2.post(f"{moto}/{bucket}/{key}?uploads").raise_for_status()
    return "".join(re.findall("<UploadId>(.*?)</UploadId>", answer.text))


def left(moto: str, bucket: str) -> list[str]:
    return re.findall("<UploadId>(.*?)</UploadId>", httpx2.get(f"{moto}/{bucket}?uploads").text)


SLOW = """
import sys, time
from ixbackoff.live.limits import Deadline
from tests.support.ways.live import *
Deadline.check = lambda deadline: time.sleep(0.05)
SYNC.perform(Upload(*sys.argv[1:]), limits=PATIENT)
"""


@pytest.mark.slow
@each_way
def test_what_a_killed_upload_has_left_is_aborted_by_the_next(
    way: Way, moto: str, bucket: str, large: Path
) -> None:
    url = f"s3://{bucket}/{KEY}"
    for _ in range(2):
        arguments = [sys.executable, "-c", SLOW, str(large), url]
        with Child(arguments) as killed:
            before = left(moto, bucket)
            while left(moto, bucket) in ([], before):
                assert killed.poll() is None
                time.sleep(0.01)
            killed.send_signal(signal.SIGKILL)
        assert len(left(moto, bucket)) == 1, "one that was killed tidies up, too"
    other = begun(moto, bucket, "prefix/key")
    way.perform(Upload(str(large), url), limits=PATIENT)
    assert left(moto, bucket) == [other]
    assert bytes(s3_store(bucket).get(KEY).bytes()) == LARGE


def test_what_others_are_uploading_goes_on(moto: str, bucket: str, large: Path) -> None:
    other = begun(moto, bucket, "key")
    SYNC.perform(Upload(str(large), f"s3://{bucket}/key"), limits=PATIENT)
    assert left(moto, bucket) == [other]


def test_what_is_too_old_to_go_on_is_aborted(
    moto: str, bucket: str, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(moto, bucket, "key")
    SYNC.perform(Upload(str(large), f"s3://{bucket}/key"), limits=PATIENT)
    assert len(left(moto, bucket)) == 1
    monkeypatch.setattr(
        "ixbackoff.live.unfinished_uploads.MARGIN", -timedelta(seconds=PATIENT.total_timeout + 1.0)
    )
    SYNC.perform(Upload(str(large), f"s3://{bucket}/key"), limits=PATIENT)
    assert left(moto, bucket) == []


def test_a_note_is_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with UploadNote("a") as first, UploadNote("a") as second, UploadNote("b") as other:
        assert [each.taken for each in (first, second, other)] == [False, True, False]
        assert [each.found for each in (first, other)] == [False, False]
        other.done()
    with UploadNote("a") as found, UploadNote("b") as other:
        assert found.found
        assert not other.found
        found.done()
    with UploadNote("a") as again:
        assert not again.found


def test_old_notes_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with UploadNote("old"), UploadNote("new"):
        pass
    notes = [*next(tmp_path.iterdir()).iterdir()]
    with UploadNote("old"):
        for note in notes:
            os.utime(note, (0, 0))
        with UploadNote("other"):
            pass
        left = [*next(tmp_path.iterdir()).iterdir()]
    assert len(notes) == len(left) == 2
    assert len({*notes} & {*left}) == 1, "the one that is in use"


@pytest.mark.parametrize(
    "config",
    [
        {"access_key_id": "given", "secret_access_key": "hush"},
        {"access_key_id": "given", "secret_access_key": "hush", "session_token": "for/a+while"},
        {},
    ],
)
@pytest.mark.anyio
async def test_a_signature_is_that_of_the_store_library(
    config: dict[str, str], aws: pytest.MonkeyPatch
) -> None:
    inner = S3Store("nuts", prefix="p/q", config=config)  # type: ignore[arg-type, unused-ignore]
    signer = await signer_of(inner, KEY)
    assert signer is not None
    assert (signer.bucket, signer.key) == ("/nuts/", f"p/q/{KEY}")
    virtual = S3Store(
        "nuts", config={"virtual_hosted_style_request": True, "endpoint": "http://nuts.h"}
    )
    signer = await signer_of(virtual, "nuts/a")
    assert signer is not None
    assert (signer.place, signer.bucket, signer.key) == ("http://nuts.h", "/", "nuts/a")


@pytest.mark.anyio
async def test_without_the_secret_nothing_is_signed(aws: pytest.MonkeyPatch) -> None:
    store = S3Store("nuts")
    aws.setenv("AWS_SECRET_ACCESS_KEY", "another")
    assert await signer_of(store, KEY) is None


@pytest.mark.anyio
async def test_a_secret_that_is_provided_is_used(aws: pytest.MonkeyPatch) -> None:
    def provided() -> S3Credential:
        return {
            "access_key_id": "a",
            "secret_access_key": "b",
            "token": "for/a+while",
            "expires_at": None,
        }

    async def provided_later() -> S3Credential:
        return provided()

    for provider in (provided, provided_later):
        store = S3Store("nuts", credential_provider=provider)
        signer = await signer_of(store, KEY)
        assert signer is not None
        assert signer.secret == "b"  # noqa: S105


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_store_that_lists_nothing_is_uploaded_to_all_the_same(
    moto: str, bucket: str, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = begun(moto, bucket, "key")
    for cause in (ValueError("no"), httpx2.ReadTimeout("no"), OSError("no"), RecursionError("no")):

        async def fails(*_: object, cause: Exception = cause) -> str:
            raise cause

        monkeypatch.setattr("ixbackoff.live.unfinished_uploads.listed", fails)
        SYNC.perform(Upload(str(large), f"s3://{bucket}/key"), limits=PATIENT)
        assert left(moto, bucket) == [other]


@pytest.mark.parametrize("found", [False, True])
def test_many_old_uploads_do_not_use_up_the_time_of_the_next(
    found: bool, moto: str, bucket: str, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = (
        "<Upload><Key>key</Key><UploadId>{}</UploadId><Initiated>2010-01-01</Initiated></Upload>"
    )
    url = f"s3://{bucket}/key"

    async def many(*_: object) -> str:
        return "".join(f"<Upload>{entry.format(number)}</Upload>" for number in range(3_000))

    async def slow(client: httpx2.AsyncClient, *_: object) -> str:
        await anyio.sleep(60)
        raise RecursionError

    monkeypatch.setattr("ixbackoff.live.unfinished_uploads.listed", many if found else slow)
    SYNC.perform(Upload(str(large), url), limits=replace(PATIENT, total_timeout=5.0))
    assert bytes(s3_store(bucket).get("key").bytes()) == LARGE


def test_the_requests_show_no_signature(
    moto: str, bucket: str, large: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    SYNC.perform(Upload(str(large), f"s3://{bucket}/key"), limits=PATIENT)
    assert f"{bucket}/" in caplog.text
    assert "Signature" not in caplog.text


def test_a_list_of_uploads_is_read() -> None:
    entry = (
        "<Upload><Key>a &amp; b</Key><UploadId>{}</UploadId><Initiator><ID>x</ID></Initiator>"
        "<Initiated>{}</Initiated></Upload>"
    )
    text = "".join(
        entry.format(*each)
        for each in [
            ("7", "2038-01-01T00:00:00.000Z"),
            ("8", "never"),
            ("9", "2038-01-01T00:00:00"),
        ]
    )
    text = f"<List>{text}</List>"
    assert [each.id for each in unfinished(text, "a & b")] == ["7", "9"]
    assert unfinished(text, "a") == []
    assert unfinished("<Upload></Upload><Upload><Key>a</Key>", "a") == []


GROWING = "<!DOCTYPE a [<!ENTITY a 'a'>" + "".join(
    f"<!ENTITY {'a' * (1 + number)} '{('&' + 'a' * number + ';') * 100}'>" for number in range(1, 9)
)


@pytest.mark.parametrize(
    "text",
    [
        "<Upload>" * (MOST // 8),
        f"<a>{'<Upload>' * (MOST // 8)}",
        f"<a><Upload>{'<b>' * (MOST // 3)}",
        f"<a><Upload>{'<b>c' * (MOST // 4)}",
        f"<a><Upload><Key>{'&#97;' * (MOST // 5)}</Key></Upload></a>",
        f"{GROWING}]><a><Upload><Key>&aaaaaaaaa;</Key></Upload></a>",
        "<a><Upload><Key>a</Key><UploadId>1</UploadId><Initiated>9" + "9" * MOST,
        "<a " + "b='c' " * (MOST // 6),
        "<!--" * (MOST // 4),
    ],
    ids=lambda text: text[:30],
)
def test_no_list_takes_long_or_much(text: str) -> None:
    begin = time.process_time()
    assert unfinished(text, "a") == []
    assert time.process_time() - begin < 2.0


def test_only_the_fields_of_an_upload_itself_count() -> None:
    fields = "<Key>a</Key><Owner><UploadId>1</UploadId><ID>2</ID></Owner><UploadId>7</UploadId>"
    text = f"<a><Upload>{fields}<Initiated>0001-01-01T00:00:00+23:59</Initiated></Upload></a>"
    (upload,) = unfinished(text, "a")
    assert upload.id == "7"
    assert datetime.now(UTC) - upload.begun > timedelta(days=700_000)


@pytest.mark.anyio
@pytest.mark.slow
async def test_a_list_in_pieces_of_one_byte_is_read_in_linear_time() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MOST // 2):
            yield b"a"

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=pieces())

    signer = Signer("http://store", "/", "a", {"X-Amz-Credential": "a/b", "X-Amz-Date": "c"}, "d")
    begin = time.process_time()
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        assert len(await listed(client, signer)) == MOST // 2
    assert time.process_time() - begin < 5.0


def test_an_upload_that_another_has_aborted_may_be_tried_again(
    large: Path, aws: pytest.MonkeyPatch
) -> None:
    body = b"<Error><Code>NoSuchUpload</Code></Error>"
    head = b"HTTP/1.1 404 No\r\nContent-Length: %d\r\n\r\n" % len(body)
    with Origin({}, {"POST /bucket/key": [Malformed(head + body)]}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        with pytest.raises(
            ConnectionAbortedError, match="another client aborted the upload"
        ) as caught:
            at(N0).do(Upload(str(large), "s3://bucket/key")).run(live(limits=QUICK))
    assert is_transient(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")
def test_a_planted_link_to_the_notes_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    letters = tmp_path / "letters"
    letters.mkdir()
    for name in ("letter", "0" * 64):
        (letters / name).write_text("dear")
        os.utime(letters / name, (0, 0))
    (tmp_path / "temporary" / f"ixbackoff-uploads-{os.geteuid()}").symlink_to(letters)
    with UploadNote("s3://bucket/key") as note:
        assert note.taken
    note.done()
    assert sorted(os.listdir(letters)) == ["0" * 64, "letter"]


def test_only_old_notes_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with UploadNote("s3://bucket/key"):
        (folder,) = tmp_path.iterdir()
        for name in ("letter", "0" * 64):
            (folder / name).write_text("dear")
            os.utime(folder / name, (0, 0))
    with UploadNote("s3://bucket/key") as note:
        assert note.found
        assert len(os.listdir(folder)) == 2
        note.done()
    assert os.listdir(folder) == ["letter"]
