"""What speaks against a fit: a model with a doubt is not saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import inf, sqrt
from random import Random
from typing import Any, NamedTuple

from ..._words import rungs
from ..._words.commands import Command
from ..._writing.attempts import do
from ..._writing.programs import at
from ...schedules.shortening import Shortening
from ...schedules.timings import Chance, WaitFunction, any_chance
from ..reports import written
from ..samples import quantile
from ..simulation import simulate
from .choosing import Fit
from .recorded_tries import Try
from .saved_model import FittedService, SavedModel, numbers_between

BLUR, LEAK, NEAR_ENOUGH, LATE_ENOUGH = 0.2, (0.85, 1.15), 0.15, 0.3
FEW, BUSY = 500, 50
AROUND, CLOSE = 4.0, 2.0  # seconds: of a rate, and between a change of the load and of a phase
LADDERS = [getattr(rungs, f"N{number}") for number in range(rungs.DEEPEST + 1)]


class Ask(Command[None]):
    __slots__ = ()


class Waits(Shortening):
    """Waits as they were recorded, by the number of waits before them."""

    __slots__ = ("pools",)

    def __init__(self, pools: Sequence[Sequence[float]]) -> None:
        self.pools = pools

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        uniform = (chance or any_chance()).uniform

        def waits(k: int) -> float:
            pool = self.pools[k]
            return pool[min(int(uniform(0, len(pool))), len(pool) - 1)]

        return waits


class Chains(NamedTuple):
    """The tries of each run up to a success, as runs: how their clients wait, and for how long.

    Attributes:
        begun: the times of the first tries.
        ended: the times of the last tries, the seconds up to then, and whether they succeeded.
        pools: the seconds of the waits after the first failed try, after the second, and so on.
        stops: the number of chains that ended with their first failure, their second, and so on.
        patience: the seconds after which clients leave, if they do.
    """

    begun: list[float]
    ended: list[tuple[float, float, bool]]
    pools: list[list[float]]
    stops: dict[int, int]
    patience: float | None


def chains_of(tries: Sequence[Try], left: Sequence[Try]) -> Chains:
    late = quantile([one.ended - one.begun for one in left], 0.5) if left else None
    found = Chains([], [], [], defaultdict(int), late if len(left) * 100 > len(tries) else None)
    runs: dict[str, list[Try]] = defaultdict(list)
    for one in tries:
        runs[one.run].append(one)
    for run in runs.values():
        waits, since = 0, run[0].begun
        for one, following in zip(run, [*run[1:], None], strict=True):
            if waits == 0:
                since = one.begun
            ends = one.failure is None or following is None or waits == rungs.DEEPEST
            if ends:
                found.begun.append(since)
                found.ended.append((one.ended, one.ended - since, one.failure is None))
                found.stops[waits] += one.failure is not None
                waits = 0
            elif following is not None:
                found.pools.extend([] for _ in range(len(found.pools), waits + 1))
                found.pools[waits].append(max(0.0, following.begun - one.ended))
                waits += 1
    found.begun.sort()
    return found


def replayed(
    chains: Chains, model: SavedModel, windows: Sequence[tuple[int, int]], seed: int
) -> list[dict[str, float]]:
    """Simulate the trace itself; return the numbers of each window."""
    random = Random(seed)  # noqa: S311
    asking = do(Ask()).limit(chains.patience) if chains.patience else Ask()
    programs = [at(ladder).retry(asking) for ladder in LADDERS]

    def program(_: int) -> Any:
        rung = 0
        while rung < len(chains.pools):
            goes_on = len(chains.pools[rung])
            if random.random() * (goes_on + chains.stops[rung]) >= goes_on:
                break
            rung += 1
        return programs[rung]

    outcome = simulate(
        program,
        FittedService(model, 0, seed).serves(Ask),
        arrivals=chains.begun,
        seconds=windows[-1][1],
        schedule=Waits(chains.pools or [[0.0]]),
        seed=seed,
    )
    return [numbers_between(outcome, *window) for window in windows]


def happened(tries: Sequence[Try], chains: Chains, begin: int, end: int) -> dict[str, float]:
    """Measure the trace itself as `numbers_between` measures simulations."""
    ended = [one for one in chains.ended if begin <= one[0] < end]
    latencies = [seconds for _, seconds, well in ended if well] or [inf]
    asked = sum(begin <= one.begun < end for one in tries)
    return {
        "requests/s": asked / (end - begin),
        "goodput, runs/s": sum(well for *_, well in ended) / (end - begin),
        "failed runs, %": 100 * sum(not well for *_, well in ended) / max(1, len(ended)),
        "p50 of runs, s": quantile(latencies, 0.5),
        "p99 of runs, s": quantile(latencies, 0.99),
    }


class Held(NamedTuple):
    """One number of a part of the trace: its band in simulations, and what happened."""

    part: str
    name: str
    band: tuple[float, float]
    happened: float

    def text(self) -> str:
        least, most = map(written, self.band)
        return f"{self.name} {least}..{most} ({written(self.happened)})"

    def holds(self) -> bool:
        least, most = self.band
        bound = LATE_ENOUGH if "p" in self.name[:1] else NEAR_ENOUGH
        middle = (least + most) / 2
        near = abs(middle - self.happened) <= bound * self.happened
        return near or least <= self.happened <= most or "%" in self.name


def doubts(fit: Fit, alone: int, arrivals: Sequence[float]) -> list[str]:
    """Return a sentence for each gate that the fit does not pass, but for the simulated ones."""
    best, tries = fit.near[0], len(fit.tries)
    said = []
    if alone > 0.01 * tries:
        said.append(
            f"{alone / tries:.0%} of the tries have no run, or no try before them: sampled spans "
            "cannot be fitted; keep all of a short stretch."
        )
    if tries < FEW or best.busy < BUSY:
        said.append(
            f"Too little: {tries} tries, {best.busy} of them while all workers were at work; it "
            f"takes {FEW} and {BUSY}."
        )
    if fit.refused and fit.blur > BLUR:
        said.append(
            f"{fit.blur:.0%} of the refusals are on the wrong side of the limit: not all clients "
            "are seen, the clocks disagree, tries were left by their clients, or there is more "
            "than one queue behind."
        )
    if not LEAK[0] <= best.leak <= LEAK[1]:
        said.append(
            f"Among many, tries take {best.leak:.2f} times the work: no queue of the family "
            "explains it."
        )
    if len(fit.near) > 1:
        names = ", ".join(f"{one.kind} {one.workers}" for one in fit.near)
        said.append(f"Equally likely: {names}. Simulations show the bands of all.")
    if best.kind == "none":
        said.append("A service without a queue explains the tries best: they never had to wait.")
    if not fit.refused:
        said.append(
            "No try was refused: the limit of the queue is not known; what-ifs up to "
            f"{fit.seen} at once only."
        )
    others = sum(one.failure is not None for one in fit.tries) - len(fit.refused) - len(fit.left)
    if others > 0.05 * tries:
        said.append(f"{others / tries:.0%} of the tries failed in another way, which has no model.")
    if any(follows(when, arrivals) for phase in best.phases for when in phase[:2]):
        said.append("Slow when busy: no phase, but a queue that is not understood.")
    return said


def follows(when: float, arrivals: Sequence[float]) -> bool:
    """Return whether the load changed by a third near this time, and not by chance."""
    for shift in (-CLOSE, -CLOSE / 2, 0, CLOSE / 2, CLOSE):
        middle = when + shift
        before = sum(middle - AROUND <= time < middle for time in arrivals)
        after = sum(middle <= time < middle + AROUND for time in arrivals)
        low, high = sorted((before, after))
        if high * 3 >= low * 4 and high - low > 3 * sqrt(high + low):
            return True
    return False
