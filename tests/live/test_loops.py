"""A process that ends as soon as its upload has ended: threads of the store library are gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ixbackoff.testing.web import Fault, Hang, Origin

from ..support.ways.live import answered

ROOT = Path(__file__).parents[2]
UPLOADING = """
import asyncio, sys, time
from threading import _DummyThread, current_thread
from types import ModuleType

class Long:
    def __del__(self, sleep=time.sleep):
        sleep(1)

def slowed(call):
    def slow(*given, **more):
        answer = call(*given, **more)
        if isinstance(current_thread(), _DummyThread):
            time.sleep(0.5)
        return answer
    return slow

class Future(asyncio.Future):
    cancelled = slowed(asyncio.Future.cancelled)

asyncio.BaseEventLoop.call_soon_threadsafe = slowed(asyncio.BaseEventLoop.call_soon_threadsafe)
asyncio.Future = Future  # before it is the base of another

from ixbackoff import Upload
from ixbackoff.live import Limits, s3_store
from ixbackoff.live.uploads import upload

sys.modules["long"] = ModuleType("long")
sys.modules["long"].end = Long()  # of the interpreter
limits = Limits(total_timeout=float(sys.argv[2]))
store = s3_store("bucket", endpoint=sys.argv[1])
try:
    upload(Upload(__file__, "s3://bucket/key"), {"s3://bucket": store}, limits)
    print("kept")
except TimeoutError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "seconds", "said"),
    [(answered(), "60", "kept"), (Hang(), "0.5", "not done within 0.5 s")],
    ids=["kept", "late"],
)
def test_a_slow_thread_is_waited_for(
    fault: Fault, seconds: str, said: str, tmp_path: Path, aws: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "uploading.py"
    script.write_text(UPLOADING)
    with Origin({"/bucket/key": b""}, {"PUT /bucket/key": [fault]}) as origin:
        ran = subprocess.run(  # noqa: S603
            [sys.executable, script, origin.url, seconds],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert said in ran.stdout
