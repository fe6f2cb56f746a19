"""Loading and using live commands where the system has no more than Windows has."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import ixbackoff.live
from ixbackoff.testing.web import Document, Origin, Truncated

from ..support.elsewhere import HIDE

MODULES = sorted(each.name for each in pkgutil.iter_modules(ixbackoff.live.__path__))

USE = """
import importlib
for name in sys.argv[1].split(","):
    importlib.import_module(f"ixbackoff.live.{name}")
from ixbackoff import Download, N0, N1, Upload, at
from ixbackoff.live import Limits, live, live_async, public_only
url, folder = sys.argv[2:]
work = at(N0).do(Download(url + "/a", folder + "/a")).do(Upload(folder + "/a", f"file://{folder}/b"))
work.run(live())
os.unlink(folder + "/a")
asyncio.run(work.run_async(live_async()))
try:
    at(N0).do(Download(url + "/cut", folder + "/cut")).run(live())
except ConnectionError:
    print(sorted(os.listdir(folder)))
at(N0).do(Download(url + "/cut", folder + "/cut")).run(live())
print(sorted(os.listdir(folder)))
"""


def test_what_windows_lacks_is_not_missed(tmp_path: Path) -> None:
    large = bytes(range(256)) * 2000
    resources = {"/a": Document(b"acorn"), "/cut": Document(large)}
    with Origin(resources, {"GET /cut": [Truncated(len(large) // 2)]}) as origin:
        arguments = [sys.executable, "-c", HIDE + USE, ",".join(MODULES), origin.url, str(tmp_path)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)  # noqa: S603
    before, after = done.stdout.splitlines() or [done.stderr, ""]
    assert before == "['.cut.part', '.cut.part.json', 'a', 'b']"
    assert after == "['a', 'b', 'cut']"
    assert (tmp_path / "cut").read_bytes() == large


def test_the_test_hides_what_it_says() -> None:
    program = HIDE + "exec('import fcntl', {'__name__': 'ixbackoff.live.file_primitives'})"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "No module named 'fcntl'" in done.stderr
