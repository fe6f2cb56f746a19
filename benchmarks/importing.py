"""CPU time of `import ixbackoff` above that of `import typing_extensions`, and what it loads."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path
from statistics import median

import ixbackoff

from .measuring import Target, cpu_seconds

ROUNDS = 31
NOT_LOADED = ("asyncio", "logging", "httpx2", "dataclasses")


def targets() -> list[Target]:
    compileall.compile_dir(Path(ixbackoff.__file__).parent, quiet=2)
    codes = ("import typing_extensions", "import ixbackoff")
    times: dict[str, list[float]] = {code: [] for code in codes}
    for _ in range(ROUNDS):
        for code in codes:
            times[code].append(cpu_seconds([sys.executable, "-c", code]))
    floor, own = (median(times[code]) * 1000 for code in codes)
    loaded = subprocess.run(  # noqa: S603
        [sys.executable, "-c", f"import sys, ixbackoff; print({NOT_LOADED} & sys.modules.keys())"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return [
        Target(
            "import ixbackoff, CPU ms above typing_extensions",
            own - floor,
            12,
            False,
            f"{own:.1f} ms and {floor:.1f} ms; loaded of {', '.join(NOT_LOADED)}: {loaded}",
        )
    ]
