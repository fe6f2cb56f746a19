"""The stacks of a code base as text, and as the findings that `check` writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from ..diagnosing.explained_errors import Finding
from ..diagnosing.explanation import Explanation
from ..reading.checker_output import Error
from .layers import ONCE, OURS, Layer
from .stacks import Follower, Stack


def times(tries: float | None) -> str:
    return "n" if tries is None else "∞" if tries == inf else f"{tries:g}"


def product(stack: Stack) -> str:
    """Write `12 requests: 4 x 3`; or `4 x n requests` if a count is unknown or infinite."""
    factors = " x ".join(times(one.tries) for one in stack.layers)
    unit = "requests" if stack.leaf else "tries"
    whole = not stack.unknown and stack.tries < inf
    at_most = "" if stack.sure else "at most "
    return at_most + (f"{times(stack.tries)} {unit}: {factors}" if whole else f"{factors} {unit}")


def row(layer: Layer, width: int, longest: int) -> str:
    off = layer.off and f"{layer.off} switches it off"
    remarks = ", ".join(filter(None, (*layer.flags, off)))
    found = f"{times(layer.tries):>6}  {layer.label:{width}}  {layer.place:{longest}}  {remarks}"
    return found.rstrip()


def text(
    walk: Follower, stacks: Sequence[Stack], top: int, everything: bool, limit: int | None
) -> Iterator[str]:
    modules = walk.code.modules.values()
    bad = sum(not one.readable for one in modules)
    resolved = 100 * walk.reaching.resolved // max(walk.reaching.calls, 1)
    yield (
        f"modules: {len(modules)} ({bad} unreadable), places that try again: {len(walk.layers)}, "
        f"calls resolved: {resolved}%; what is not resolved is not counted."
    )
    if walk.too_large:
        yield f"functions followed in part, as too many calls are below them: {walk.too_large}."
    entries: dict[object, list[Stack]] = {}  # one for all stacks that differ only in the last call
    for stack in stacks:
        entries.setdefault((stack.places[:-1], stack.layers[-1].label), []).append(stack)
    for stack, *more in [*entries.values()][:top]:
        calls = f", in {1 + len(more)} calls" if more else ""
        yield f"\n{stack.layers[0].place}  {stack.layers[0].name}    {product(stack)}{calls}"
        width = max(len(one.label) for one in stack.layers)
        longest = max(len(one.place) for one in stack.layers)
        yield from (row(one, width, longest) for one in stack.layers)
        yield f"  by {' -> '.join(filter(None, [*stack.way, stack.leaf]))}"
    if not entries:
        which = "" if limit is None else f" of more than {limit} tries"
        yield f"No stack{which} {'found' if everything else 'is certain'}."
    elif len(entries) > top:
        yield f"\n{len(entries) - top} more: --top {len(entries)} shows them."
    if everything:
        yield "\nPlaces that try again:"
        yield from (row(one, 20, 0) for one in sorted(walk.layers.values()))


def findings(stacks: Iterable[Stack]) -> Iterator[Finding]:
    for stack in stacks:
        inner = ", ".join(f"{one.label} ({one.place})" for one in stack.layers[1:])
        outer = stack.layers[0].label
        said = f"A call makes {product(stack)}, because {outer} is around {inner}."
        layers = reversed(stack.layers)
        off = next((f": {one.off} switches {one.label} off" for one in layers if one.off), "")
        yield finding(stack.layers[0], said, f"Let only one layer try again{off}.")


def finding(layer: Layer, said: str, fix: str, severity: str = "error") -> Finding:
    explanation = Explanation("retry-in-a-retry", said, fix, severity=severity)
    return Finding(Error(str(layer.file), layer.line, 0, said, "", ()), explanation, None, "")


def nested(stacks: Iterable[Stack]) -> Iterator[Finding]:
    """Yield the backoffs, and the retries of other libraries, directly inside of a backoff."""
    seen: set[object] = set()
    for stack in stacks:
        for outer, inner in zip(stack.layers, stack.layers[1:], strict=False):
            pair = outer[:2], inner[:2]
            if outer.library != OURS or not inner.library or pair in seen or not inner.tries:
                continue
            seen.add(pair)
            calls = f"{outer.name} calls {inner.name} ({inner.place})"
            switch = f"Let only one of them retry: {inner.off} switches the inner one off."
            if inner.library == OURS:
                names = [outer.name, inner.name]
                helpers = [one for one in stack.way if one not in names]
                by = f" by {', '.join(helpers)}" if helpers and len(stack.layers) == 2 else ""
                said = f"{calls}{by}, and both retry: their tries would multiply."
                which = "either" if outer.off == ONCE else "the inner one"
                fix = f"Let only one of them retry, or give {which} {ONCE}."
                yield finding(outer, said, fix if inner.off == ONCE else switch)
            elif stack.sure:
                product = f"{times(outer.tries)} x {times(inner.tries)}"
                said = f"{calls}, which {inner.library} retries by itself: {product} tries."
                yield finding(outer, said, switch, "warning")
