"""What speaks against a fit: a model with a doubt is not saved."""

from __future__ import annotations

from bisect import bisect_left
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
from ..simulation import simulate
from .choosing import Model
from .foretelling import FittedService, Numbers, numbers_between, numbers_of
from .recorded_tries import Try

FEW, BUSY = 500, 50
AROUND, CLOSE = 4.0, 2.0  # seconds: of a rate, and between a change of the load and of a phase
LADDERS = [getattr(rungs, f"N{number}") for number in range(rungs.DEEPEST + 1)]


def doubts(model: Model, alone: int, arrivals: Sequence[float]) -> list[str]:
    """Return what is doubtful before any simulation."""
    best, tries = model.near[0], model.tries
    names = ", ".join(f"{one.kind} {one.workers}" for one in model.near)
    follows = any(changes(when, arrivals) for phase in best.phases for when in phase[:2])
    said = {
        f"{alone / tries:.0%} of the clients' tries have no run, or no try before them: sampled "
        "spans cannot be fitted; keep all of a short stretch.": alone > 0.01 * tries,
        f"Too little: {tries} tries, of which {best.busy} came when all workers were at work; give "
        f"{FEW} and {BUSY} or more.": tries < FEW or best.busy < BUSY,
        f"{model.blur:.0%} of the refusals are on the wrong side of the limit: not all clients are "
        "seen, the clocks disagree, tries were left by their clients, or there is more than one "
        "queue behind.": model.blur > 0.2,
        f"Tries among many take {best.leak:.2f} times the work of others: no queue of the family "
        "explains it.": not 0.85 <= best.leak <= 1.15,
        f"Equally likely: {names}; simulations show the band of all.": len(model.near) > 1,
        "No queue explains the tries best: none of them waited for another.": best.kind == "none",
        "No try was refused: the limit of the queue is not known; what-ifs up to "
        f"{model.seen} at once only.": not model.refused,
        f"{model.others / tries:.0%} of the tries failed in another way, for which there is no "
        "model.": model.others > 0.05 * tries,
        "Slow when busy: no phase, but a queue that is not understood.": follows,
    }
    return [sentence for sentence, holds in said.items() if holds]


def changes(when: float, arrivals: Sequence[float]) -> bool:
    """Return whether the load changes by a third near this time, and not by chance."""
    for step in range(-2, 3):
        middle = when + step * CLOSE / 2
        a, b, c = (bisect_left(arrivals, middle + side * AROUND) for side in (-1, 0, 1))
        low, high = sorted((b - a, c - b))
        if high * 3 >= low * 4 and high - low > 3 * sqrt(high + low):
            return True
    return False


class Waits(Shortening):
    """Recorded waits: after the first failed try, after the second, and so on."""

    __slots__ = ("pools",)

    def __init__(self, pools: Sequence[Sequence[float]]) -> None:
        self.pools = pools

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        uniform = (chance or any_chance()).uniform
        return lambda k: self.pools[k][int(uniform(0.0, len(self.pools[k]) - 1e-9))]


class Asking(Command[None]):
    __slots__ = ()


class Chains(NamedTuple):
    """The tries of each run, up to a success, as runs: how their clients wait.

    Attributes:
        begun: the times of the first tries.
        ended: the times of the last tries, the seconds up to them, and whether they succeeded.
        pools: the seconds of the waits after the first failed try, after the second, and so on.
        stops: the chains that ended with the first failed try, with the second, and so on.
    """

    begun: list[float]
    ended: list[tuple[float, float, bool]]
    pools: list[list[float]]
    stops: dict[int, int]

    def happened(self, tries: Sequence[Try], begin: int, end: int) -> Numbers:
        """Measure these seconds of the trace, as `numbers_between` measures a simulation."""
        ended = [one for one in self.ended if begin <= one[0] < end]
        latencies = [seconds for _, seconds, well in ended if well]
        asked = sum(begin <= one.begun < end for one in tries)
        return numbers_of(asked, len(ended) - len(latencies), latencies, end - begin)


def chains_of(tries: Sequence[Try]) -> Chains:
    found, runs = Chains([], [], [], defaultdict(int)), defaultdict[str, list[Try]](list)
    for one in tries:
        runs[one.run].append(one)
    for run in runs.values():
        waits, since = 0, run[0].begun
        for one, following in zip(run, [*run[1:], None], strict=True):
            since = one.begun if waits == 0 else since
            if following is None or one.failure is None or waits == rungs.DEEPEST:
                found.begun.append(since)
                found.ended.append((one.ended, one.ended - since, one.failure is None))
                found.stops[waits] += one.failure is not None
                waits = 0
            else:
                found.pools.extend([[]] if len(found.pools) == waits else [])
                found.pools[waits].append(max(0.0, following.begun - one.ended))
                waits += 1
    found.begun.sort()
    return found


def replayed(
    chains: Chains, model: Model, windows: Sequence[tuple[int, int]], seed: int
) -> list[Numbers]:
    """Simulate the trace itself, and return the numbers of each window."""
    random = Random(seed)  # noqa: S311
    asking: Any = do(Asking()).limit(model.patience) if model.patience else Asking()
    programs = [at(ladder).retry(asking) for ladder in LADDERS]

    def program(_: int) -> Any:
        rung = 0
        for pool in chains.pools:
            if random.random() * (len(pool) + chains.stops[rung]) >= len(pool):
                break
            rung += 1
        return programs[rung]

    outcome = simulate(
        program,
        FittedService(model, 0, seed).serves(Asking),
        arrivals=chains.begun,
        seconds=windows[-1][1],
        schedule=Waits(chains.pools),
        seed=seed,
    )
    return [numbers_between(outcome, *window) for window in windows]


def is_off(band: tuple[float, float], value: float, name: str) -> bool:
    """Return whether a number of the trace is neither inside of its band nor near its middle."""
    bound = 0.3 if name.startswith("p") else inf if "%" in name else 0.15
    return not band[0] <= value <= band[1] and abs(sum(band) / 2 - value) > bound * value
