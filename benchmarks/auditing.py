"""CPU time and memory of `ixbackoff audit` on the standard library and on site-packages.

`python -m benchmarks.auditing [FOLDER ...]`; without a folder it takes about 20 minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ixbackoff._door.python_files import python_files

LINES = 200_000
MOST_SECONDS, MOST_MEGABYTES = 60, 200


class Cost(NamedTuple):
    """The cost of the audit of a folder, including its tests and examples."""

    lines: int
    seconds: float
    megabytes: float
    said: str

    @property
    def parts(self) -> float:
        return max(1, self.lines / LINES)

    def __str__(self) -> str:
        each = f"{self.seconds / self.parts:.1f} s and {self.megabytes / self.parts:.0f} MB"
        taken = f"{self.seconds:.0f} s of CPU, {self.megabytes:.0f} MB"
        bounds = f"at most {MOST_SECONDS} s and {MOST_MEGABYTES} MB"
        return f"{self.lines:,} lines: {taken}; for {LINES:,}: {each} ({bounds}). {self.said}"


def cost(folder: Path) -> Cost:
    """Audit a folder in a process; raise `RuntimeError` if an exception ends that process."""
    words = [sys.executable, "-m", "ixbackoff", "audit", "--tests", "--top", "0", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"audit of {folder} ended with {process.returncode}")
    lines = sum(one.read_bytes().count(b"\n") for one, _ in python_files([str(folder)]))
    seconds = usage.ru_utime + usage.ru_stime
    return Cost(lines, seconds, usage.ru_maxrss / 1024, said.partition("\n")[0])


def main(folders: Sequence[str]) -> None:
    paths = sysconfig.get_paths()
    for folder in folders or (paths["stdlib"], paths["purelib"]):
        print(f"{folder}: {cost(Path(folder))}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
