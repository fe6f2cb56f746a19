"""Plans as SVG: time from left to right, rungs from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from math import inf, isclose
from typing import NamedTuple

from .._meaning.planning import PlannedRung
from .amounts_in_words import spoken
from .plan_texts import Planned
from .platform_time_limits import Fit

WIDTH, LEFT, RIGHT, TOP, ROW, BELOW = 600.0, 54.0, 26.0, 92.0, 34.0, 64.0
LETTER = 8.4  # the average width of a letter
DOTS = 8  # tries that are drawn as dots, at most; a greater number is written
FARTHEST = 4
"""The latest limit with a line, as a multiple of the plan's end; later limits have an arrow."""
# Seconds between two ticks of the axis of time.
TICKS = (
    *(base * 10**power for power in range(-3, 1) for base in (1, 2, 5)),
    *(10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400),
    *(86400 * base * 10**power for power in range(6) for base in (1, 2, 5)),
)
STYLE = """
  .page { fill: #ffffff } text { fill: #1f2328; font: 15px system-ui, sans-serif }
  .key { font-size: 13px } .head { font-weight: 600 } .quiet { fill: #59636e }
  .behind { fill: #ffffff; stroke: #ffffff; stroke-width: 4 }
  .row { stroke: #d1d9e0 } .tick { stroke: #d1d9e0; stroke-dasharray: 1 4 }
  .try { fill: #0550ae; stroke: #ffffff; stroke-width: 1.5 } .told { fill: none; stroke: #0550ae }
  .takes { stroke: #0550ae; stroke-width: 9; stroke-linecap: round; opacity: .3 }
  .wait { stroke: #953800; stroke-width: 3 } .down { stroke: #953800; stroke-dasharray: 2 3 }
  .well { stroke-dasharray: 9 4 } .perhaps { stroke-dasharray: 3 4 }
  .limit { stroke: #1f2328; stroke-width: 2 } .over { stroke: #a40e26; stroke-width: 3 }
  .no { fill: #a40e26; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #131416 } text { fill: #f0f6fc } .quiet { fill: #9198a1 }
    .behind { fill: #131416; stroke: #131416 } .row, .tick { stroke: #3d444d }
    .try { fill: #79c0ff; stroke: #131416 }
    .told, .takes { stroke: #79c0ff } .wait, .down { stroke: #ffa657 }
    .limit { stroke: #f0f6fc } .over { stroke: #ff7b72 } .no { fill: #ff7b72 }
  }
"""


class Axis(NamedTuple):
    """The axis of time, from 0 to `span` seconds."""

    span: float

    def x(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.span

    def ticks(self) -> list[float]:
        """Return the times of at most nine ticks, at multiples of a round number."""
        every = next((tick for tick in TICKS if self.span / tick <= 8), self.span)
        return [every * number for number in range(int(self.span / every) + 1)]


def as_svg(planned: Planned) -> str:
    """Draw a plan: tries are dots, waits are lines, and a limit is a vertical line."""
    plan = planned.plan
    ends = [rung.begins + (rung.takes or 0.0) + (rung.wait_seconds or 0.0) for rung in plan.rungs]
    last = max([*ends, 1e-3])
    limits = [one.limit.seconds for one in planned.fits]
    axis = Axis(max(last, *(one for one in limits if one <= last * FARTHEST), 0.0) * 1.02)
    top = TOP + 18 * len(limits) - (0 if limits else 22)
    lines = sorted(axis.x(one) for one in limits if one <= axis.span)
    bottom = top + ROW * len(plan.rungs)
    body = [
        *heading(planned, bottom + BELOW + 22 * len(limits) - 10),
        *scale(axis, top, bottom),
        *(
            line
            for number, one in enumerate(planned.fits)
            for line in drawn_limit(axis, bottom, number, one)
        ),
        *(
            line
            for row, (rung, below) in enumerate(pairwise([*plan.rungs, None]))
            if rung is not None
            for line in drawn_rung(axis, top + ROW * (row + 0.5), rung, below, lines)
        ),
    ]
    return "\n".join([*body, "</svg>"])


def heading(planned: Planned, height: float) -> Iterator[str]:
    size = f'viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" height="{height:g}"'
    said = escape(planned.headline)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{said}">'
    yield f"<title>{said}</title><style>{STYLE}</style>"
    yield f'<rect class="page" width="{WIDTH:g}" height="{height:g}"/>'
    lines = [planned.headline]
    if planned.fits:
        worst = min(planned.fits, key=lambda one: (one.fits, one.limit.seconds))
        lines.insert(0, f"{planned.name} {worst.reason.partition(':')[0]}")
    for number, line in enumerate(lines):
        letters = min(19 - 4 * number, (WIDTH - 24) / (0.56 * len(line)))
        kind = "quiet" if number else "head"
        y = 24 + 22 * number
        place = f'style="font-size: {letters:.1f}px" x="12" y="{y}"'
        yield f'<text class="{kind}" {place}>{escape(line)}</text>'
    x, below = 12.0, 44.0 + 22 * (len(lines) - 1)
    for sign, width, words in key(planned):
        yield sign.format(x=x, y=below, end=x + 30, middle=x + 6)
        yield f'<text class="quiet key" x="{x + width:g}" y="{below + 5:g}">{words}</text>'
        x += width + 0.85 * LETTER * len(words) + 12


def key(planned: Planned) -> Iterator[tuple[str, float, str]]:
    """Yield each sign of the picture, the distance from its start to its words, and the words."""
    rungs = planned.plan.rungs
    yield '<circle class="try" cx="{middle:g}" cy="{y:g}" r="6"/>', 18, "a try"
    if any(rung.takes for rung in rungs):
        line = '<line class="takes" x1="{x:g}" x2="{end:g}" y1="{y:g}" y2="{y:g}"/>'
        yield line, 40, "its time"
    for when in dict.fromkeys(rung.when for rung in rungs if rung.when):
        line = f'<line class="wait {when}"'
        words = {"failed": "wait if failed", "well": "wait if well"}.get(when, "perhaps a wait")
        yield line + ' x1="{x:g}" x2="{end:g}" y1="{y:g}" y2="{y:g}"/>', 36, words
    if planned.plan.wait_count == inf:
        yield "", 0, "and so on, with the last wait repeated"


def scale(axis: Axis, top: float, bottom: float) -> Iterator[str]:
    yield f'<text class="quiet key" x="12" y="{top - 2:g}">rung</text>'
    for seconds in axis.ticks():
        x = axis.x(seconds)
        label = spoken(seconds) if seconds else "0 s"
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{top:g}" y2="{bottom:g}"/>'
        yield (
            f'<text class="quiet" x="{x:.1f}" y="{bottom + 18:g}" text-anchor="middle">'
            f"{label}</text>"
        )
    yield (
        f'<text class="quiet" x="{WIDTH - RIGHT:g}" y="{bottom + 40:g}" text-anchor="end">'
        "latest time since the start</text>"
    )


def drawn_rung(
    axis: Axis, y: float, rung: PlannedRung, below: PlannedRung | None, limits: Sequence[float]
) -> Iterator[str]:
    yield f'<line class="row" x1="{LEFT:g}" x2="{WIDTH - RIGHT:g}" y1="{y:g}" y2="{y:g}"/>'
    yield f'<text x="12" y="{y + 5:g}">N{rung.rung}</text>'
    takes = rung.takes or 0.0
    start, end = rung.begins, rung.begins + takes
    if rung.wait_seconds is not None:
        after = end + rung.wait_seconds
        x1, x2 = axis.x(end), axis.x(after)
        yield f'<line class="wait {rung.when}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:g}" y2="{y:g}"/>'
        if below is not None and isclose(below.begins, after):
            yield f'<line class="down" x1="{x2:.1f}" x2="{x2:.1f}" y1="{y:g}" y2="{y + ROW:g}"/>'
        yield label(x1, x2, y, spoken(rung.wait_seconds), limits)
    if takes:
        yield (
            f'<line class="takes" x1="{axis.x(start):.1f}" x2="{axis.x(end):.1f}" '
            f'y1="{y:g}" y2="{y:g}"/>'
        )
    yield from dots(axis, y, rung)


def label(x1: float, x2: float, y: float, words: str, limits: Sequence[float]) -> str:
    """Write the seconds of a wait above its line, or beside a line that is too short.

    `limits` are the places of vertical lines. Those that cross the line of the wait cut it into
    parts, and the seconds stand above the middle of the longest part.
    """
    width = LETTER * len(words)
    parts = pairwise([x1, *(x for x in limits if x1 < x < x2), x2])
    left, right = max(parts, key=lambda part: part[1] - part[0])
    if right - left > width + 16:
        place = f'x="{(left + right) / 2:.1f}" y="{y - 6:g}" text-anchor="middle"'
    elif x2 + 10 + width < WIDTH - RIGHT:
        place = f'x="{x2 + 8:.1f}" y="{y - 3:g}"'
    else:
        place = f'x="{x1 - 10:.1f}" y="{y - 3:g}" text-anchor="end"'
    return f'<text class="behind" {place}>{words}</text><text {place}>{words}</text>'


def dots(axis: Axis, y: float, rung: PlannedRung) -> Iterator[str]:
    """Draw dots at the starts of tries on a rung; a hollow dot if their number is unknown."""
    start = rung.begins
    if rung.tries is None:
        yield f'<circle class="try told" cx="{axis.x(start):.1f}" cy="{y:g}" r="6"/>'
        yield f'<text class="quiet" x="{axis.x(start) + 9:.1f}" y="{y + 16:g}">?</text>'
        return
    apart = (rung.takes or 0.0) / max(rung.tries, 1)
    places = [axis.x(start + apart * number) for number in range(min(rung.tries, DOTS))]
    for place in places:
        yield f'<circle class="try" cx="{place:.1f}" cy="{y:g}" r="6"/>'
    near = len(places) > 1 and places[1] - places[0] < 12
    if rung.tries > len(places) or near:
        where = f'x="{places[-1] + 9:.1f}" y="{y + 16:g}"'
        yield f'<text class="quiet" {where}>{rung.tries} tries</text>'


def drawn_limit(axis: Axis, bottom: float, number: int, fit: Fit) -> Iterator[str]:
    y = TOP + 18 * number
    words = escape(str(fit.limit))
    if fit.limit.seconds > axis.span:
        where = f'x="{WIDTH - RIGHT:g}" y="{y:g}" text-anchor="end"'
        yield f'<text class="behind" {where}>{words}</text><text {where}>{words} &#8594;</text>'
    else:
        x = axis.x(fit.limit.seconds)
        kind = "limit" if fit.fits else "limit over"
        yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 12:g}" y2="{bottom:g}"/>'
        place, side = (x - 6, "end") if x > WIDTH / 2 else (x + 6, "start")
        yield f'<text x="{place:.1f}" y="{y:g}" text-anchor="{side}">{words}</text>'
    mark = "" if fit.fits else ' class="no"'
    said = escape(fit.reason.partition(";")[0])
    yield f'<text{mark} x="12" y="{bottom + BELOW + 22 * number:g}">{said}</text>'
