"""`ixbackoff fleet fit`: a model of a service from what its clients recorded."""

from __future__ import annotations

import sys
from argparse import Namespace
from functools import partial
from math import ceil
from pathlib import Path
from statistics import fmean, median

from .._argument_parser import FAILED, WRONG, Flag, Parser, add_flags, number
from .fits.choosing import Fit, fitted
from .fits.doubts import Held, chains_of, doubts, happened, replayed
from .fits.recorded_tries import LEFT, REFUSED, Recorded, recorded
from .fits.saved_model import SavedModel, band
from .reports import sampled, seed_flags
from .samples import Sample, quantile
from .seeds import SEEDS

NAMES = {"fifo": "a queue in order", "ps": "cores that all share", "none": "no queue"}
FLAGS = (
    Flag("refused", None, str, "the status or class of a refusal (default: 429 and 503)", "NAME"),
    Flag("left", None, str, "the failure of a try that its client left", "NAME"),
    Flag("peer", None, str, "only the tries to this address", "ADDRESS"),
    Flag("hold", 0.25, number(0.05, 0.9), "the last part of the time, which is not fitted"),
    Flag("save", None, Path, "write the model into this file", "FILE"),
    Flag("even-so", False, bool, "save it in spite of doubts"),
)


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog="ixbackoff fleet fit",
        description="Fit a model of a service to the tries that all its clients recorded.",
        epilog="Exit status: 0; 1 if there is a doubt; 2 if the command or a line is wrong.",
    )
    parser.add_argument("traces", type=Path, nargs="+", help="lines of json_observer, or OTLP JSON")
    parser.add_argument("--format", choices=("events", "otlp"), help="by default by the first line")
    add_flags(parser, [*FLAGS, *seed_flags(SEEDS, "the number of simulations of the trace")])
    return parser.parse_args(arguments)


def model_of(fit: Fit, whole: Recorded, length: float) -> SavedModel:
    asked = [one.retry_after for one in fit.refused if one.retry_after is not None]
    statuses = [one.status for one in fit.refused if one.status]
    start = whole.arrivals[0]
    services = [
        (one.kind, one.workers, one.works, [(a - start, b - start, f) for a, b, f in one.phases])
        for one in fit.near
    ]
    return SavedModel(
        services,
        fit.limit,
        fit.overhead,
        fit.fails,
        statuses[0] if statuses else 503,
        median(asked) if len(asked) * 2 > len(fit.refused) else None,
        fit.seen,
        [time - start for time in whole.arrivals],
        length,
        [],
    )


def checked(fit: Fit, whole: Recorded, model: SavedModel, args: Namespace) -> list[Held]:
    """Simulate the trace, and compare: the part that was fitted, and the part that was not."""
    start, end = whole.arrivals[0], ceil(model.length)
    tries = [one._replace(begun=one.begun - start, ended=one.ended - start) for one in whole.tries]
    chains = chains_of(tries, fit.left)
    split = round(model.length * (1 - args.hold))
    windows = [(0, split), (split, end)]
    sample = sampled(partial(replayed, chains, model, windows), args)
    held = []
    for index, (part, window) in enumerate(zip(("fitted", "held back"), windows, strict=True)):
        one = Sample(sample.seeds, tuple(result[index] for result in sample.results))
        for name, value in happened(tries, chains, *window).items():
            held.append(Held(part, name, band(one, name), value))
    return held


def text_of(fit: Fit, held: list[Held]) -> str:
    best = fit.near[0]
    others = "no other" if len(fit.near) == 1 else f"{len(fit.near) - 1} others"
    limit = "no refusal" if fit.limit is None else f"refuses from {fit.limit} at once"
    mean = fmean(best.works)
    capacity = f"; capacity {best.workers / mean:.1f}/s" if best.workers else ""
    lines = [
        f"service    {NAMES[best.kind]}, {best.workers} workers, {limit} "
        f"({len(fit.tries)} tries; {others} within 10 nats)",
        f"work       {mean:.3f} s in the mean, {quantile(best.works, 0.99):.2f} s at the 99th "
        f"percentile{capacity}",
        *(f"slow       {f:.2f} times from {a:.1f} s to {b:.1f} s" for a, b, f in best.phases),
        f"failures   {fit.fails:.1%} by chance",
    ]
    if fit.refused:
        lines.append(
            f"sight      {fit.blur:.0%} of the refusals are on the wrong side of the limit"
        )
    for part in ("fitted", "held back"):
        cells = ", ".join(one.text() for one in held if one.part == part)
        lines.append(f"{part:11}{cells}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    args = parsed(arguments)
    try:
        whole = recorded(args.traces, args.format, args.peer)
        if not whole.tries:
            raise ValueError("There is no try in these files.")
        start = whole.arrivals[0]
        length = whole.tries[-1].begun - start
        until = start + length * (1 - args.hold)
        some = [one for one in whole.tries if one.begun < until]
        fit = fitted(
            some, [args.refused] if args.refused else REFUSED, [args.left] if args.left else LEFT
        )
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return WRONG
    model = model_of(fit, whole, length)
    said = doubts(fit, whole.alone, whole.arrivals)
    held = checked(fit, whole, model, args)
    wrong = [one for one in held if not one.holds()]
    if wrong:
        cells = ", ".join(f"{one.part}, {one.text()} happened" for one in wrong)
        said.append(f"It does not predict its own trace: {cells}.")
    print(text_of(fit, held))
    for one in said:
        print(f"doubt      {one}")
    if args.save and (args.even_so or not said):
        model._replace(doubts=said).save(args.save)
    return FAILED if said else 0
