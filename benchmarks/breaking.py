"""The cost of `@backoff` with a circuit breaker beside its peers with one each.

It is measured as in `retrying`. No breaker opens: each call asks it and reports to it.
"""

from __future__ import annotations

from .measuring import Target
from .peers import async_breakers, sync_breakers
from .retrying import Measured, measured, tables
from .retrying import targets as compared


def measured_breakers() -> Measured:
    return measured(sync_breakers, async_breakers)


def targets(results: Measured) -> list[Target]:
    return compared(results, "with a breaker")


def main() -> None:
    results = measured_breakers()
    print(tables(results), end="\n\n")
    for target in targets(results):
        print(target)


if __name__ == "__main__":
    main()
