"""`ixbackoff fleet fit` on real services: what `fit` finds, and what the predictions are worth.

`python -m benchmarks.fitting [FOLDER]` records six services on loopback (ten minutes; two at a
time), fits each, and compares the predictions with what happened. Traces that are in the folder
already are not recorded again. The machine has to be calm: the output says how late clients were.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median
from subprocess import Popen
from tempfile import mkdtemp
from typing import Any

from ixbackoff import N0, N3, Command, Constant, Exponential, RetryBudget, at, do
from ixbackoff.fleet import each_seed, simulate
from ixbackoff.fleet.fit_command import main as fit
from ixbackoff.fleet.fits.choosing import Model
from ixbackoff.fleet.fits.fitted_service import BAND, FittedService, numbers_between, saved_model
from ixbackoff.fleet.fits.recorded_tries import Try, recorded
from ixbackoff.fleet.seed_results import quantile
from ixbackoff.fleet.seed_sweep import SEEDS

from .fitted_services import SECONDS, TRUTHS, WHAT_IFS

PORT = 8471
OUTSIDE = {"replicas", "lifo"}
"""The services that no model of the family describes; their what-ifs are not recorded."""
NOISE = 0.02  # the share by which a number may lie outside of its band


class Ask(Command[None]):
    __slots__ = ()


def simulated(model: Model, policy: str, times: list[float], seed: int) -> dict[str, float]:
    budget = RetryBudget(10)
    asking: Any = do(Ask()).limit(0.3) if policy == "timeout" else Ask()
    program: Any = at(N0).retry(asking) if policy == "none" else at(N3).retry(asking)
    outcome = simulate(
        program,
        FittedService(model, seed, phases=False).serves(Ask),
        arrivals=times,
        seconds=SECONDS,
        schedule={"fast": Constant(0.02), "slow": Exponential(0.5)}.get(policy, Exponential(0.1)),
        budget=(lambda _: budget) if policy == "budget" else None,
        seed=seed,
    )
    return numbers_between(outcome, 0, int(SECONDS))


def happened(tries: list[Try], seconds: float) -> dict[str, float]:
    """Measure the runs that ended in time, as `numbers_between` measures those of a simulation."""
    runs = dict[str, list[Try]]()
    for one in tries:
        runs.setdefault(one.run, []).append(one)
    ended = [run for run in runs.values() if run[-1].ended < seconds]
    latencies = [run[-1].ended - run[0].begun for run in ended if run[-1].failure is None]
    return {
        "requests/s": sum(one.begun < seconds for one in tries) / seconds,
        "goodput/s": len(latencies) / seconds,
        "failed, %": 100 * (1 - len(latencies) / len(ended)),
        "p50, s": quantile(latencies, 0.5),
        "p99, s": quantile(latencies, 0.99),
    }


def judged(folder: Path) -> Iterable[tuple[str, str, tuple[float, float], float, float]]:
    """Yield each what-if and number with its band, its median, and what happened."""
    model = saved_model(str(folder / "model.json"))
    below, seeds = BAND / len(model.near), SEEDS * len(model.near)
    for name, (policy, _) in WHAT_IFS.items():
        tries, arrivals, _ = recorded([folder / f"{name}.jsonl"])
        sample = each_seed(partial(simulated, model, policy, arrivals), seeds)
        for what, value in happened(tries, SECONDS).items():
            least, middle, most = (
                sample.quantile(itemgetter(what), at) for at in (below, 0.5, 1 - below)
            )
            yield name, what, (least, most), middle, value


def table(folder: Path) -> tuple[int, int]:
    """Print the what-ifs of a service; count the numbers inside of their bands, and all of them."""
    inside = count = 0
    errors: dict[str, list[float]] = {}
    for name, what, (least, most), middle, value in judged(folder):
        holds = least * (1 - NOISE) <= value <= most * (1 + NOISE)
        hurried = name.startswith("timeout")
        if not hurried:
            inside, count = inside + holds, count + 1
            if value:
                errors.setdefault(what, []).append(100 * abs(middle / value - 1))
        print(
            f"  {name:11} {what:18} {least:8.3g} .. {most:<8.3g} {value:8.3g}"
            f"{'' if holds else '  outside'}"
        )
    for what, off in errors.items():
        print(
            f"  {what:18} medians {median(off):.1f} % off in the median, {max(off):.0f} % at most"
        )
    print(f"  {inside} of {count} numbers without client timeouts are inside of their band")
    return inside, count


async def recordings(folder: Path, names: list[str]) -> None:
    ports = {name: PORT + number for number, name in enumerate(names)}
    command = [sys.executable, "-m", "benchmarks.fitted_services"]
    services = [Popen([*command, name, str(port)]) for name, port in ports.items()]  # noqa: S603
    try:
        await asyncio.sleep(1)
        clients = [
            await asyncio.create_subprocess_exec(
                *command, name, str(port), str(folder / name), *([] if name in OUTSIDE else ["all"])
            )
            for name, port in ports.items()
        ]
        for client in clients:
            await client.wait()
    finally:
        for service in services:
            service.terminate()
            service.wait()


def main(words: list[str]) -> int:
    folder = Path(words[0] if words else mkdtemp())
    missing = [name for name in TRUTHS if not (folder / name / "done").exists()]
    print(f"load of the machine {os.getloadavg()[0]:.1f}; traces in {folder}", flush=True)
    for pair in zip(missing[::2], [*missing[1::2], ""], strict=False):
        asyncio.run(recordings(folder, [name for name in pair if name]))
    inside = count = 0
    for name, truth in TRUTHS.items():
        here = folder / name
        print(f"\n{name}: {truth}; {(here / 'done').read_text()}", flush=True)
        status = fit([str(here / "trace.jsonl"), "--save", str(here / "model.json"), "--even-so"])
        print(f"exit status {status}")
        if name not in OUTSIDE:
            more = table(here)
            inside, count = inside + more[0], count + more[1]
    print(f"\nload of the machine {os.getloadavg()[0]:.1f}; {inside} of {count} inside")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
