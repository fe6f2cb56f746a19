"""The squirrel with an index in a real PostgreSQL server."""

from __future__ import annotations

import socket
from pathlib import Path
from time import monotonic

import pytest

from ixbackoff import N0, DeadlineExceeded, at, call
from ixbackoff.live import live
from ixbackoff.squirrel.commands import Claim, Copy, Look, Resource, Swap
from ixbackoff.squirrel.index import Index, IndexBroken, IndexUnavailable
from ixbackoff.testing.web import Origin

from ..support.servers.postgresql import PASSWORD, Server
from ..support.squirrels.indexes import check_swaps
from ..support.squirrels.running import Squirrel, files_below, tidy

pytestmark = pytest.mark.slow

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
        assert files_below(squirrel.folder) == tidy(url)[1:]


def test_of_two_squirrels_one_swaps(postgresql: Server) -> None:
    with Index(postgresql.url) as one, Index(postgresql.url) as other:
        check_swaps(one, other)


def test_a_server_that_was_away_is_found_again(postgresql: Server) -> None:
    look = Look(NUTS, "away")
    with Index(postgresql.url) as index:
        key = index.claim(Claim(NUTS, "away"))
        postgresql.stop()
        for _ in range(2):
            with pytest.raises(IndexUnavailable) as caught:
                index.look(look)
            assert PASSWORD not in str(caught.value)
            assert "sesame" not in str(caught.value)
        postgresql.start()
        assert index.swap(Swap(NUTS, "away", None, Copy(key, "v1", 5)))
        assert index.look(look)[:2] == (Copy(key, "v1", 5), ())


@pytest.mark.parametrize("within", [1.0, None], ids=["short", "long"])
def test_a_lock_of_another_program_is_not_waited_for_without_end(
    within: float | None, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ixbackoff.squirrel.postgresql.PATIENCE", 1.0)
    with Index(postgresql.url) as index, Index(postgresql.url) as other:
        with other.database.transaction(True, 60.0) as execute:
            execute("LOCK TABLE claims IN ACCESS EXCLUSIVE MODE", {})
            begin = monotonic()
            with pytest.raises(DeadlineExceeded if within else IndexUnavailable) as caught:
                at(N0).do(Look(NUTS, "den")).run(index.interpreter | live(), within=within)
            assert 0.9 < monotonic() - begin < 4
        failure = caught.value.__cause__ if within else caught.value
        assert "it did not answer in time" in str(failure) or "has locked it" in str(failure)
        assert index.look(Look(NUTS, "nowhere"))[:2] == (None, ())


def test_a_server_that_says_nothing_is_not_waited_for_without_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/postgres"
        begin = monotonic()
        with pytest.raises(DeadlineExceeded):
            at(N0).do(call(Index, url)).run(live(), within=1)
        assert monotonic() - begin < 4
        with pytest.raises(IndexUnavailable, match="it does not answer"):
            Index(f"{url}?connect_timeout=2")


def test_a_wrong_password_is_tried_once(
    postgresql: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    squirrel = Squirrel(tmp_path / "squirrel", capsys)
    url = postgresql.url.replace(PASSWORD, "whisper")
    ran = squirrel.run("http://127.0.0.1:1/nuts", "--index", url)
    assert ran.status == 2
    (told,) = ran.err.splitlines()
    assert "refuses the user, the password or the database in its URL" in told


@pytest.mark.parametrize(
    ("wrong", "right", "failure"),
    [
        (PASSWORD, "whisper", IndexBroken),
        ("/postgres", "/missing", IndexBroken),
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
    with Index(postgresql.url) as index, index.database.transaction(True, 60.0) as execute:
        execute("CREATE SCHEMA elsewhere", {})
        execute("CREATE TABLE elsewhere.copies (name text)", {})
    with pytest.raises(IndexBroken, match="has other columns"):
        Index(url)
