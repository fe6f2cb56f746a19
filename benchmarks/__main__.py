"""All measurements: one table of ratios, then the tables of `@backoff` and its peers."""

from __future__ import annotations

import platform
import sys
from functools import partial

from . import depth, fleet, importing, retrying, speed, typechecking


def main() -> int:
    print(f"CPython {platform.python_version()}, {platform.machine()}\n")
    print(f"{'what':60} {'ratio':>6}  target   verdict")
    missed = 0
    results = retrying.measured()
    retries = partial(retrying.targets, results)
    parts = speed.targets, importing.targets, typechecking.targets, depth.targets, fleet.targets
    for targets in (*parts, retries):
        for target in targets():
            print(target, flush=True)
            missed += not target.met
    print(f"\n{retrying.tables(results)}")
    print(f"\n{missed} missed" if missed else "\nall met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
