"""Ctrl-C again and again: no part is left without the note that the next download needs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ixbackoff.live.part_files import OPEN, PartFile
from ixbackoff.testing.web import Document, Origin, Slow

from ..support.processes import Child
from ..support.ways.live import Way, each_way

pytestmark = pytest.mark.slow

BODY = bytes(range(256)) * 4000
LEFT = """
import sys
from ixbackoff.live.part_files import PartFile
part = PartFile(sys.argv[1])
part.__enter__()
part.write(b"acorn")
"""


def test_a_part_that_its_event_loop_has_left_goes_with_the_process(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEFT, str(tmp_path / "a")], check=True)  # noqa: S603
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["unlink", "fstat", "stat"])
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_an_interrupt_of_the_removal_does_not_end_it(
    name: str, before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupts = iter(range(4))
    carry_out: Callable[..., Any] = getattr(os, name)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if before and next(interrupts, None) is not None:
            raise KeyboardInterrupt
        done = carry_out(*arguments, **named)
        if not before and next(interrupts, None) is not None:
            raise KeyboardInterrupt
        return done

    part = PartFile(str(tmp_path / "a"))
    part.__enter__()
    part.write(BODY)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):  # noqa: PT012
        patched.setattr(os, name, interrupted)
        part.__exit__(None, None, None)
    assert os.listdir(tmp_path) == []
    assert not OPEN


PROGRAM = """
import os, sys
from tests.support.ways.live import *
name, url, path = sys.argv[1:]
while sys.stdin.readline():  # each download is in a process of its own, without its own imports
    child = os.fork()
    if not child:
        Way(name).perform(Download(url, path), limits=PATIENT)
        sys.exit()
    print(child, flush=True)
    sys.stdin.readline()
    os.waitpid(child, 0)
    print("ended", flush=True)
"""
ROUNDS = 6


def said(program: Child[str]) -> str:
    """Send a line, and return the one that follows it."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("\n")
    program.stdin.flush()
    return program.stdout.readline().strip()


@each_way
@pytest.mark.parametrize("etag", ["", None], ids=["in parts", "whole"])
def test_four_interrupts_leave_no_part_without_its_note(
    way: Way, etag: str | None, tmp_path: Path
) -> None:
    chosen = random.Random(7)  # noqa: S311
    slowly = [Slow(0.01, 20_000)] * ROUNDS
    with Origin({"/a": Document(BODY, etag=etag)}, {"GET /a": slowly}) as origin:
        arguments = [sys.executable, "-c", PROGRAM, way.name, f"{origin.url}/a"]
        with Child(
            [*arguments, str(tmp_path / "a")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as program:
            for number in range(ROUNDS):
                child = int(said(program))
                end = time.monotonic() + 60
                while len(origin.requests) <= number:
                    assert time.monotonic() < end
                    time.sleep(0.01)
                time.sleep(chosen.uniform(0.0, 0.2))
                for _ in range(4):
                    os.kill(child, signal.SIGINT)
                    time.sleep(chosen.choice([0.0, 0.0001, 0.001, 0.005]))
                assert said(program) == "ended"
                target = tmp_path / "a"
                if target.exists():  # it was done before
                    assert target.read_bytes() == BODY
                    target.unlink()
                parts = [".a.part", ".a.part.json"]
                assert sorted(os.listdir(tmp_path)) in ([], [] if etag is None else parts)
