"""The squirrel with a bucket behind a real S3 endpoint."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import Origin, Reset

from ..support.kills.squirrels import LARGE, KillingSquirrels
from ..support.servers.s3 import s3_server
from ..support.squirrels.running import Squirrel, files_below
from ..support.squirrels.stores import Bucket

ROOT = Path(__file__).parent.parent.parent
ACORN = bytes(range(256)) * 2000
WALNUT = b"walnut" * 2**20


@pytest.fixture
def squirrel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Squirrel:
    return Squirrel(tmp_path / "squirrel", capsys)


def test_a_bucket_of_s3(squirrel: Squirrel, moto: str, aws: pytest.MonkeyPatch) -> None:
    store = ["--store", "s3://bucket/prefix/", "--endpoint", moto]
    with (
        Origin({"/nuts": ACORN}, {"GET /nuts": [Reset(after=1000)]}) as origin,
        closing(boto3.client("s3", endpoint_url=moto)) as client,
    ):
        client.create_bucket(Bucket="bucket")
        url = origin.url + "/nuts"
        name = Resource(url).name
        for content, result in [(ACORN, "copied"), (ACORN, "hit"), (WALNUT, "copied")]:
            origin.resources["/nuts"] = content
            ran = squirrel.run(url, *store)
            assert (ran.status, ran.results) == (0, [result])
            (row,) = squirrel.rows
            assert (row.name, row.place) == (name, f"s3://bucket/prefix at {moto}")
            key = f"prefix/{row.key}"
            with closing(client.get_object(Bucket="bucket", Key=key)["Body"]) as body:
                assert body.read() == content
            assert client.list_objects_v2(Bucket="bucket")["KeyCount"] == 1
    assert files_below(squirrel.folder) == ["index.sqlite"]


def test_another_endpoint_is_another_place(
    squirrel: Squirrel, moto: str, aws: pytest.MonkeyPatch
) -> None:
    with Origin({"/nuts": ACORN}) as origin, closing(boto3.client("s3", endpoint_url=moto)) as s3:
        s3.create_bucket(Bucket="places")
        elsewhere = moto.replace("127.0.0.1", "localhost")
        for endpoint, result in [(moto, "copied"), (elsewhere, "copied"), (moto, "hit")]:
            words = ["--store", "s3://places", "--endpoint", endpoint]
            found = squirrel.run(origin.url + "/nuts", *words)
            assert found.results == [result]


def test_the_endpoint_may_be_one_of_the_usual_variables(
    squirrel: Squirrel, moto: str, aws: pytest.MonkeyPatch
) -> None:
    aws.setenv("AWS_ENDPOINT_URL", moto)
    with (
        Origin({"/nuts": ACORN}) as origin,
        closing(boto3.client("s3")) as client,
    ):
        client.create_bucket(Bucket="usual")
        assert squirrel.run(origin.url + "/nuts", "--store", "s3://usual").status == 0
        assert client.list_objects_v2(Bucket="usual")["KeyCount"] == 1


@pytest.mark.slow
def test_killed_at_any_moment_it_keeps_the_resource_the_next_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], moto: str, aws: pytest.MonkeyPatch
) -> None:
    aws.setenv("AWS_ENDPOINT_URL", moto)
    with Origin({"/nuts": ACORN}) as origin, closing(boto3.client("s3")) as client:
        client.create_bucket(Bucket="killed")
        url = origin.url + "/nuts"

        def objects(moment: str) -> list[tuple[str, int]]:
            found = client.list_objects_v2(Bucket="killed", Prefix=f"{moment}/")
            kept = [(each["Key"], each["Size"]) for each in found.get("Contents", [])]
            return [(key.rpartition("/")[0], size) for key, size in kept]

        moments = [str(moment) for moment in range(20)]
        words = [url, "--store", "s3://killed/{moment}"]
        arguments = ["-m", "tests.support.kills.moments", str(tmp_path), ",".join(moments), *words]
        subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True)  # noqa: S603
        for moment in moments:
            whole = [(f"{moment}/{Resource(url).name}", len(ACORN))]
            assert objects(moment) in ([], whole)
            squirrel = Squirrel(tmp_path / moment, capsys)
            assert squirrel.run(url, "--store", f"s3://killed/{moment}").status == 0
            assert objects(moment) == whole
            assert len(squirrel.rows) == 1
            assert files_below(squirrel.folder) == ["index.sqlite"]


@pytest.mark.slow
def test_killed_in_uploads_of_large_objects_it_keeps_them_the_next_time(
    tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    with s3_server() as endpoint:
        bucket = Bucket(endpoint, "large")
        bucket.make()
        found = KillingSquirrels(tmp_path / "squirrel", 5, bucket, LARGE).until(kills=1)
    assert found.broken == [], str(found)
