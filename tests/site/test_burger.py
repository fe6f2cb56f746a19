"""The burger at run time: wrong orders are refused, and the upload in parts works with S3."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from moto import mock_aws

from ixbackoff import N3, Interpreter, Misuse, Throttled, at
from ixbackoff.testing import Virtual, always

from ..support.checkers.checked import ROOT, programs

MEGABYTES = b"bun, " * 2**20


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The names of the programs on the page; their types are checked with those of all pages."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    names: dict[str, Any] = {"__name__": "page"}
    for program in programs(ROOT / "docs" / "burger.md"):
        exec(compile(program, "burger.md", "exec", dont_inherit=True), names)  # noqa: S102
    return SimpleNamespace(**names)


WRONG: dict[str, Callable[[Any], object]] = {
    "has to begin at PattyOn; this one begins at EmptyPlate": lambda page: (
        page.patty >> page.bottom
    ),
    "EmptyPlate does not say that it may follow BottomBunOn": lambda page: page.BottomBunOn.to(
        page.EmptyPlate
    ),
    "CheeseOn does not say that it may follow TopBunOn": lambda page: page.TopBunOn.to(
        page.CheeseOn
    ),
    "<class 'int'> is not a state: derive a class from State": lambda page: page.EmptyPlate.to(int),
    "The chain leads to BottomBunOn instead of TopBunOn": lambda page: page.bottom.done(
        page.EmptyPlate, page.TopBunOn
    ),
    "has to begin at EmptyPlate; this one begins at CheeseOn": lambda page: page.top.done(
        page.EmptyPlate, page.TopBunOn
    ),
    "3 is not a chain: write Here.to": lambda page: page.bottom >> 3,
    "is not a command or an attempt": lambda page: at(N3).retry(page.burger),
    "Sub: derive it from State": lambda page: type("Sub", (page.PattyOn,), {}),
    "Bare: derive it from State": lambda page: type("Bare", (page.State,), {}),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_wrong_is_refused_when_it_is_put_together(page: Any, sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        WRONG[sentence](page)


@pytest.mark.parametrize("name", ["State", "Chain", "EmptyPlate"])
def test_nothing_is_made_by_hand(page: Any, name: str) -> None:
    with pytest.raises(TypeError):
        vars(page)[name](None)


def run(page: Any, chain: Any) -> int:
    whole: int = (
        at(N3)
        .retry(chain.done(page.EmptyPlate, page.TopBunOn))
        .run(Virtual(page.Add.handled_by(always(1))).interpreter)
    )
    return whole


def test_what_bind_makes_is_checked_when_it_is_known(page: Any) -> None:
    wrong = page.bottom.bind(lambda _: page.cheese)
    with pytest.raises(Misuse, match="has to begin at BottomBunOn; this one begins at PattyOn"):
        run(page, wrong >> page.top)
    with pytest.raises(Misuse, match="The chain leads to PattyOn instead of TopBunOn"):
        run(page, page.bottom.bind(lambda _: page.patty))
    with pytest.raises(Misuse, match="has to begin at PattyOn; this one begins at CheeseOn"):
        run(page, page.bottom.bind(lambda _: page.patty) >> page.top)


def test_a_long_chain_runs(page: Any) -> None:
    chain = page.bottom >> page.patty >> page.cheese
    for _ in range(5000):
        chain = chain >> page.more
    assert run(page, chain >> page.top) == 1


class Bucket:
    """The commands of the upload, carried out by S3, which is busy at the second part once."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.key = ""
        self.is_busy = True
        self.client = boto3.client("s3")
        self.client.create_bucket(Bucket="bucket")

    def begin(self, command: Any) -> str:
        self.key = command.key
        answer = self.client.create_multipart_upload(Bucket="bucket", Key=self.key)
        return str(answer["UploadId"])

    def put(self, command: Any) -> None:
        if command.number == 2 and self.is_busy:
            self.is_busy = False
            raise Throttled(retry_after=5)
        self.client.upload_part(
            Bucket="bucket",
            Key=self.key,
            UploadId=command.upload,
            PartNumber=command.number,
            Body=command.data,
        )

    def complete(self, command: Any) -> None:
        upload = {"Bucket": "bucket", "Key": self.key, "UploadId": command.upload}
        listed = self.client.list_parts(**upload).get("Parts", [])
        parts = [{"PartNumber": one["PartNumber"], "ETag": one["ETag"]} for one in listed]
        self.client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})

    def handlers(self) -> Interpreter[Any]:
        page = self.page
        handlers: Interpreter[Any] = (
            page.Begin.handled_by(self.begin)
            | page.Put.handled_by(self.put)
            | page.Complete.handled_by(self.complete)
        )
        return handlers


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
def test_the_upload_of_the_page_works_with_s3(page: Any) -> None:
    with mock_aws():
        bucket = Bucket(page)
        world = Virtual(bucket.handlers())
        at(N3).resume(page.uploaded("burger", [MEGABYTES, b"patty"])).run(world.interpreter)
        body = bucket.client.get_object(Bucket="bucket", Key="burger")["Body"].read()
        assert body == MEGABYTES + b"patty"
        assert world.waits == [5.0]
        assert "Uploads" not in bucket.client.list_multipart_uploads(Bucket="bucket")


@pytest.mark.slow
@pytest.mark.usefixtures("aws")
def test_s3_refuses_wrong_orders_only_when_they_happen(page: Any) -> None:
    with mock_aws():
        bucket = Bucket(page)
        upload = bucket.begin(page.Begin("burger"))
        with pytest.raises(ClientError, match="MalformedXML"):
            bucket.complete(page.Complete(upload))
        bucket.put(page.Put(upload, 1, b"bun"))
        bucket.complete(page.Complete(upload))
        with pytest.raises(ClientError, match="NoSuchUpload"):
            bucket.complete(page.Complete(upload))
