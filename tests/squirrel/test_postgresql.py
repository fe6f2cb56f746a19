"""The squirrel with an index in a real PostgreSQL server."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff.squirrel.commands import Copy, FindCopy, RecordCopy, Resource
from ixbackoff.squirrel.index import Index, IndexBroken, IndexUnavailable
from ixbackoff.testing.web import Origin

from ..support.postgresql import PASSWORD, Server
from ..support.squirrels import Squirrel, files_below

NUTS = Resource("http://localhost/nuts")


def test_it_copies_then_it_hits_and_a_change_is_copied_again(
    postgresql: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    squirrel = Squirrel(tmp_path / "squirrel", capsys)
    with Origin({"/nuts": b"acorn"}) as origin:
        url = origin.url + "/nuts"
        for content, result in [(b"acorn", "copied"), (b"acorn", "hit"), (b"walnut", "copied")]:
            origin.resources["/nuts"] = content
            ran = squirrel.run(url, "--index", postgresql.url)
            assert (ran.status, ran.results) == (0, [result])
            assert squirrel.objects == {Resource(url).name: content}
        assert files_below(squirrel.folder) == ["objects", f"objects/{Resource(url).name}"]


def test_a_row_is_replaced(postgresql: Server) -> None:
    with Index(postgresql.url) as index, Index(postgresql.url) as other:
        index.record(RecordCopy(NUTS, "v1", Copy("memory://", "key")))
        other.record(RecordCopy(NUTS, "v2", Copy("memory://", "key")))
        assert index.find(FindCopy(NUTS, "v1")) is None
        assert index.find(FindCopy(NUTS, "v2")) == Copy("memory://", "key")


def test_a_server_that_was_away_is_found_again(postgresql: Server) -> None:
    with Index(postgresql.url) as index:
        index.record(RecordCopy(NUTS, "v1", Copy("memory://", "key")))
        postgresql.stop()
        for _ in range(2):
            with pytest.raises(IndexUnavailable) as caught:
                index.find(FindCopy(NUTS, "v1"))
            assert PASSWORD not in str(caught.value)
            assert "sesame" not in str(caught.value)
        postgresql.start()
        assert index.find(FindCopy(NUTS, "v1")) == Copy("memory://", "key")


@pytest.mark.parametrize(
    ("wrong", "right", "failure"),
    [
        (PASSWORD, "whisper", IndexUnavailable),
        ("/postgres", "/missing", IndexUnavailable),
        ("/postgres", "/postgres?nonsense=whisper", IndexBroken),
        ("/postgres", "/postgres?connect_timeout=whisper", IndexBroken),
    ],
)
def test_what_is_wrong_is_told_without_secrets(
    postgresql: Server, wrong: str, right: str, failure: type[Exception]
) -> None:
    with pytest.raises(failure) as caught:
        Index(postgresql.url.replace(wrong, right))
    text = str(caught.value)
    assert f"127.0.0.1:{postgresql.port}/" in text
    assert "its URL" in text
    assert not [secret for secret in ("sesame", PASSWORD, "whisper") if secret in text]


def test_a_table_of_another_kind_is_refused(postgresql: Server) -> None:
    url = f"{postgresql.url}?options=-csearch_path%3Delsewhere"
    with Index(postgresql.url) as index, index.engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA elsewhere")
        connection.exec_driver_sql("CREATE TABLE elsewhere.copies (name text)")
    with Index(url) as index, pytest.raises(IndexBroken, match="has other columns"):
        index.find(FindCopy(NUTS, "v1"))
