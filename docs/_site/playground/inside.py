"""The Python side of the playground; it runs in the browser beside the library."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from traceback import extract_tb
from types import ModuleType
from typing import Any, NamedTuple

from ixbackoff import Command, Constant, Misuse, Program
from ixbackoff.__main__ import main
from ixbackoff._meaning.chains import program_of
from ixbackoff.fleet import Outage, Outcome, SlowingServer, simulate

FILE = "program.py"
EXAMPLES = {
    "a wait too many": """\
from ixbackoff import N1, Download, at

page = Download("http://localhost/page", "page.html")

program = at(N1).do(page).backoff().or_else(page).backoff()
""",
    "a retry inside a retry": """\
from ixbackoff import N2, Download, at

page = Download("http://localhost/page", "page.html")

program = at(N2).retry(at(N2).retry(page))
""",
    "up the ladder": """\
from ixbackoff import N1, N3, Download, at

page = Download("http://localhost/page", "page.html")

program = at(N1).do(page).wait() >> at(N3).retry(page)
""",
    "one that asks twice": """\
from ixbackoff import N4, Do, Download, ServerError, attempt, at

@attempt
def both() -> Do[Download, None]:
    yield from Download("http://localhost/one", "one.html")
    try:
        yield from Download("http://localhost/two", "two.html")
    except ServerError:
        yield from Download("http://localhost/three", "three.html")

program = at(N4).retry(both().limit(3))
""",
}
"""Programs to try, most of them wrong; the keys say what they show."""

SECONDS, BEGIN, SPAN = 180, 15, 5
HASTY = Constant(0.1)


class Wrong(Exception):
    """The program is wrong; the message is for its author."""


def examples() -> str:
    """Return the programs to try, as JSON."""
    return json.dumps(EXAMPLES)


def made(source: str) -> tuple[str, Program[Any, Any, Any, Any], list[str]]:
    """Execute the source; return the name of its last program, this program, and a schedule flag.

    Raises:
        Wrong: the source raises an exception, or contains no program.
    """
    module = ModuleType("program")
    sys.modules["program"] = module
    try:
        exec(compile(source, FILE, "exec", dont_inherit=True), vars(module))  # noqa: S102
    except (Exception, SystemExit) as error:
        raise Wrong(explained(error)) from None
    names = [name for name, value in vars(module).items() if isinstance(value, Program)]
    if not names:
        raise Wrong(missing(module))
    flag = ["--schedule", "program:schedule"] if hasattr(module, "schedule") else []
    return names[-1], vars(module)[names[-1]], flag


def missing(module: ModuleType) -> str:
    """Say what to write in a module without a program."""
    for name, value in vars(module).items():
        if isinstance(program_of(value), Program):
            return (
                f"{name} is a function that is decorated with @backoff, and no program: leave the "
                f"decorator out, and write program = backoff(N3).program({name})."
            )
    return "There is no program yet: write program = at(N3).retry(...)."


def explained(error: BaseException) -> str:
    """Return the line and the message of an error in the source.

    >>> explained(SyntaxError("invalid syntax", ("program.py", 3, 1, "", 3, 1)))
    'Line 3: SyntaxError: invalid syntax'
    """
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == FILE]
    text = str(error)
    if isinstance(error, SyntaxError):
        lines, text = [error.lineno], error.msg
    kind = "" if isinstance(error, Misuse) else f"{error.__class__.__name__}: "
    return f"Line {lines[-1]}: {kind}{text}" if lines else f"{kind}{text}"


def printed(*words: str) -> str:
    """Run a command of `ixbackoff`; return its output.

    Raises:
        Wrong: the command rejects its arguments.
    """
    out, refused = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(refused), suppress(SystemExit):
        main(list(words))
    if refused.getvalue():
        raise Wrong(refused.getvalue().strip())
    return out.getvalue().strip()


def planned(source: str, takes: float, limit: float) -> str:
    """Plan the program; return a picture and a text, or the mistake in a sentence, as JSON."""
    try:
        name, _, flag = made(source)
        words = ["plan", f"program:{name}", *flag, "--each", f"{takes:g}", "--fits", f"{limit:g}"]
        picture = printed(*words, "--output-format", "svg")
        return json.dumps({"picture": picture, "text": printed(*words)})
    except Wrong as wrong:
        return json.dumps({"wrong": str(wrong)})


class Run(NamedTuple):
    """A simulated fleet."""

    name: str
    outcome: Outcome

    @property
    def before(self) -> float:
        return self.outcome.rate(lambda second: second.well, SPAN, BEGIN)

    @property
    def after(self) -> float:
        return self.outcome.rate(lambda second: second.well, SECONDS - BEGIN, SECONDS)

    @property
    def recovered(self) -> bool:
        return self.after > 0.8 * self.before

    def row(self) -> str:
        most = max(second.asked for second in self.outcome.seconds)
        gave_up = self.outcome.total(lambda second: second.gave_up)
        return f"{self.name:14}{self.before:11.1f}{self.after:11.1f}{most:11}{gave_up:11}"


def fleet(source: str, clients: int, length: float) -> str:
    """Simulate a fleet with the program's waits and with hasty ones; return JSON as `planned`."""
    try:
        _, program, flag = made(source)
        schedule = sys.modules["program"].schedule if flag else None
        runs = [
            Run("your waits", simulated(program, clients, length, schedule)),
            Run("0.1 s each", simulated(program, clients, length, HASTY)),
        ]
    except Wrong as wrong:
        return json.dumps({"wrong": str(wrong)})
    except (TypeError, ValueError) as error:
        return json.dumps({"wrong": explained(error)})
    head = f"{'':14}{'runs/s':>11}{'runs/s':>11}{'requests/s':>11}{'runs that':>11}\n"
    head += f"{'':14}{'before':>11}{'at the end':>11}{'at most':>11}{'gave up':>11}"
    text = "\n".join([head, *(run.row() for run in runs)])
    return json.dumps({"picture": "".join(drawn(runs, length)), "text": text})


def simulated(program: Any, clients: int, length: float, schedule: Any) -> Outcome:
    """Run many clients of the program against the server of the crash, with an outage."""
    outages = [Outage(BEGIN, length)] if length else []
    return simulate(
        program,
        SlowingServer().serves(Command),
        clients=clients,
        think=10,
        seconds=SECONDS,
        outages=outages,
        schedule=schedule,
    )


LEFT, TOP, WIDTH, HEIGHT = 44.0, 64.0, 470.0, 150.0
STYLE = """
  .page { fill: #ffffff } text { fill: #1f2328; font: 15px system-ui, sans-serif }
  .head { font-weight: 600 } .key { font-size: 13px } .end { text-anchor: end }
  .quiet { fill: #59636e } .row { stroke: #d1d9e0 } .down { fill: #59636e; opacity: .18 }
  .yours { stroke: #0550ae; fill: none; stroke-width: 2.5 } .dot { fill: #0550ae }
  .hasty { stroke: #953800; fill: none; stroke-width: 2.5; stroke-dasharray: 6 4 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #131416 } text { fill: #f0f6fc } .quiet { fill: #9198a1 }
    .row { stroke: #3d444d } .yours { stroke: #79c0ff } .dot { fill: #79c0ff }
    .hasty { stroke: #ffa657 }
  }
"""


def headline(runs: Sequence[Run]) -> str:
    """Return a sentence about the picture."""
    yours, hasty = (run.recovered for run in runs)
    if yours and hasty:
        return "The service recovers with both"
    if yours:
        return "With your waits the service recovers; 0.1 s each keeps it down"
    return "The service stays down: it needs a deeper ladder, or longer waits"


def drawn(runs: Sequence[Run], length: float) -> Iterator[str]:
    """Draw the runs that succeed, over time."""
    curves = [means(run.outcome) for run in runs]
    most = max(1.0, *(max(curve) for curve in curves))
    step = next(one for one in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if most / one <= 5)
    top = TOP + HEIGHT
    scale = HEIGHT / (step * (int(most / step) + 1))
    size = f"{LEFT + WIDTH + 86:g} {top + 44:g}"
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">'
    yield f"<title>{headline(runs)}</title><style>{STYLE}</style>"
    yield '<rect class="page" width="100%" height="100%"/>'
    yield f'<text class="head" x="12" y="24">{headline(runs)}</text>'
    yield '<text class="key quiet" x="12" y="46">runs that succeed, per second</text>'
    for tick in range(0, int(most) + step, step):
        y = top - tick * scale
        yield f'<path class="row" d="M{LEFT:g} {y:.1f}h{WIDTH:g}"/>'
        yield f'<text class="key quiet end" x="{LEFT - 6:g}" y="{y + 4:.1f}">{tick}</text>'
    if length:
        wide = WIDTH * length / SECONDS
        yield f'<rect class="down" x="{x(BEGIN):.1f}" y="{TOP:g}" width="{wide:.1f}" '
        yield f'height="{HEIGHT:g}"/>'
        yield f'<text class="key quiet" x="{x(BEGIN) + 4:.1f}" y="{TOP + 14:g}">down</text>'
    for seconds in range(0, SECONDS + 1, 30):
        yield f'<text class="key quiet end" x="{x(seconds) + 8:.1f}" y="{top + 18:g}">'
        yield f"{seconds}</text>"
    yield f'<text class="key quiet end" x="{LEFT + WIDTH:g}" y="{top + 36:g}">seconds</text>'
    for kind, curve in zip(("hasty", "yours"), reversed(curves), strict=True):
        points = [(x(SPAN * (i + 0.5)), top - mean * scale) for i, mean in enumerate(curve)]
        yield f'<path class="{kind}" d="M{" L".join(f"{a:.1f} {b:.1f}" for a, b in points)}"/>'
        if kind == "yours":
            yield from (f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in points)
    yield from labels(runs, [top - curve[-1] * scale for curve in curves])
    yield "</svg>"


def labels(runs: Sequence[Run], ends: list[float]) -> Iterator[str]:
    """Label the curves at their ends, without overlaps."""
    yours, hasty = ends
    if abs(yours - hasty) < 18:
        hasty = yours + 18 if hasty >= yours else yours - 18
    for run, y in zip(runs, (yours, hasty), strict=True):
        yield f'<text class="key" x="{LEFT + WIDTH + 6:g}" y="{y + 4:.1f}">{run.name}</text>'


def means(outcome: Outcome) -> list[float]:
    return [
        outcome.rate(lambda second: second.well, begin, begin + SPAN)
        for begin in range(0, SECONDS, SPAN)
    ]


def x(seconds: float) -> float:
    return LEFT + WIDTH * seconds / SECONDS
