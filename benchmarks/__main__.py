"""What `make bench` measures: a table of ratios, then tables of `@backoff` and its peers."""

from __future__ import annotations

import platform
import sys
from functools import partial

from . import (
    breaking,
    checking,
    depth,
    durable,
    fleet,
    importing,
    layers,
    observing,
    retrying,
    seeds,
    speed,
    typechecking,
)


def main() -> int:
    print(f"CPython {platform.python_version()}, {platform.machine()}\n")
    print(f"{'what':60} {'ratio':>6}  target   verdict")
    missed = 0
    results = retrying.measured()
    retries = partial(retrying.targets, results)
    guarded = breaking.measured_breakers()
    breakers = partial(breaking.targets, guarded)
    observed = observing.measured()
    observers = partial(observing.targets, observed)
    modules = speed, importing, typechecking, checking, depth, fleet, seeds, durable, layers
    parts = [module.targets for module in modules]
    for targets in (*parts, retries, breakers, observers):
        for target in targets():
            print(target, flush=True)
            missed += not target.met
    print(f"\n{retrying.tables(results)}")
    print(f"\nWith a circuit breaker\n\n{retrying.tables(guarded)}")
    print(f"\nWith one observer\n\n{observing.table(observed)}")
    print(f"\n{missed} missed" if missed else "\nall met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
