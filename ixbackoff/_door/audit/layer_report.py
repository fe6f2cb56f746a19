"""The stacks of a code base as text, as JSON, and as the findings that `check` writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite

from ..reading.checker_output import Error
from ..reading.explanation import Explanation
from ..reading.findings import Finding
from .layers import Layer
from .stacks import OURS, Stack, Walk


def times(tries: float | None) -> str:
    return "n" if tries is None else "∞" if tries == inf else f"{tries:g}"


def product(stack: Stack) -> str:
    """Write `12 requests: 4 x 3`; an unknown count is never a part of a number."""
    factors = " x ".join(times(one.tries) for one in stack.layers)
    unit = "requests" if stack.leaf else "tries"
    if stack.unknown or not isfinite(stack.tries):
        return f"{factors} {unit}"
    return f"{'' if stack.sure else 'at most '}{times(stack.tries)} {unit}: {factors}"


def place(layer: Layer) -> str:
    return f"{layer.file}:{layer.line}"


def remarks(layer: Layer) -> str:
    waits = "" if layer.waits in (None, 0) else f"waits {layer.waits:.4g} s in all"
    off = layer.off and f"{layer.off} switches it off"
    return ", ".join(filter(None, (waits, *layer.flags, off)))


def total(stack: Stack) -> float | None:
    """Return the seconds of all waits; `None` if one is unknown. Calls take no time."""
    found = 0.0
    for one in reversed(stack.layers):
        if one.waits is None or one.tries is None:
            return None
        found = one.waits + one.tries * found
    return found


def way(stack: Stack) -> str:
    return " -> ".join([*stack.way, *filter(None, [stack.leaf])])


def merged(stacks: Iterable[Stack]) -> dict[Stack, int]:
    """Return stacks that differ in more than the last call, with the number of the others."""
    found: dict[object, Stack] = {}
    more: dict[Stack, int] = {}
    for one in stacks:
        first = found.setdefault((one.places[:-1], one.layers[-1].label), one)
        more[first] = more.get(first, -1) + 1
    return more


def text(walk: Walk, stacks: Sequence[Stack], top: int, everything: bool) -> Iterator[str]:
    resolved = sum(walk.calls.values())
    bad = len(walk.code.unreadable)
    yield (
        f"{len(walk.code.modules) + bad} modules ({bad} unreadable), {len(walk.layers)} places that "
        f"try again, {100 * resolved // max(len(walk.calls), 1)}% of the calls resolved: what is not "
        "resolved is not counted."
    )
    if walk.too_large:
        yield f"{walk.too_large} functions were too large, and are counted in part."
    entries = merged(stacks)
    for stack, more in [*entries.items()][:top]:
        first = stack.layers[0]
        calls = f", and {more} more calls" if more else ""
        yield f"\n{place(first)}  {first.name}    {product(stack)}{calls}"
        width = max(len(one.label) for one in stack.layers)
        longest = max(len(place(one)) for one in stack.layers)
        for one in stack.layers:
            line = f"{times(one.tries):>6}  {one.label:{width}}  {place(one):{longest}}  {remarks(one)}"
            yield line.rstrip()
        seconds = total(stack)
        yield f"  by {way(stack)}" + (f"; waits {seconds:.4g} s" if seconds else "")
    if not entries:
        yield "No stack found."
    elif len(entries) > top:
        yield f"\n{len(entries) - top} more: --top {len(entries)} shows them."
    if everything:
        yield "\nPlaces that try again:"
        for one in sorted(walk.layers.values()):
            yield f"  {place(one)}  {times(one.tries)}  {one.label}  {remarks(one)}".rstrip()


def findings(stacks: Iterable[Stack]) -> Iterator[Finding]:
    """Yield the stacks as findings, for the formats of `check`."""
    for stack in stacks:
        inner = ", ".join(f"{one.label} ({place(one)})" for one in stack.layers[1:])
        said = f"{stack.layers[0].label} is around {inner}: {product(stack)}."
        off = next((one.off for one in reversed(stack.layers) if one.off), "")
        fix = f"Let one layer try again: {off} switches the inner one off." if off else ONE
        yield found(stack.layers[0], Explanation("retry-in-a-retry", said, fix))


ONE = "Let one layer try again."


def found(layer: Layer, explanation: Explanation) -> Finding:
    error = Error(str(layer.file), layer.line, 0, explanation.sentence, "", ())
    return Finding(error, explanation, None, "")


def nested(stacks: Iterable[Stack]) -> Iterator[Finding]:
    """Yield the layers directly inside of one of ixbackoff: a backoff, or a client's own."""
    seen: set[object] = set()
    for stack in stacks:
        for outer, inner in zip(stack.layers, stack.layers[1:], strict=False):
            if outer.library != OURS or not inner.library or (outer[:2], inner[:2]) in seen:
                continue
            seen.add((outer[:2], inner[:2]))
            if inner.library == OURS:
                between = (
                    stack.way[stack.way.index(outer.name) + 1 :] if outer.name in stack.way else ()
                )
                helpers = between[: between.index(inner.name)] if inner.name in between else ()
                by = f" by {', '.join(helpers)}" if helpers else ""
                said = (
                    f"{outer.name} calls {inner.name} ({place(inner)}){by}, and both are under backoff: "
                    "their tries would multiply."
                )
                fix = 'Let only one of them retry, or give either nested="once".'
                yield found(outer, Explanation("retry-in-a-retry", said, fix))
            elif inner.tries is not None:
                said = (
                    f"{outer.name} calls {inner.name} ({place(inner)}), which {inner.library} tries "
                    f"{times(inner.tries)} times by itself: {times(outer.tries)} x {times(inner.tries)}."
                )
                fix = (
                    f"Let only one of them retry: {inner.off} switches that of {inner.library} off."
                )
                yield found(outer, Explanation("retry-in-a-retry", said, fix, severity="warning"))
