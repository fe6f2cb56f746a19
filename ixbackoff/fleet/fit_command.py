"""`ixbackoff fleet fit`: a model of a service from what its clients recorded."""

from __future__ import annotations

import json
import sys
from functools import partial
from math import ceil
from os import W_OK, access
from pathlib import Path
from statistics import fmean

from .._argument_parser import FAILED, WRONG, Flag, Parser, add_flags, number
from .fits.choosing import Model, fitted
from .fits.doubts import doubts, own_trace
from .fits.fitted_service import replayed
from .fits.recorded_tries import recorded
from .reports import sampled, seed_flags
from .seed_results import quantile
from .seed_sweep import SEEDS

NAMES = {
    "fifo": "a queue in order, {} worker{}",
    "ps": "{} core{} that all share",
    "none": "no queue",
}
FLAGS = (
    Flag("refused", "429,503", str, "the statuses or classes of refusals by a full queue", "NAMES"),
    Flag("left", "TimeoutError,Expired", str, "the failures of abandoned tries", "NAMES"),
    Flag("peer", None, str, "only the tries to this address", "ADDRESS"),
    Flag("hold", 0.25, number(0.05, 0.9), "the share held back from the fit, at the trace's end"),
    Flag("save", None, Path, "write the model into this file", "FILE"),
    Flag("even-so", False, bool, "save the model in spite of doubts"),
)


def shown(model: Model) -> list[str]:
    best, works = model.near[0], model.near[0].works
    kind = NAMES[best.kind].format(best.workers, "s" * (best.workers > 1))
    others = f"{len(model.near) - 1 or 'no'} other{'s' * (len(model.near) > 2)}"
    limit = f"at most {model.limit} requests at once" if model.limit else "no refusal"
    capacity = f"; capacity {best.workers / fmean(works):.1f}/s" if best.workers else ""
    return [
        f"service    {kind}, {limit} ({model.tries} tries; {others} within 10 nats)",
        f"work       {fmean(works):.3f} s in the mean, {quantile(works, 0.99):.2f} s at the 99th "
        f"percentile{capacity}",
        *(f"slow       {f:.2f} times from {a:.1f} s to {b:.1f} s" for a, b, f in best.phases),
        f"failures   {model.fails:.1%} by chance",
        f"sight      per 100 refusals, {100 * model.blur:.0f} tries contradict the limit: taken "
        "above it, or refused just below it",
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(
        prog="ixbackoff fleet fit",
        description="Fit a model of a service to the tries that all of its clients recorded.",
        epilog="Exit status: 0; 1 if there is a doubt; 2 if the command or a line is wrong.",
    )
    words = "lines of json_observer, or OTLP JSON"
    parser.add_argument("traces", type=Path, nargs="+", metavar="FILE", help=words)
    parser.add_argument("--format", choices=("events", "otlp"), help="default: read from each line")
    add_flags(parser, [*FLAGS, *seed_flags(SEEDS, "the number of simulations of the trace")])
    args = parser.parse_args(arguments)
    save: Path | None = args.save
    try:
        odd = save and (save in args.traces or save.exists() != save.is_file())  # such as /dev/null
        if save and (odd or not access(save.parent, W_OK)):
            raise ValueError(f"{save} cannot be written: give another file with --save.")
        tries, arrivals, alone = recorded(args.traces, args.format, args.peer)
        split, end = (ceil(tries[-1].begun * part) for part in (1 - args.hold, 1))
        if not 0 < split < end:
            raise ValueError(f"All tries begin within {end} s: give a longer trace; see --hold.")
        some = [one for one in tries if one.begun < split]
        model = fitted(some, args.refused.split(","), args.left.split(","))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return WRONG
    print(*shown(model), sep="\n")
    said = doubts(model, alone, [time for time in arrivals if time < split])
    sample = sampled(partial(replayed, model, [one.begun for one in tries], end), args)
    for part, first, last in (("fitted", 0, split), ("held back", split, end)):
        text, off = own_trace(part, tries, sample.results, first, last)
        print(text)
        said += off
    print(*(f"doubt      {sentence}\n" for sentence in said), sep="", end="")
    if save and (args.even_so or not said):
        written = save.with_name(f"{save.name}.part")  # an old model stays if writing fails
        try:
            written.write_text(json.dumps(model._replace(arrivals=arrivals, doubts=said)._asdict()))
            written.replace(save)
        except OSError as error:
            written.unlink(missing_ok=True)
            print(f"{save} cannot be written: {error.strerror}.", file=sys.stderr)
            return WRONG
    return FAILED if said else 0
