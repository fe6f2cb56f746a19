"""Failures of boto3 against moto's server, and against one that fails by a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import boto3.exceptions  # type: ignore[import-untyped]
import botocore.exceptions  # type: ignore[import-untyped]
import pytest
from boto3.s3.transfer import TransferConfig  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.retries import standard  # type: ignore[import-untyped]

from ixbackoff import known
from ixbackoff.known import aws
from ixbackoff.testing.web import Dropped, Fault, Hang, Origin, Reset, Slow, Status, Truncated

from ..support.clients.classes import exceptions_of, passing_unseen
from ..support.clients.tries import FOUR_TIMES, Tried, tried
from ..support.servers.certificates import hanging_up, self_signed, untrusted, without_tls

PATIENT = Config(
    retries={"total_max_attempts": 1},
    connect_timeout=20.0,
    read_timeout=20.0,
    s3={"addressing_style": "path"},
    proxies={},
)
QUICK = PATIENT.merge(Config(read_timeout=0.1))


@contextmanager
def client(url: str, service: str = "s3", **options: Any) -> Generator[Any]:
    """Make a client that does not retry by itself."""
    with closing(
        boto3.client(
            service,
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="acorn",
            aws_secret_access_key="oak",  # noqa: S106
            **{"config": PATIENT, **options},
        )
    ) as made:
        yield made


def get(s3: Any) -> object:
    return s3.get_object(Bucket="nuts", Key="acorn")["Body"].read()


def put(s3: Any) -> object:
    return s3.put_object(Bucket="nuts", Key="acorn", Body=b"acorn")


def run(ec2: Any) -> object:
    return ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1)


def describe(ec2: Any) -> object:
    return ec2.describe_instances()


def read_item(dynamodb: Any) -> object:
    return dynamodb.get_item(TableName="nuts", Key={"name": {"S": "acorn"}})


def send(sqs: Any) -> object:
    return sqs.send_message(QueueUrl="http://127.0.0.1/queue", MessageBody="acorn")


def invoke(function: Any) -> object:
    return function.invoke(FunctionName="plant")["Payload"].read()


def failed_by(fault: Fault, service: str, operation: Callable[[Any], object]) -> Tried:
    """Try an operation at a server that fails in the same way each time."""
    config = QUICK if isinstance(fault, Hang | Slow) else PATIENT
    with (
        Origin({"/nuts/acorn": b"acorn"}) as origin,
        client(origin.url, service, config=config) as made,
    ):
        for path in ("/nuts/acorn", "/", "/2015-03-31/functions/plant/invocations"):
            origin.resources[path] = b"acorn"
            origin.script(path, repeat(fault))
        told = tried(lambda: operation(made))
        assert len(origin.requests) == told.tries
        return told


LOST = [Reset(), Dropped(), Hang(), Status(500), Status(502), Status(504)]
NOT_CARRIED_OUT = [
    Status(503),
    Status(429),
    Status(503, body=b"<Error><Code>SlowDown</Code></Error>"),
    Status(400, body=b"<Error><Code>RequestTimeout</Code></Error>"),
    Status(409, body=b"<Error><Code>OperationAborted</Code></Error>"),
]
IDEMPOTENT = [("s3", get), ("s3", put), ("ec2", describe), ("dynamodb", read_item)]
ONCE = [("ec2", run), ("sqs", send), ("lambda", invoke)]


@pytest.mark.parametrize("fault", LOST, ids=repr)
@pytest.mark.parametrize(("service", "operation"), IDEMPOTENT)
def test_a_lost_answer_to_what_may_be_repeated_passes(
    fault: Fault, service: str, operation: Callable[[Any], object]
) -> None:
    assert failed_by(fault, service, operation).tries == FOUR_TIMES


@pytest.mark.parametrize("fault", LOST, ids=repr)
@pytest.mark.parametrize(("service", "operation"), ONCE)
def test_a_lost_answer_to_anything_else_does_not(
    fault: Fault, service: str, operation: Callable[[Any], object]
) -> None:
    told = failed_by(fault, service, operation)
    assert told.tries == 1
    assert told.why.startswith("botocore.exceptions.")
    assert " after a POST of " in told.why
    assert told.why.endswith(", which may have been carried out")


@pytest.mark.parametrize("fault", NOT_CARRIED_OUT, ids=repr)
@pytest.mark.parametrize("operation", [get, put])
def test_what_was_not_carried_out_passes(fault: Fault, operation: Callable[[Any], object]) -> None:
    assert failed_by(fault, "s3", operation).tries == FOUR_TIMES


def test_throttling_passes_whatever_was_asked() -> None:
    body = b"<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>"
    assert failed_by(Status(400, body=body), "ec2", run).tries == FOUR_TIMES
    body = b'{"__type": "com.amazonaws.dynamodb#ProvisionedThroughputExceededException"}'
    assert failed_by(Status(400, body=body), "dynamodb", read_item).tries == FOUR_TIMES


@pytest.mark.parametrize("fault", [Truncated(2), Reset(2), Slow(60.0, 1)], ids=repr)
def test_an_object_that_breaks_off_passes(fault: Fault) -> None:
    assert failed_by(fault, "s3", get).tries == FOUR_TIMES


@pytest.mark.parametrize("fault", [Truncated(2), Reset(2), Slow(60.0, 1)], ids=repr)
def test_the_answer_of_a_function_that_breaks_off_does_not(fault: Fault) -> None:
    told = failed_by(fault, "lambda", invoke)
    assert (told.tries, told.why.partition(" after ")[2]) == (
        1,
        "a POST, which may have been carried out",
    )


@pytest.mark.parametrize("operation", [get, put])
@pytest.mark.parametrize(
    ("status", "code"),
    [(404, "NoSuchKey"), (403, "AccessDenied"), (400, "ExpiredToken")],
)
def test_other_answers_do_not_pass(
    operation: Callable[[Any], object], status: int, code: str
) -> None:
    fault = Status(status, body=f"<Error><Code>{code}</Code></Error>".encode())
    told = failed_by(fault, "s3", operation)
    assert told.tries == 1
    assert told.why.endswith(f" {status}")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"x-amz-retry-after": "1500"}, 1.5),
        ({"x-amz-retry-after": "soon", "Retry-After": "2"}, 2.0),
        ({"Retry-After": "soon"}, None),
    ],
)
def test_the_time_that_is_asked_for(headers: dict[str, str], seconds: float | None) -> None:
    fault = Status(503, headers=headers)
    with (
        Origin({}, {"/nuts/acorn": [fault]}) as origin,
        client(origin.url) as s3,
        pytest.raises(botocore.exceptions.ClientError) as caught,
    ):
        get(s3)
    assert known.retry_after(caught.value) == seconds


def test_the_time_that_is_asked_for_may_be_a_date() -> None:
    fault = Status(429, retry_after=timedelta(seconds=30))
    with (
        Origin({}, {"/nuts/acorn": [fault]}) as origin,
        client(origin.url) as s3,
        pytest.raises(botocore.exceptions.ClientError) as caught,
    ):
        get(s3)
    assert known.retry_after(caught.value) == 30


def test_a_refused_connection_passes() -> None:
    with Origin() as origin, client(origin.url, "ec2") as ec2:
        origin.go_down(60.0)
        told = tried(lambda: run(ec2))
    assert told.tries == FOUR_TIMES
    assert isinstance(told.failure, botocore.exceptions.EndpointConnectionError)


def test_a_host_that_does_not_exist_does_not() -> None:
    with client("http://oak.invalid") as s3:
        told = tried(lambda: get(s3))
    why = "botocore.exceptions.EndpointConnectionError: the name of the host is not known"
    assert (told.tries, told.why) == (1, why)


def test_a_certificate_that_does_not_verify_does_not(tmp_path: Path) -> None:
    with untrusted(self_signed(tmp_path)) as server, client(server.url) as s3:
        told = tried(lambda: get(s3))
    assert len(server.came) == 1
    why = "botocore.exceptions.SSLError: the certificate does not verify"
    assert (told.tries, told.why) == (1, why)


def test_a_handshake_that_is_cut_off_passes() -> None:
    with hanging_up() as server, client(server.url, "ec2") as ec2:
        told = tried(lambda: run(ec2))
    assert len(server.came) == told.tries == FOUR_TIMES


def test_a_server_without_tls_does_not() -> None:
    with without_tls() as server, client(server.url) as s3:
        told = tried(lambda: get(s3))
    why = "botocore.exceptions.SSLError: the two sides do not agree on TLS"
    assert (len(server.came), told.why) == (1, why)


@pytest.mark.parametrize(("status", "tries"), [(503, FOUR_TIMES), (502, FOUR_TIMES), (407, 1)])
def test_a_proxy_is_judged_by_its_answer(status: int, tries: int) -> None:
    with Origin() as proxy:
        proxy.script("oak.invalid:443", repeat(Status(status)))
        through = PATIENT.merge(Config(proxies={"https": proxy.url}))
        with client("https://oak.invalid", "ec2", config=through) as ec2:
            told = tried(lambda: run(ec2))
        assert len(proxy.requests) == told.tries == tries
    assert isinstance(told.failure, botocore.exceptions.ProxyConnectionError)


def test_missing_credentials_do_not_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    session = boto3.Session()  # the one that all clients share remembers credentials
    with closing(session.client("s3", region_name="us-east-1", config=PATIENT)) as s3:
        told = tried(lambda: get(s3))
    assert (told.tries, told.why) == (
        1,
        "botocore.exceptions.NoCredentialsError is not known to pass by itself",
    )


def test_a_file_is_judged_by_the_request_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "acorn"
    path.write_bytes(b"acorn")
    config = TransferConfig(num_download_attempts=1)
    for fault, tries in [(Status(503), FOUR_TIMES), (Status(403), 1), (Hang(), FOUR_TIMES)]:
        told = failed_by(fault, "s3", lambda s3: s3.upload_file(str(path), "nuts", "acorn"))
        assert told.tries == tries
    with Origin({"/nuts/acorn": b"acorn"}) as origin, client(origin.url) as s3:
        origin.script("GET /nuts/acorn", repeat(Truncated(2)))
        told = tried(lambda: s3.download_file("nuts", "acorn", str(path), Config=config))
    assert isinstance(told.failure, boto3.exceptions.RetriesExceededError)
    assert told.tries == FOUR_TIMES


def test_real_answers(moto: str) -> None:
    with client(moto) as s3:
        s3.create_bucket(Bucket="nuts")
        put(s3)
        assert get(s3) == b"acorn"
        for wrong in (
            lambda: s3.get_object(Bucket="nuts", Key="walnut"),
            lambda: s3.head_object(Bucket="nuts", Key="walnut"),
            lambda: s3.put_object(Bucket="missing", Key="acorn", Body=b""),
            lambda: s3.get_object(Bucket="nuts", Key="acorn", IfMatch='"walnut"'),
        ):
            told = tried(wrong)
            assert told.tries == 1
            assert told.why.startswith("botocore.")


def test_a_waiter_has_waited_already(moto: str) -> None:
    few = {"Delay": 0, "MaxAttempts": 2}
    with client(moto) as s3:
        s3.create_bucket(Bucket="shells")
        waiter = s3.get_waiter("object_exists")
        told = tried(lambda: waiter.wait(Bucket="shells", Key="acorn", WaiterConfig=few))
    why = "botocore.exceptions.WaiterError, which has waited already"
    assert (told.tries, told.why) == (1, why)


def test_a_waiter_that_a_failure_ended_is_judged_by_it() -> None:
    few = {"Delay": 0, "MaxAttempts": 2}

    def wait(s3: Any) -> None:
        s3.get_waiter("object_exists").wait(Bucket="nuts", Key="acorn", WaiterConfig=few)

    assert failed_by(Status(503), "s3", wait).tries == FOUR_TIMES
    assert failed_by(Status(403), "s3", wait).tries == 1


def test_an_event_stream_has_a_code_and_no_status() -> None:
    for code, passes in [("throttlingException", True), ("validationException", False)]:
        failure = botocore.exceptions.EventStreamError({"Error": {"Code": code}}, "Converse")
        assert known.is_transient(failure) is passes


def test_the_codes_are_those_of_botocore() -> None:
    checkers = (standard.TransientRetryableChecker, standard.ThrottledRetryableChecker)
    transient, throttled = checkers
    assert set(throttled._THROTTLED_ERROR_CODES) <= aws.THROTTLING
    assert set(transient._TRANSIENT_ERROR_CODES) <= aws.THROTTLING | aws.TRANSIENT


@pytest.mark.parametrize("library", ["botocore", "boto3", "s3transfer"])
def test_each_class_has_a_verdict(library: str) -> None:
    for kind in exceptions_of(library):
        told = known.judge(kind.__new__(kind))
        assert told.transient or kind.__name__ in told.why
    before_sending = {"ConnectionError", "EndpointConnectionError", "ConnectTimeoutError"}
    vendored = {"ConnectTimeout", "ProxyError"}  # which nothing raises any more
    assert passing_unseen(library) - vendored == (
        before_sending if library == "botocore" else set()
    )
