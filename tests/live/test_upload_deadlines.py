"""Uploads that are over their time end, over real sockets, whatever the store does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import pytest
from obstore.store import S3Store

from ixbackoff import N0, DeadlineExceeded, Upload, at
from ixbackoff.live import uploads
from ixbackoff.live.limits import Deadline
from ixbackoff.testing.web import Fault, Hang, Late, Origin, Status

from ..support.ways.live import (
    ASYNC,
    IN_ALL,
    PATIENT,
    SECONDS,
    SYNC,
    Drip,
    Way,
    answered,
    each_async_way,
    each_way,
    full,
    nothing_left,
    taking,
)

LARGE = 2 * uploads.PART + 1
HANGS = Hang()
BEGUN = b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def opened_once() -> None:
    """Let the libraries open now what they open once and keep."""
    store = S3Store(
        "bucket",
        config={"endpoint": "http://127.0.0.1:1", "access_key_id": "a", "secret_access_key": "a"},
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    for way in (SYNC, *ASYNC):
        with pytest.raises(ConnectionRefusedError):
            way.perform(Upload(__file__, "s3://bucket/key"), stores={"s3://bucket": store})


@dataclass(frozen=True)
class Store:
    """How a store answers: each request by the first fault that is named for its method."""

    size: int
    posts: tuple[Fault, ...] = ()
    puts: Fault = HANGS


STORES = {
    "never answers": Store(5),
    "drips": Store(5, puts=Drip()),
    "begins no upload": Store(LARGE, posts=(Hang(),)),
    "takes no part": Store(LARGE, posts=(answered(BEGUN),)),
    "ends no upload": Store(LARGE, posts=(Late(0.1, answered(BEGUN)), Hang()), puts=answered()),
    "drips at the end": Store(LARGE, posts=(Late(0.1, answered(BEGUN)), Drip()), puts=answered()),
}
CASES = [(SYNC, name) for name in STORES]
CASES += [(way, name) for way in ASYNC for name in ("never answers", "takes no part")]


@pytest.mark.parametrize(("way", "name"), CASES, ids=lambda it: getattr(it, "name", it))
def test_an_upload_ends_with_its_program(
    way: Way, name: str, tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    store = STORES[name]
    source = tmp_path / "source"
    source.write_bytes(bytes(store.size))
    scripts = {
        "POST /bucket/key": store.posts,
        "PUT /bucket/key": repeat(store.puts),
        "DELETE /bucket/key": repeat(HANGS),
    }
    with Origin({}, scripts) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        program = at(N0).do(Upload(str(source), "s3://bucket/key"))
        with (
            nothing_left(tmp_path),
            taking(SECONDS),
            pytest.raises(DeadlineExceeded, match=r"0\.2 s \(Upload was running\)") as caught,
        ):
            way.run(program, limits=PATIENT, within=SECONDS)
        assert isinstance(caught.value.__cause__, TimeoutError)
        assert origin.requests


@each_way
def test_the_parts_of_an_upload_are_removed_where_the_store_still_listens(
    way: Way, tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    aws.setattr(uploads, "GRACE", 5.0)  # not a matter of how busy the machine is
    source = tmp_path / "source"
    source.write_bytes(bytes(LARGE))
    scripts: dict[str, list[Fault]] = {
        "POST /bucket/key": [answered(BEGUN)],
        "PUT /bucket/key": [Hang()] * 3,
        "DELETE /bucket/key": [Status(204)],
    }
    with Origin({}, scripts) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        program = at(N0).do(Upload(str(source), "s3://bucket/key"))
        with pytest.raises(DeadlineExceeded) as caught:
            way.run(program, limits=PATIENT, within=SECONDS)
    assert origin.counts["DELETE /bucket/key"] == 1
    if way is SYNC:
        assert str(caught.value.__cause__).startswith("s3://bucket/key: not done within 0.")


@each_async_way
def test_the_parts_of_a_cancelled_upload_are_removed(
    way: Way, tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    aws.setattr(uploads, "GRACE", 5.0)  # not a matter of how busy the machine is
    source = tmp_path / "source"
    source.write_bytes(bytes(8 * LARGE))
    scripts: dict[str, Iterable[Fault]] = {
        "POST /bucket/key": [answered(BEGUN)],
        "PUT /bucket/key": repeat(Late(0.02, answered())),
        "DELETE /bucket/key": [Status(204)],
    }
    with Origin({}, scripts) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        with nothing_left(tmp_path):
            way.cancelled(Upload(str(source), "s3://bucket/key"), lambda: len(origin.requests) > 2)
    assert origin.counts["DELETE /bucket/key"] == 1


def test_a_store_with_limits_of_its_own_has_no_more_time(
    tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"acorn")
    with full() as url:
        patient = S3Store(
            "bucket",
            config={"endpoint": url.removesuffix("/a")},
            client_options={"allow_http": True, "connect_timeout": "20s", "timeout": "20s"},
        )
        with taking(SECONDS), pytest.raises(TimeoutError, match=r"key: not done within 0\.2 s"):
            SYNC.perform(
                Upload(str(source), "s3://bucket/key"),
                limits=IN_ALL,
                stores={"s3://bucket": patient},
            )


@each_way
def test_a_folder_keeps_no_part_of_an_upload_that_is_over_its_time(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Deadline.check

    def slow(deadline: Deadline) -> None:
        time.sleep(0.05)
        check(deadline)

    monkeypatch.setattr(Deadline, "check", slow)
    (tmp_path / "source").write_bytes(bytes(LARGE))
    (tmp_path / "store").mkdir()
    command = Upload(str(tmp_path / "source"), (tmp_path / "store" / "key").as_uri())
    with taking(SECONDS), pytest.raises(DeadlineExceeded):
        way.run(at(N0).do(command), within=SECONDS)
    assert list((tmp_path / "store").iterdir()) == []


@each_async_way
def test_a_cancelled_upload_does_not_wait_for_its_store(
    way: Way, tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"acorn")
    with Origin({}, {"PUT /bucket/key": [Hang()]}) as origin:
        aws.setenv("AWS_ENDPOINT_URL", origin.url)
        begin = time.monotonic()
        with nothing_left(tmp_path):
            way.cancelled(Upload(str(source), "s3://bucket/key"), lambda: bool(origin.requests))
    assert time.monotonic() - begin < 5.0  # of the 120 that a request may take
