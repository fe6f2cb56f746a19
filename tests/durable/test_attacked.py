"""What was found by attacking durable runs: second names of a file, waiting handlers, and more."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from ixbackoff import N1, N3, Constant, Misuse, at, call
from ixbackoff.durable import Engine, Unrecordable, durable
from ixbackoff.durable.codec import NESTED, decode, encode
from ixbackoff.durable.summaries import summary_of
from ixbackoff.durable.worker_liveness import FileLock, FileTaken
from ixbackoff.live import live

from ..support.durable.engines import AnyEngine, working


@durable(name="hello")
def hello(name: str) -> Any:
    return at(N1).retry(call(str.title, name))


@durable(name="other")
def other(name: str) -> Any:
    return at(N1).retry(call(str.upper, name))


def test_the_lock_of_a_file_is_one_by_each_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path, link = tmp_path / "there" / "runs.sqlite", tmp_path / "link.sqlite"
    path.touch()
    link.symlink_to(path)
    lock = FileLock(str(path))
    with pytest.raises(FileTaken):
        FileLock(str(link))
    lock.close()
    (tmp_path / "hard.sqlite").hardlink_to(path)
    with pytest.raises(Misuse, match=r"runs.sqlite has another name \(a hard link\)"):
        Engine(live(), hello, database=f"sqlite:///{link}")


def test_a_handler_that_waits_for_a_run_is_refused(tmp_path: Path) -> None:
    engines: list[AnyEngine] = []

    def child(name: str) -> str:
        answer: str = engines[0].start(hello, name).result()
        return answer

    @durable(name="parent")
    def parent(name: str) -> Any:
        return at(N1).retry(call(child, name))

    with working(tmp_path, live(), hello, parent) as engine:
        engines.append(engine)
        runs = engine.start_many(parent, {f"{number}": "you" for number in range(80)})
        for run in runs:
            with pytest.raises(Misuse, match="A handler that waits for run"):
                run.result()


def test_an_id_of_another_workflow_is_refused_in_bulk(tmp_path: Path) -> None:
    with working(tmp_path, live(), hello, other) as engine:
        engine.start_with_id("one", hello, "you").result()
        with pytest.raises(Misuse, match="Run one is a run of the workflow hello, not of other"):
            engine.start_many(other, {"two": "x", "one": "y"})
        assert [run.run for run in engine.runs()] == ["one"]  # two has not started


class Way(enum.Flag):
    R = 1
    W = 2


def test_flags_and_deep_values() -> None:
    for value in (Way.R | Way.W, Way.R, Way(0)):
        assert decode(encode([value])) == [value]
    deep: Any = 0
    for _ in range(NESTED):
        deep = [deep]
    assert decode(encode(deep)) == deep
    with pytest.raises(Unrecordable, match="nested over 100 deep"):
        encode({"a": deep})


def test_a_payload_imports_no_package() -> None:
    name = "this"
    sys.modules.pop(name, None)
    for encoded in ({"$": "data", "k": f"{name}:s", "v": {}}, {"$": "type", "v": f"{name}:s"}):
        with pytest.raises(Unrecordable, match="cannot be found"):
            decode(encoded)
    assert name not in sys.modules


@durable(name="naps", schedule=Constant(0.0))
def naps() -> Any:
    return at(N3).do(call(str, 1)).wait().wait().wait().do(call(str, 2))


def test_a_run_is_found_by_its_key(tmp_path: Path) -> None:
    asked: list[str] = []
    with working(tmp_path, live(), naps, hello, hold=0) as engine:
        engine.start_many(hello, {f"one{number}": "you" for number in range(50)})
        assert engine.start_with_id("one", naps).result() == "2"
        event.listen(
            engine.store.engine(), "before_cursor_execute", lambda *given: asked.append(given[2])
        )
        for look in (
            lambda: engine.store.segments("one"),
            lambda: engine.result_so_far("one"),
            lambda: summary_of(engine.store, "one"),
            lambda: engine.store.recent(2),
        ):
            look()
    assert not [text for text in asked if " LIKE " in text.replace("NOT LIKE", "")]
    assert len(asked) < 40
