"""Uploads into folders, memory and a bucket behind a real S3 endpoint."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from obstore.store import MemoryStore, S3Store

from ixbackoff import (
    N0,
    N3,
    ClientError,
    Exponential,
    ServerError,
    Throttled,
    Upload,
    at,
    is_transient,
)
from ixbackoff.live import StoreError, folders, live, s3_store, store_of, uploads
from ixbackoff.live.limits import Deadline
from ixbackoff.testing.web import Connection, Dropped, Fault, Hang, Malformed, Origin, Reset, Status

from ..support.processes import Child
from ..support.ways.live import QUICK, SECRETS, SYNC, Way, each_async_way, each_way

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SMALL = b"acorn"
LARGE = bytes(range(256)) * (2 * uploads.PART // 256 + 1)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(SMALL)
    return path


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    return path


def content_of(store: MemoryStore | S3Store, key: str) -> bytes:
    return bytes(store.get(key).bytes())


def made(endpoint: str, bucket: str) -> str:
    httpx2.put(f"{endpoint}/{bucket}").raise_for_status()
    return bucket


def keys_of(endpoint: str, bucket: str) -> list[str]:
    """The keys of all objects, and of all uploads that were not brought to an end."""
    told = httpx2.get(f"{endpoint}/{bucket}").text + httpx2.get(f"{endpoint}/{bucket}?uploads").text
    return re.findall("<Key>(.*?)</Key>", told)


@each_way
def test_a_folder_is_made_and_written_whole(way: Way, source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20é#?" / "deep"
    for content in (SMALL, LARGE, b""):
        source.write_bytes(content)
        way.perform(Upload(str(source), f"{folder.as_uri()}/key"))
        assert (folder / "key").read_bytes() == content
    assert os.listdir(folder) == ["key"]


@each_way
def test_memory_is_one_store_in_each_interpreter(way: Way, source: Path, large: Path) -> None:
    store = MemoryStore()
    for path in (source, large):
        way.perform(Upload(str(path), "memory:///folder/key"), stores={"memory://": store})
        assert content_of(store, "folder/key") == path.read_bytes()
    stores: dict[str, ObjectStore] = {}
    first, key = store_of("memory:///key", stores)
    assert (store_of("memory://other", stores), key) == ((first, "other"), "key")
    assert store_of("memory:///key", {})[0] is not first


def test_the_longest_beginning_of_a_url_names_its_store(source: Path) -> None:
    outer, inner = MemoryStore(), MemoryStore()
    stores: dict[str, ObjectStore] = {"s3://nuts": outer, "s3://nuts/hazel": inner}
    assert store_of("s3://nuts/hazel/a", stores) == (inner, "a")
    assert store_of("s3://nuts/hazelnut", stores) == (outer, "hazelnut")
    world = live(stores=stores)
    at(N0).do(Upload(str(source), "s3://nuts/hazel/b/c")).run(world)
    assert content_of(inner, "b/c") == SMALL


@each_way
def test_a_bucket_of_s3(
    way: Way, source: Path, large: Path, moto: str, aws: pytest.MonkeyPatch
) -> None:
    aws.setenv("AWS_ENDPOINT_URL", moto)
    bucket = made(moto, f"bucket-{way.name}")
    for path in (source, large):
        way.perform(Upload(str(path), f"s3://{bucket}/prefix/key é"))
        assert content_of(s3_store(bucket), "prefix/key é") == path.read_bytes()
    assert keys_of(moto, bucket) == ["prefix/key é"]
    with pytest.raises(FileNotFoundError, match="no such bucket"):
        way.perform(Upload(str(source), "s3://missing-bucket/key"))


def test_an_endpoint_can_be_given(source: Path, moto: str, aws: pytest.MonkeyPatch) -> None:
    aws.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    stores: dict[str, ObjectStore] = {"s3://given": s3_store("given", endpoint=moto)}
    made(moto, "given")
    SYNC.perform(Upload(str(source), "s3://given/key"), stores=stores)
    assert keys_of(moto, "given") == ["key"]
    for wrong in ("ftp://localhost", "localhost:9000"):
        with pytest.raises(ValueError, match="does not begin with http:// or https://"):
            s3_store("given", endpoint=wrong)


def refusal(status: int, code: str) -> Fault:
    body = f"<Error><Code>{code}</Code><AWSAccessKeyId>sesame</AWSAccessKeyId></Error>"
    head = f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return Malformed((head + body).encode())


OUTCOMES: list[tuple[Fault, type[Exception], str]] = [
    (refusal(503, "SlowDown"), Throttled, "throttled"),
    (Status(429), Throttled, "throttled"),
    (Status(503), ServerError, "503"),
    (Status(500), ServerError, "500"),
    (Status(408), ServerError, "408"),
    (refusal(400, "RequestTimeout"), ServerError, "400"),
    (Status(400), ClientError, "400"),
    (Status(412), ClientError, "412"),
    (Status(409), ClientError, "409"),
    (Status(401), PermissionError, "the store answered 401"),
    (refusal(403, "AccessDenied"), PermissionError, r"answered 403 \(AccessDenied\)"),
    (refusal(404, "NoSuchBucket"), FileNotFoundError, r"answered 404 \(NoSuchBucket\)"),
    (Status(301), StoreError, "set AWS_REGION"),
    (Dropped(), ConnectionError, "broke off"),
    (Malformed(), ConnectionError, "it is not HTTP"),
    (Reset(), ConnectionResetError, "reset"),
    (Hang(), TimeoutError, "did not answer in time"),
]


@pytest.mark.parametrize(("fault", "failure", "words"), OUTCOMES, ids=lambda it: repr(it)[:40])
@pytest.mark.parametrize("size", ["small", "large"])
def test_a_fault_comes_out_as_its_failure(
    fault: Fault,
    failure: type[Exception],
    words: str,
    size: str,
    source: Path,
    aws: pytest.MonkeyPatch,
) -> None:
    if size == "large":
        source.write_bytes(LARGE)
    asked = "PUT /bucket/key" if size == "small" else "POST /bucket/key"
    with Origin({}, {asked: repeat(fault)}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        with pytest.raises(failure) as caught:
            SYNC.perform(
                Upload(str(source), "s3://bucket/key"),
                limits=replace(QUICK, part_timeout=0.2),
            )
    passes = failure not in (ClientError, FileNotFoundError, PermissionError, StoreError)
    assert is_transient(caught.value) == passes
    shown = "".join(traceback.format_exception(caught.value))
    assert "s3://bucket/key" in shown
    assert not [secret for secret in SECRETS if secret in shown]
    assert origin.counts == {asked: 1}, "a retry inside the store's client would multiply"


def said(status: str, body: bytes) -> Fault:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return Malformed(head.encode() + body)


@pytest.mark.parametrize(
    "body",
    [
        b"see http://169.254.169.254/ now",
        b"Error performing PUT http://169.254.169.254/latest/api/token",
        b"status code: 403 Forbidden <Code>AccessDenied</Code>",
    ],
)
def test_a_store_that_is_down_is_asked_again_whatever_it_says(
    body: bytes, source: Path, aws: pytest.MonkeyPatch
) -> None:
    fault = said("503 Service Unavailable", body)
    with Origin({}, {"PUT /bucket/key": [fault, fault]}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        copy = at(N3).retry(Upload(str(source), "s3://bucket/key"))
        copy.run(live(), schedule=Exponential(base=0.01))
    assert origin.counts == {"PUT /bucket/key": 3}


def test_credentials_that_are_missing_are_told(source: Path, aws: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        aws.delenv(name)
    machine = "http://169.254.169.254/latest/api/token"
    with Origin({}, {f"PUT {machine}": repeat(Status(403))}) as proxy:
        aws.setenv("http_proxy", proxy.url)
        with pytest.raises(PermissionError, match="no credentials: set AWS_ACCESS_KEY_ID"):
            SYNC.perform(Upload(str(source), "s3://bucket/key"))
    assert set(proxy.counts) == {f"PUT {machine}"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_password_is_tried_once(status: int, source: Path, aws: pytest.MonkeyPatch) -> None:
    with Origin({}, {"PUT /bucket/key": repeat(Status(status))}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        copy = at(N3).retry(Upload(str(source), "s3://bucket/key"))
        with pytest.raises(PermissionError, match="credentials do not allow"):
            copy.run(live(), schedule=Exponential(base=0.01))
    assert origin.counts == {"PUT /bucket/key": 1}


ENDLESS = """
import re, sys, time
from pathlib import Path
from ixbackoff import Upload
from ixbackoff.live import Limits
from tests.support.ways.live import SYNC
def most():
    return int(re.search("VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]) // 1024
begin, before = time.monotonic(), most()
try:
    SYNC.perform(Upload(*sys.argv[1:]), limits=Limits(part_timeout=1.0))
except TimeoutError:
    pass
print(time.monotonic() - begin, most() - before)
"""


@dataclass(frozen=True)
class Endless(Fault):
    """An error whose body never ends, at so many bytes a second."""

    rate: int = 10 * 2**20

    def answer(self, connection: Connection) -> None:
        connection.send(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n")
        size = self.rate // 100
        while connection.pause(0.01):
            connection.send(b"%x\r\n%b\r\n" % (size, b"x" * size))


def test_an_endless_error_is_read_for_the_time_of_one_request(
    source: Path, aws: pytest.MonkeyPatch
) -> None:
    with Origin({}, {"PUT /bucket/key": repeat(Endless())}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        arguments = [sys.executable, "-c", ENDLESS, str(source), "s3://bucket/key"]
        done = subprocess.run(  # noqa: S603
            arguments, capture_output=True, text=True, timeout=60, check=True
        )
    seconds, megabytes = map(float, done.stdout.split())
    assert seconds < 3.0
    assert megabytes < 100, "the store sends ten in that time"


def test_an_upload_that_another_has_aborted_may_be_tried_again(
    large: Path, aws: pytest.MonkeyPatch
) -> None:
    answer = said("404 No", b"<Error><Code>NoSuchUpload</Code></Error>")
    with Origin({}, {"POST /bucket/key": [answer]}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        with pytest.raises(
            ConnectionAbortedError, match="another client aborted the upload"
        ) as caught:
            SYNC.perform(Upload(str(large), "s3://bucket/key"))
    assert is_transient(caught.value)


@each_way
def test_a_closed_port_is_a_refused_connection(
    way: Way, source: Path, aws: pytest.MonkeyPatch
) -> None:
    with Origin({}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
    with pytest.raises(ConnectionRefusedError):
        way.perform(Upload(str(source), "s3://bucket/key"))


@each_way
def test_what_names_no_object_is_refused(way: Way, source: Path) -> None:
    for url in (
        "ftp://localhost/key",
        "key",
        "",
        "s3://bucket",
        "s3:///key",
        "memory:///",
        "memory:///a//b",
        "memory:///a/../b",
        "file:///",
        "file://elsewhere/key",
        f"{source.as_uri()}%231",
        "http://sesame:opensaysme@localhost/key?token=hush",
        "//sesame:opensaysme@localhost/key",
    ):
        with pytest.raises(
            ValueError, match=r"does not name a store|but not a key|from the key|unfinished files"
        ) as caught:
            way.perform(Upload(str(source), url))
        assert not [secret for secret in SECRETS if secret in str(caught.value)]


@each_way
def test_what_cannot_be_read_or_written_is_told(way: Way, source: Path) -> None:
    folder = source.parent
    (folder / "taken").mkdir()
    cases: list[tuple[Path, str, type[OSError], str]] = [
        (folder / "missing", "memory:///key", FileNotFoundError, "missing"),
        (folder, "memory:///key", IsADirectoryError, folder.name),
        (source, f"{source.as_uri()}/key", OSError, "source"),
        (source, f"{folder.as_uri()}/taken", IsADirectoryError, "taken"),
    ]
    for path, url, kind, name in cases:
        with pytest.raises(kind, match=name) as caught:
            way.perform(Upload(str(path), url))
        assert not is_transient(caught.value)
    assert sorted(os.listdir(folder)) == ["source", "taken"]


def test_a_full_disk_is_told_with_the_name_of_the_object(large: Path, tmp_path: Path) -> None:
    program = """
import resource, sys
from ixbackoff import Upload
from tests.support.ways.live import SYNC
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    SYNC.perform(Upload(*sys.argv[1:]))
except OSError as error:
    print(type(error).__name__, error)
"""
    url = (tmp_path / "store" / "key").as_uri()
    arguments = [sys.executable, "-c", program, str(large), url]
    limited = subprocess.run(arguments, capture_output=True, text=True, check=True)  # noqa: S603
    assert limited.stdout == f"OSError [Errno 27] File too large: '{url}'\n"
    assert os.listdir(tmp_path / "store") == []


SLOW_CLOCK = """
import time
from ixbackoff.live.limits import Deadline

Deadline.check = lambda deadline: time.sleep(0.02)
"""


def test_a_killed_upload_leaves_nothing_after_the_next(
    large: Path, source: Path, tmp_path: Path
) -> None:
    program = (
        SLOW_CLOCK
        + "from tests.support.ways.live import *; import sys; SYNC.perform(Upload(*sys.argv[1:]))"
    )
    folder = tmp_path / "store"
    url = (folder / "key").as_uri()
    arguments = [sys.executable, "-c", program, str(large), url]
    with Child(arguments) as killed:
        while not (folder.exists() and os.listdir(folder)):
            assert killed.poll() is None
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
    assert os.listdir(folder) == ["key.ixbackoff#1"]
    (folder / "keys.ixbackoff#7").touch()
    SYNC.perform(Upload(str(source), url))
    assert sorted(os.listdir(folder)) == ["key", "keys.ixbackoff#7"]


def test_uploads_into_one_folder_leave_each_other_alone(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    source.write_bytes(LARGE)
    with ThreadPoolExecutor(8) as pool:
        for number in range(24):
            command = Upload(str(source), (folder / f"key{number % 3}").as_uri())
            pool.submit(SYNC.perform, command).add_done_callback(lambda done: done.result())
    assert sorted(os.listdir(folder)) == ["key0", "key1", "key2"]
    assert {path.read_bytes() == LARGE for path in folder.iterdir()} == {True}


def test_what_another_is_writing_is_not_swept(source: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "store", tmp_path / "other"
    folder.mkdir()
    other.write_bytes(b"nut")
    path = str(folder / "key")

    def beside() -> None:
        with other.open("rb") as file:
            folders.put(path, file, lambda: None)
        assert sorted(os.listdir(folder)) == ["key", "key.ixbackoff#1"]

    (folder / "key.ixbackoff#2").touch()
    with source.open("rb") as file:
        folders.put(path, file, beside)
    assert os.listdir(folder) == ["key"]
    assert (folder / "key").read_bytes() == SMALL


@each_async_way
def test_a_cancelled_upload_leaves_nothing(
    way: Way, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ixbackoff.live.limits.Deadline.check", lambda _: time.sleep(0.02))
    folder = tmp_path / "store"
    way.cancelled(
        Upload(str(large), (folder / "key").as_uri()),
        lambda: folder.exists() and os.listdir(folder) == ["key.ixbackoff#1"],
    )
    assert os.listdir(folder) == []


def test_an_upload_keeps_to_its_time_and_removes_its_parts(
    large: Path, aws: pytest.MonkeyPatch, moto: str
) -> None:
    aws.setenv("AWS_ENDPOINT_URL", moto)
    bucket = made(moto, "timed")
    check = Deadline.check

    def slow(deadline: Deadline) -> None:
        time.sleep(0.1)
        check(deadline)

    aws.setattr(Deadline, "check", slow)
    with pytest.raises(TimeoutError, match=r"s3://timed/key: not done within 0\.8 s"):
        SYNC.perform(
            Upload(str(large), f"s3://{bucket}/key"), limits=replace(QUICK, total_timeout=0.8)
        )
    assert keys_of(moto, bucket) == []
