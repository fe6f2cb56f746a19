"""Runs that are cancelled, paused, or whose program was changed."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import (
    N1,
    N10,
    Constant,
    NotReady,
    Stopped,
    at,
    attempt,
    do,
)
from ixbackoff.durable import durable

from ..support.durable.engines import Said, Say, fails, stuck, until, working


@durable(name="limited", schedule=Constant(0.3), within=1.0)
def limited() -> Any:
    return at(N10).retry(Say("busy"))


@pytest.mark.slow
def test_a_program_that_diverges_performs_nothing(tmp_path: Path) -> None:
    said = Said(second=lambda: time.sleep(60))

    def workflow(what: str) -> Any:
        @attempt
        def body() -> Any:
            try:
                yield from Say(what)
                yield from Say("wait for it")
                yield from Say("then")
            finally:
                yield from Say("cleaning up")

        @durable(name="changed", schedule=Constant(0.5))
        def changed() -> Any:
            return at(N1).do(do(Say("before"))).wait().do(body())

        return changed

    slow = threading.Event()
    said.table["wait for it"] = lambda: slow.wait(10)
    old, new = workflow("old"), workflow("new")
    with working(tmp_path, said.interpreter, old) as engine:
        engine.start_with_id("one", old)
        until(lambda: "wait for it" in said.what)
    slow.set()
    again = Said()
    with working(tmp_path, again.interpreter, new) as engine:
        assert "at 2 it issued Say(what='new') where it had issued" in stuck(engine, "one")
        engine.store.resume("one")
        assert "at 2 it issued" in stuck(engine, "one")
    assert again.what == []
    with working(tmp_path, again.interpreter, old) as engine:
        until(lambda: "cleaning up" in again.what)
        assert engine.start_with_id("one", old).result() is None
    assert again.what == ["wait for it", "then", "cleaning up"]


def test_a_cancelled_run_cleans_up_once(tmp_path: Path) -> None:
    @attempt
    def body() -> Any:
        try:
            yield from Say("slow")
            yield from Say("never")
        finally:
            yield from Say("cleaning up")

    @durable(name="cancelled")
    def cancelled() -> Any:
        return at(N1).retry(body())

    said = Said(slow=lambda: time.sleep(0.5))
    with working(tmp_path, said.interpreter, cancelled) as engine:
        run = engine.start_with_id("one", cancelled)
        until(lambda: said.what)
        engine.store.cancel("one")
        with pytest.raises(Stopped, match="run one was cancelled"):
            run.result()
        until(lambda: len(said.what) == 2)
    assert said.what == ["slow", "cleaning up"]


def test_a_run_is_cancelled_in_a_wait(tmp_path: Path) -> None:
    with working(tmp_path, Said(busy=fails(NotReady())).interpreter, limited) as engine:
        run = engine.start_with_id("one", limited)
        until(lambda: len(engine.store.steps("one")) >= 3)
        engine.store.cancel("one")
        with pytest.raises(Stopped):
            run.result()


@pytest.mark.slow
def test_a_paused_run_cleans_up_nothing_and_goes_on(tmp_path: Path) -> None:
    @attempt
    def body() -> Any:
        try:
            yield from Say("slow")
            return (yield from Say("next"))
        finally:
            yield from Say("cleaning up")

    @durable(name="paused")
    def paused() -> Any:
        return at(N1).retry(body())

    said = Said(slow=lambda: time.sleep(0.4))
    with working(tmp_path, said.interpreter, paused) as engine:
        run = engine.start_with_id("one", paused)
        until(lambda: said.what)
        engine.store.pause("one")
        time.sleep(1.0)
        assert said.what == ["slow"]
        engine.store.resume("one")
        assert run.result() == "NEXT"
    assert said.what == ["slow", "slow", "next", "cleaning up"]
    assert [one.repeated for _, one in said.asked if one] == [False, True, False, False]


def test_a_class_that_is_not_there_any_more_performs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @attempt
    def body() -> Any:
        try:
            found = yield from Say("find")
            yield from Say("wait")
            return (yield from Say(found.what))
        finally:
            yield from Say("clean up")

    @durable(name="found")
    def found() -> Any:
        return at(N1).retry(body())

    go_on = threading.Event()
    said = Said(find=lambda: Say("it"), wait=lambda: go_on.wait(5))
    with working(tmp_path, said.interpreter, found) as engine:
        engine.start_with_id("one", found)
        until(lambda: "wait" in said.what)
    go_on.set()
    again = Said()
    with working(tmp_path, again.interpreter, found) as engine:
        with monkeypatch.context() as patched:
            patched.delattr("tests.support.durable.engines.Say")
            assert "engines:Say is in the journal and cannot be" in stuck(engine, "one")
            assert again.what == []
        assert engine.store.resume("one")
        until(lambda: again.what)
        assert engine.start_with_id("one", found).result() == "IT"
    assert again.what == ["wait", "it", "clean up"]
