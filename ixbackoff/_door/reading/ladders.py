"""Explanations of steps that a program cannot take: a wait too many, a run above N0."""

from __future__ import annotations

from ..._words.rungs import DEEPEST
from ..amounts import counted
from .explanation import Explanation, Sketch
from .methods import DOWN, RUNS
from .printed import FOREVER, Standing, is_program, shown, standing, with_names
from .shapes import Seen


def sentence_of_an_overload(seen: Seen) -> Explanation | None:
    """Explain an overload whose only argument has a sentence for a name, and accepts no value."""
    if seen.sort != "missing":
        return None
    if seen.argument.startswith("no_wait_is_left"):
        return no_wait_left(seen.method, None)
    if seen.argument.startswith("it_is_open"):
        return open_program(None)
    if seen.argument.startswith("only_retry_resume"):
        return without_end(f".{seen.method}()" if seen.method else "this step")
    return None


def wrong_self(seen: Seen) -> Explanation | None:
    """Explain the error of ty and pyrefly, which name the type of the program, not an overload."""
    if seen.sort != "argument" or not is_program(seen.it) or not is_program(seen.wanted):
        return None
    ends = shown(seen.it).inner[1]
    if seen.method in RUNS:
        return open_program(standing(seen.it))
    if seen.method in DOWN:
        if ends == FOREVER:
            return without_end(f".{seen.method}()")
        stands = standing(seen.it)
        return None if stands is None or stands.end else no_wait_left(seen.method, stands)
    return None


def uncertain(seen: Seen) -> Explanation | None:
    """Explain the error of mypy for a program that may end on one of several rungs."""
    inner = shown(seen.it).inner
    if seen.sort != "self" or not is_program(seen.it) or len(inner) < 2:
        return None
    ends = with_names(f"[{inner[1]}]")[1:-1]
    if " | " in ends:
        return Explanation(
            "another-program",
            f"This program ends at {ends.replace(' | ', ' or ')}, so .{seen.method}(...) does not "
            "fit every way through it.",
            "Let all branches end on one rung: go down with .skip() in the higher ones.",
        )
    stands = standing(seen.it)
    if stands is not None:
        return open_program(stands) if seen.method in RUNS else no_wait_left(seen.method, stands)
    return Explanation(
        "no-wait-left",
        f"The program ends at {ends}, which may be N0, where no wait is left.",
        "Declare a program that ends at Succ[N], with N = TypeVar('N', bound=Nat).",
    )


def no_wait_left(
    method: str, stands: Standing | None, by_steps: bool | None = None, in_a_loop: bool = False
) -> Explanation:
    """Explain a wait at N0.

    Args:
        method: the step.
        stands: where the program starts and ends, if known.
        by_steps: whether it came down to N0 by steps, rather than by a retry, if known.
        in_a_loop: whether the step is in a loop.
    """
    step = f".{method}()" if method else "this step"
    began = "" if stands is None else f", which started at N{stands.start},"
    if by_steps is False:
        fix = f"Leave {step} out: .retry(...) and .end() go down to N0 from any rung."
    elif in_a_loop:
        fix = "Write .retry(...): a loop cannot repeat a step that goes down."
    elif by_steps is None or stands is None or stands.start == DEEPEST:
        fix = f"Leave {step} out, or start on a higher rung if no .retry(...) is before it."
    else:
        fix = f"Start it at N{stands.start + 1}, or leave {step} out."
    return Explanation(
        "no-wait-left",
        f"No wait is left: {step} goes one rung down, and the program{began} is at N0.",
        fix,
        None if stands is None else Sketch(stands.start, 0),
    )


def open_program(stands: Standing | None) -> Explanation:
    ends, left = "above N0", "it could still wait"
    if stands is not None:
        ends, left = f"at N{stands.end}", f"{counted(stands.end, 'wait', 'waits')} would be left"
    return Explanation(
        "open-program",
        f"A program runs only if it ends at N0, and this one ends {ends}: {left}.",
        "End it with .end(), or go down with .retry(...).",
        None if stands is None else Sketch(*stands),
    )


def without_end(step: str) -> Explanation:
    return Explanation(
        "ladder-without-end",
        f"A ladder without end has no next rung, so {step} cannot go down from FOREVER.",
        "Leave it with .retry(...), .resume(...), .retry_with(...) or .end(); or start at N20.",
    )
