"""Secrets, which nobody may read: user names, passwords, queries and fragments of URLs."""

from __future__ import annotations

import logging
from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff.squirrel.commands import Resource
from ixbackoff.testing.web import (
    Dropped,
    Fault,
    Malformed,
    Origin,
    Redirect,
    Reset,
    Status,
    Truncated,
)

from ..support.squirrels.running import Squirrel
from ..support.ways.live import SECRETS, with_secrets

ACORN = b"acorn" * 50_000
EMPTY = b"""<ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount><MaxKeys>1000</MaxKeys>
<IsTruncated>false</IsTruncated></ListBucketResult>"""

OUTCOMES: dict[str, tuple[str, Fault | None]] = {
    "kept": ("GET", None),
    "missing": ("GET", Status(404)),
    "unauthorized": ("GET", Status(401)),
    "unavailable": ("GET", Status(503)),
    "redirected": ("GET", Redirect("/nuts?token=hush")),
    "elsewhere": ("GET", Redirect("ftp://sesame:opensaysme@localhost/nuts?token=hush")),
    "dropped": ("GET", Dropped()),
    "malformed": ("GET", Malformed()),
    "reset": ("GET", Reset(after=1000)),
    "truncated": ("GET", Truncated(after=1000)),
}


@pytest.fixture
def squirrel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Squirrel:
    caplog.set_level(logging.DEBUG)
    return Squirrel(tmp_path / "squirrel", capsys)


def told(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def kept(folder: Path) -> str:
    """All names and contents of files."""
    texts = [str(path.relative_to(folder)) for path in folder.rglob("*")]
    texts += [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    return "\n".join(texts)


@pytest.mark.parametrize("name", OUTCOMES)
def test_those_of_a_resource(
    name: str, squirrel: Squirrel, caplog: pytest.LogCaptureFixture
) -> None:
    method, fault = OUTCOMES[name]
    with Origin({"/nuts": ACORN}, {f"{method} /nuts": repeat(fault)}) as origin:
        url = with_secrets(origin.url, "/nuts")
        ran = squirrel.run(url, "--verbose")
        asked = origin.requests[0]
    assert ran.status == (0 if name == "kept" else 1)
    assert asked.target == "/nuts?token=hush"
    assert "authorization" in asked.headers
    assert Resource(url).url == url
    shown = ran.out + ran.err
    assert origin.url + "/nuts" in shown
    assert told(shown) == []
    assert origin.url + "/nuts" in caplog.text
    assert told(caplog.text) == []
    assert told(kept(squirrel.folder)) == []


@pytest.mark.parametrize(
    "words",
    [
        ["ftp://sesame:opensaysme@localhost/nuts?token=hush#whisper"],
        ["sesame:opensaysme@localhost/nuts?token=hush#whisper"],
        ["http:/sesame:opensaysme@localhost/nuts?token=hush"],
        ["http://sesame:opensaysme/@localhost/nuts?token=hush"],
        ["http://sesame:opensaysme@/nuts?token=hush"],
        ["--store", "ftp://sesame:opensaysme@localhost?token=hush"],
        ["--store", "s3://sesame:opensaysme@bucket?token=hush"],
        ["--store", "s3:/sesame:opensaysme@bucket"],
        ["--index", "mysql://sesame:opensaysme@localhost/database?token=hush"],
        ["--index", "postgresql://sesame:opensaysme@127.0.0.1:port/database"],
        ["--index", "postgresql://sesame:opensaysme@127.0.0.1:1/database?sslmode=hush"],
        ["--index", "postgresql://sesame:opensaysme@127.0.0.1:1/database?application_name=hush"],
        ["--index", "postgresql://127.0.0.1:1/database?user=sesame&password=opensaysme"],
        ["--store", "s3://bucket", "--endpoint", "ftp://sesame:opensaysme@localhost?token=hush"],
    ],
    ids=lambda words: " ".join(words),
)
def test_those_of_a_command_that_is_refused(
    words: list[str], squirrel: Squirrel, caplog: pytest.LogCaptureFixture
) -> None:
    resources = ["http://127.0.0.1:1/nuts"] if words[0].startswith("--") else []
    ran = squirrel.run(*resources, *words, "--verbose")
    assert ran.status == 2
    assert told(ran.out + ran.err) == []
    assert told(caplog.text) == []


@pytest.mark.parametrize(
    "fault", [Status(403), Status(503), Dropped(), Malformed(b"HTTP/1.1 400 No\r\n\r\nsesame")]
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_those_of_a_bucket(
    method: str,
    fault: Fault,
    squirrel: Squirrel,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "sesame")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "opensaysme")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with Origin({"/nuts": ACORN}) as origin, Origin({"/": EMPTY}) as bucket:
        url = origin.url + "/nuts"
        bucket.script(f"{method} /", repeat(fault))
        endpoint = with_secrets(bucket.url, "")
        ran = squirrel.run(url, "--store", "s3://bucket", "--endpoint", endpoint, "--verbose")
        assert ran.status == 1
        asked = {request.target for request in bucket.requests if request.method == method}
        assert {target.startswith("/?") for target in asked} == {True}
        assert method == "GET" or asked == {"/?token=hush"}
    assert told(ran.out + ran.err) == []
    assert told(caplog.text) == []
    assert told(kept(squirrel.folder)) == []
