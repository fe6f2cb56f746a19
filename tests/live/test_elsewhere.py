"""Loading and using live commands where the system has no more than Windows has."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import ixbackoff.live
from ixbackoff.testing.web import Origin, Resource, Truncated

MODULES = sorted(each.name for each in pkgutil.iter_modules(ixbackoff.live.__path__))

HIDE = """
import builtins, os, signal, sys
import anyio, httpcore2, httpx2, obstore.store, portalocker, trio  # the others' systems are theirs
import anyio._backends._asyncio, anyio._backends._trio, h2, asyncio

lacking = {"fcntl", "pwd", "grp", "resource", "termios", "posix", "tty", "pty", "syslog"}
load = builtins.__import__

def loaded(name, globals=None, *rest, **more):
    if name in lacking and str((globals or {}).get("__name__", "")).startswith("ixbackoff"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return load(name, globals, *rest, **more)

builtins.__import__ = loaded
for module, names in {
    os: '''O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_SYNC O_DSYNC O_NOCTTY geteuid getuid
        getegid getgid seteuid setuid fork forkpty register_at_fork mkfifo mknod chown fchown lchown
        chroot getpgid getpgrp killpg setsid statvfs fstatvfs pread pwrite posix_fallocate
        posix_fadvise
        sendfile sync fdatasync lockf uname wait waitid WIFEXITED''',
    signal: "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGQUIT alarm pthread_sigmask setitimer",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""

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
    resources = {"/a": Resource(b"acorn"), "/cut": Resource(large)}
    with Origin(resources, {"GET /cut": [Truncated(len(large) // 2)]}) as origin:
        arguments = [sys.executable, "-c", HIDE + USE, ",".join(MODULES), origin.url, str(tmp_path)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)  # noqa: S603
    before, after = done.stdout.splitlines() or [done.stderr, ""]
    assert before == "['.cut.part', '.cut.part.json', 'a', 'b']"
    assert after == "['a', 'b', 'cut']"
    assert (tmp_path / "cut").read_bytes() == large


def test_the_test_hides_what_it_says() -> None:
    program = HIDE + "exec('import fcntl', {'__name__': 'ixbackoff.live.files'})"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert "No module named 'fcntl'" in done.stderr
