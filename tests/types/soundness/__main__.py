"""Soundness by experiment, at full size.

    python -m tests.types.soundness 10000

makes so many random programs of all shapes (10,000 unless told otherwise), asks mypy and pyright
for their verdicts, and runs each program six times in virtual time. It prints the verdicts by shape
and every promise that was broken; its exit status is 1 if a verdict is wrong or a promise broken.
It takes about three minutes. `--seed` gives other programs, `--checkers ty zuban pyrefly` asks
those, whose wrong verdicts docs/limits.md names, and `--shown 300` prints so many of them;
`make sound` is the same.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

from ...support.checkers.typecheckers import CHECKERS, Checker
from .arithmetic import DEEPEST
from .cases import SEED, Case, cases
from .checking import table, verdicts
from .running import findings


def main() -> int:
    """Make programs, check them, run them, and print what came of it."""
    parser = argparse.ArgumentParser("tests.types.soundness", description=__doc__)
    parser.add_argument("programs", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--checkers", nargs="+", default=["mypy", "pyright"])
    parser.add_argument("--shown", type=int, default=3, help="programs for each wrong thing")
    chosen = parser.parse_args()
    made = cases(chosen.programs, chosen.seed)
    checkers = [one for one in CHECKERS if one.name in chosen.checkers]
    wrong = check(made, checkers, chosen.shown) + run(made, chosen.shown)
    return 1 if wrong else 0


def check(made: list[Case], checkers: list[Checker], shown: int) -> int:
    """Print what each type checker says; how many of its verdicts are wrong."""
    wrong = 0
    for checker in checkers:
        before = cpu_seconds()
        with TemporaryDirectory() as folder:
            told = verdicts(checker, made, Path(folder))
        codes = Counter(code for verdict in told for code in verdict.codes)
        print(f"{checker.name}: {cpu_seconds() - before:.0f} s of CPU\n{table(told)}")
        print("programs by error:", dict(codes.most_common()), "\n", flush=True)
        mistaken = [verdict for verdict in told if not verdict.right]
        kinds = Counter((one.case.shape, one.case.mistake or "right") for one in mistaken)
        print("wrong by shape:", *(f"{n} {kind}" for kind, n in kinds.most_common()), sep="\n  ")
        for verdict in mistaken[:shown]:
            print(f"{checker.name} is wrong: {sorted(verdict.codes)}\n{verdict.case}\n")
        wrong += len(mistaken)
    return wrong


def run(made: list[Case], shown: int) -> int:
    """Print what came of the runs; how often a promise was broken."""
    before = cpu_seconds()
    found = findings(made)
    print(
        f"{found.runs} runs: {cpu_seconds() - before:.0f} s of CPU\n"
        f"wrong programs: {found.refused} refused before a command, {found.late} in a run, "
        f"{found.hidden} with nothing wrong that a run comes to\n"
        f"more waits than {DEEPEST}: {found.endless} runs\n"
        f"more tries than the types say: {found.above_types} runs\n"
    )
    for promise, told in found.broken.items():
        print(f"{promise}: broken {len(told)} times")
        print(*told[:shown], sep="\n\n", end="\n\n")
    return sum(map(len, found.broken.values()))


def cpu_seconds() -> float:
    """Seconds of processor time of this process and of those that it has waited for."""
    return sum(sum(getrusage(who)[:2]) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))


sys.exit(main())
