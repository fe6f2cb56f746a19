"""The demonstration: five resources on a web server that fails in many ways."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..testing.web import Down, Fault, Origin, Reset, Slow, Status, Truncated
from .chosen_storage import storage_in
from .commands import Resource
from .keep_all import keep_all, options_of
from .progress_display import Display
from .summary import Summary

KIB = 1024
RESOURCES = {
    "/acorns": b"acorn" * 20 * KIB,
    "/beechnuts": b"beechnut" * 20 * KIB,
    "/chestnuts": b"chestnut" * 20 * KIB,
    "/hazelnuts": b"hazelnut" * 20 * KIB,
    "/walnuts": b"walnut" * 300 * KIB,
}
FAULTS: dict[str, list[Fault | None]] = {
    "GET /acorns": [Down(seconds=0.15)],
    "GET /beechnuts": [Reset(after=10 * KIB), Reset()],
    "GET /chestnuts": [Truncated(after=30 * KIB), Status(500)],
    "GET /hazelnuts": [Status(503, retry_after=1)],
    "GET /walnuts": [Status(429, retry_after=1), Slow(seconds=0.02, piece=32 * KIB)],
}
INTRODUCTION = (
    "An origin on loopback refuses connections, resets them, breaks off in mid-body,\n"
    "is overloaded (503 and 429, with Retry-After) and slow. The squirrel keeps five\n"
    "resources from it, twice."
)


def origin() -> Origin:
    return Origin(RESOURCES, FAULTS)


def demonstrate(args: Namespace) -> int:
    """Run the demonstration; return 0 if no resource fails, and the second round has only hits."""
    options = options_of(args, base=0.1)
    print(INTRODUCTION, "", "The first time:", sep="\n", flush=True)
    with TemporaryDirectory(prefix="squirrel-") as name, origin() as place:
        resources = [Resource(place.url + path) for path in RESOURCES]
        storage = storage_in(Path(name))
        first = Summary()
        keep_all(resources, storage, options, Display(args.verbose), first)
        print("The second time:", flush=True)
        second = Summary()
        keep_all(resources, storage, options, Display(args.verbose), second)
    return 0 if first.well and second.hits == len(resources) else 1
