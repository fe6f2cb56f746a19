"""The doubts about a fit: without `--even-so`, a model with a doubt is not saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, log, nan
from statistics import correlation

from ..reports import written
from ..seed_results import quantile
from ..simulation_outcome import Outcome
from .choosing import Model
from .fitted_service import BAND, numbers_between
from .recorded_tries import Try

FEW, BUSY = 500, 50  # the fewest tries, and the fewest that found all workers at work
PARTS = 100  # arrivals are counted in this number of equal parts of the trace's time
OFF = {"goodput/s": 0.15, "p50, s": 0.3, "p99, s": 0.3}  # allowed relative error of (low+high) / 2
FOLLOWS = 0.7  # a correlation of phases and load above this, of either sign, is a doubt


def doubts(model: Model, alone: int, arrivals: Sequence[float]) -> list[str]:
    """Return the doubts that need no simulation; `arrivals` are those of the fitted part."""
    best, tries = model.near[0], model.tries
    names = ", ".join(f"{one.kind} {one.workers}" for one in model.near)
    follows = abs(following(best.phases, arrivals)) > FOLLOWS
    said = {
        "Some tries lack their run or the try before them: sampled spans cannot be fitted; record "
        "every span, if need be for a shorter time.": alone > 0.01 * tries,
        f"Too little: {tries} tries, of which {best.busy} came when all workers were at work; at "
        f"least {FEW} and {BUSY} are needed.": tries < FEW or best.busy < BUSY,
        f"{100 * model.blur:.0f} tries per 100 refusals contradict the limit: some "
        "clients are not in the trace, clocks disagree, clients abandoned tries, or the service "
        "has more than one queue.": model.blur > 0.2,
        f"With many tries in the service, each seems to need {best.leak:.2f} times as much work "
        "as with few: no queue that can be fitted explains this.": not 0.85 <= best.leak <= 1.15,
        f"Several models within 10 nats: {names}; simulations use all.": len(model.near) > 1,
        "There is no queue to fit: no try seems to have waited.": best.kind == "none",
        "No try was refused: the limit of the queue is not known; simulations hold "
        f"for at most {model.seen} tries at a time.": model.limit is None,
        f"{model.others / tries:.0%} of the tries failed, but were neither refused nor abandoned: "
        "the model has no such failures.": model.others > 0.05 * tries,
        "The phases follow the load, or go against it: they may be a queue in disguise.": follows,
    }
    return [sentence for sentence, holds in said.items() if holds]


def following(phases: Sequence[tuple[float, float, float]], arrivals: Sequence[float]) -> float:
    """Return the correlation of the phases' factors with the load, -1 to 1."""
    part = arrivals[-1] / PARTS or 1.0
    loads = Counter(int(time / part) for time in arrivals)
    rates, factors = [loads[index] for index in range(PARTS)], [0.0] * PARTS
    for begin, end, factor in phases:
        for index in range(ceil(begin / part), min(PARTS, ceil(end / part))):
            factors[index] = log(factor)
    flat = len({*factors}) == 1 or len({*rates}) == 1
    return 0.0 if flat else correlation(factors, rates)


def own_trace(
    part: str, tries: Sequence[Try], outcomes: Sequence[Outcome], begin: int, end: int
) -> tuple[str, list[str]]:
    """Compare numbers of a part of the trace with the simulations; return a line, and doubts."""
    well = [one.seconds for one in tries if one.failure is None and begin <= one.ended < end]
    p50, p99 = (quantile(well or [nan], at) for at in (0.5, 0.99))
    real = ("goodput/s", len(well) / (end - begin)), ("p50, s", p50), ("p99, s", p99)
    foretold, cells = [numbers_between(one, begin, end) for one in outcomes], list[str]()
    said = list[str]()
    for name, value in real:
        low, high = (quantile([one[name] for one in foretold], at) for at in (BAND, 1 - BAND))
        least, most, happened = map(written, (low, high, value))
        cells.append(f"{name} {least}..{most} ({happened})")
        if not (low <= value <= high or abs((low + high) / 2 - value) <= OFF[name] * value):
            text = f"{part}, {name} {least} to {most}, but {happened} happened."
            said.append(f"The model does not predict its own trace: {text}")
    return f"{part:11}{'; '.join(cells)}", said
