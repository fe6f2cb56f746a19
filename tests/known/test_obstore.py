"""Failures of obstore against moto's server, and against one that fails by a script."""

from __future__ import annotations

import asyncio
import inspect
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import obstore.exceptions
import pytest
from obstore.store import LocalStore, S3Store

from ixbackoff import known
from ixbackoff.testing.web import (
    Dropped,
    Fault,
    Hang,
    Malformed,
    Origin,
    Reset,
    Slow,
    Status,
    Truncated,
)

from ..support.clients.tries import FOUR_TIMES, Tried, tried, tried_async
from ..support.servers.certificates import self_signed, untrusted


def store(url: str, bucket: str = "nuts", timeout: float = 20.0) -> S3Store:
    return S3Store(
        bucket,
        endpoint=url,
        region="us-east-1",
        access_key_id="acorn",
        secret_access_key="oak",  # noqa: S106
        client_options={"allow_http": True, "timeout": timedelta(seconds=timeout)},
        retry_config={"max_retries": 0},
    )


def get(s3: S3Store) -> object:
    return s3.get("acorn").bytes()


def put(s3: S3Store) -> object:
    return s3.put("acorn", b"acorn", use_multipart=False)


async def get_async(s3: S3Store) -> object:
    return await (await s3.get_async("acorn")).bytes_async()


def failed_by(fault: Fault, operation: Any) -> Tried:
    with Origin({"/nuts/acorn": b"acorn"}, {"/nuts/acorn": repeat(fault)}) as origin:
        s3 = store(origin.url, timeout=0.1 if isinstance(fault, Hang | Slow) else 20.0)
        if operation is get_async:
            told = asyncio.run(tried_async(lambda: get_async(s3)))
        else:
            told = tried(lambda: operation(s3))
        assert len(origin.requests) == told.tries
    return told


each_operation = pytest.mark.parametrize("operation", [get, put, get_async])


@each_operation
@pytest.mark.parametrize(
    "fault",
    [
        Reset(),
        Dropped(),
        Hang(),
        Malformed(),
        *map(Status, [408, 425, 429, 500, 502, 503, 504]),
        Status(503, body=b"<Error><Code>SlowDown</Code></Error>"),
        Status(400, body=b"<Error><Code>RequestTimeout</Code></Error>"),
        Status(409, body=b"<Error><Code>OperationAborted</Code></Error>"),
    ],
    ids=repr,
)
def test_what_may_pass(fault: Fault, operation: Any) -> None:
    told = failed_by(fault, operation)
    assert told.tries == FOUR_TIMES
    assert told.retry_after is None


@pytest.mark.parametrize("operation", [get, get_async])
@pytest.mark.parametrize("fault", [Reset(2), Truncated(2), Slow(60.0, 1)], ids=repr)
def test_an_object_that_breaks_off_passes(fault: Fault, operation: Any) -> None:
    assert failed_by(fault, operation).tries == FOUR_TIMES


@each_operation
@pytest.mark.parametrize(
    ("status", "code", "name"),
    [
        (400, "InvalidArgument", "GenericError"),
        (401, "", "UnauthenticatedError"),
        (403, "AccessDenied", "PermissionDeniedError"),
        (409, "BucketAlreadyExists", "AlreadyExistsError"),
        (412, "PreconditionFailed", "PreconditionError"),
        (416, "InvalidRange", "GenericError"),
        (501, "NotImplemented", "GenericError"),
    ],
)
def test_other_answers_do_not_pass(operation: Any, status: int, code: str, name: str) -> None:
    body = f"<Error><Code>{code}</Code></Error>".encode() if code else b""
    told = failed_by(Status(status, body=body), operation)
    why = f"obstore.exceptions.{name}, status {status} {code}".rstrip()
    assert (told.tries, told.why) == (1, why)


@each_operation
def test_a_missing_object_does_not_pass(operation: Any) -> None:
    told = failed_by(Status(404), operation)
    assert (told.tries, told.why) == (1, "FileNotFoundError is not known to pass by itself")


def test_a_redirect_without_a_place_does_not_pass() -> None:
    told = failed_by(Status(301), get)
    why = "obstore.exceptions.GenericError is not known to pass by itself"
    assert (told.tries, told.why) == (1, why)


def test_a_refused_connection_passes() -> None:
    with Origin() as origin:
        origin.go_down(60.0)
        assert tried(lambda: put(store(origin.url))).tries == FOUR_TIMES


def test_a_host_that_does_not_exist_does_not() -> None:
    told = tried(lambda: get(store("http://oak.invalid")))
    why = "obstore.exceptions.GenericError: the name of the host is not known"
    assert (told.tries, told.why) == (1, why)


def test_a_certificate_that_does_not_verify_does_not(tmp_path: Path) -> None:
    with untrusted(self_signed(tmp_path)) as server:
        told = tried(lambda: get(store(server.url.removesuffix("/a"))))
    why = "obstore.exceptions.GenericError: the certificate does not verify"
    assert (told.tries, told.why, len(server.came)) == (1, why, 1)


def test_a_full_disk_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "acorn").mkdir()
    told = tried(lambda: LocalStore(tmp_path).put("acorn", b"acorn", use_multipart=False))
    assert told.tries == 1


def test_real_answers(moto: str) -> None:
    told = tried(lambda: put(store(moto, "missing")))
    assert (told.tries, told.failure.__class__) == (1, FileNotFoundError)  # there is no bucket
    assert "NoSuchBucket" in str(told.failure)


def test_nothing_of_the_text_is_shown() -> None:
    fault = Status(400, body=b"<Error><Code>Bad</Code><Message>hush</Message></Error>")
    told = failed_by(fault, get)
    assert told.why == "obstore.exceptions.GenericError, status 400 Bad"


def test_each_class_has_a_verdict() -> None:
    module: Any = obstore.exceptions
    kinds: list[Any] = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
    assert len(kinds) >= 11
    for kind in kinds:
        told = known.judge(kind("no more is said"))
        assert told.why == f"obstore.exceptions.{kind.__name__} is not known to pass by itself"
