"""All measurements, as one table of ratios."""

from __future__ import annotations

import platform
import sys

from . import depth, importing, speed, typechecking


def main() -> int:
    print(f"CPython {platform.python_version()}, {platform.machine()}\n")
    print(f"{'what':60} {'ratio':>6}  target   verdict")
    missed = 0
    for module in (speed, importing, typechecking, depth):
        for target in module.targets():
            print(target, flush=True)
            missed += not target.met
    print(f"\n{missed} missed" if missed else "\nall met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
