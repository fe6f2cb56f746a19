"""Explanations of mistakes on the ladder: a wait too many, the wrong rung, an open end."""

from __future__ import annotations

import re
from typing import NamedTuple

from .explanation import Drawn, Explanation, counted
from .printed import (
    FOREVER,
    UNKNOWN,
    Standing,
    answer,
    depth,
    described,
    is_function,
    is_program,
    members,
    shown,
    standing,
    with_names,
)
from .shapes import Seen

DOWN = ("backoff", "wait", "skip")
RUNS = ("run", "run_async")
DEEPEST = 20
Inner = tuple[str, ...]


def sentence_of_an_overload(seen: Seen) -> Explanation | None:
    """The name of an argument that nobody can give is a sentence."""
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
    """ty and pyrefly do not choose an overload, and say that the program does not fit."""
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
    """mypy chooses no overload for a program that may end on one of several rungs."""
    inner = shown(seen.it).inner
    if seen.sort != "self" or not is_program(seen.it) or len(inner) < 2:
        return None
    ends = with_names(f"[{inner[1]}]")[1:-1]
    if " | " in ends:
        return Explanation(
            "another-program",
            f"This program ends at {ends.replace(' | ', ' or ')}, so .{seen.method}(...) does not "
            "fit every way through it.",
            "Let all branches end on one rung: the higher ones go down with .skip().",
        )
    stands = standing(seen.it)
    if stands is not None:
        return open_program(stands) if seen.method in RUNS else no_wait_left(seen.method, stands)
    return Explanation(
        "no-wait-left",
        f"The program ends at {ends}, which may be N0, so it is not known that a wait is left.",
        "Declare a program that ends at Succ[N], with N = TypeVar('N', bound=Nat).",
    )


def no_wait_left(
    method: str, stands: Standing | None, by_steps: bool | None = None, in_a_loop: bool = False
) -> Explanation:
    """Explain a wait at N0, which the program may have come down to by steps or by a retry."""
    step = f".{method}()" if method else "this step"
    began = "" if stands is None else f", which began at N{stands.start},"
    if by_steps is False:
        fix = f"Leave {step} out: .retry(...) and .give_up() go down to N0, from whichever rung."
    elif in_a_loop:
        fix = "Write .retry(...): a loop cannot repeat a step that goes down."
    elif by_steps is None or stands is None or stands.start == DEEPEST:
        fix = f"Leave {step} out, or start on a higher rung if no .retry(...) stands before it."
    else:
        fix = f"Start it at N{stands.start + 1}, or leave {step} out."
    return Explanation(
        "no-wait-left",
        f"No wait is left: {step} goes one rung down, and the program{began} is at N0.",
        fix,
        None if stands is None else Drawn(stands.start, 0),
    )


def open_program(stands: Standing | None) -> Explanation:
    ends, left = "above N0", "it could still wait"
    if stands is not None:
        ends, left = f"at N{stands.end}", f"{counted(stands.end, 'wait')} would be left"
    return Explanation(
        "open-program",
        f"Only a program that has come down to N0 runs, and this one ends {ends}: {left}.",
        "End it with .give_up(), or go down with .retry(...).",
        None if stands is None else Drawn(*stands),
    )


def without_end(step: str) -> Explanation:
    return Explanation(
        "ladder-without-end",
        f"A ladder without end has no next rung, so {step} cannot go down from FOREVER.",
        "Leave it with .retry(...), .resume(...), .vary(...) or .give_up(); or start at N20.",
    )


def joined(seen: Seen) -> Explanation | None:
    """Two programs that do not meet."""
    if seen.sort != "join" or not is_program(seen.it):
        return None
    if not is_program(seen.wanted):
        return not_joined(seen)
    ends, starts = shown(seen.it).inner[1], shown(seen.wanted).inner[0]
    if FOREVER in (ends, starts):
        return foreign(ends, starts)
    first, second = standing(seen.it), standing(seen.wanted)
    if first is None or depth(starts) is None:
        return None
    return apart(first, second.start if second else int(depth(starts) or 0), "the second")


def foreign(ends: str, starts: str) -> Explanation | None:
    """A ladder without end and one with an end."""
    if ends == starts:
        return None
    first, second = (with_names(f"[{one}]")[1:-1] for one in (ends, starts))
    return Explanation(
        "ladder-without-end",
        f"The first ends at {first}, the second starts at {second}: a ladder without end joins "
        "no other.".replace("Forever", "FOREVER"),
        "Put both into one attempt, or run one after the other.",
    )


def apart(first: Standing, starts: int, where: str) -> Explanation | None:
    """Two programs of which the second does not start where the first ends."""
    start, end = first
    if end == starts:
        return None
    said = f"The first ends at N{end}, the second starts at N{starts}"
    ladder = Drawn(start, end, starts)
    if starts < end:
        return Explanation(
            "jumps-down",
            f"{said}: {counted(end - starts, 'rung')} would be passed over without a word.",
            f"Write at(N{end}) for at(N{starts}) in {where}, or go down before it with "
            f"{'.give_up()' if not starts else '.skip()' * (end - starts)}.",
            ladder,
        )
    if not end:
        return Explanation(
            "goes-up",
            f"{said}: the second would begin a ladder of its own, with short waits.",
            "Put both into one attempt and retry that: at(N3).retry(do(first).then(lambda _: "
            "second)); or run the two one after the other.",
            ladder,
        )
    higher = starts - end + start
    instead = f"start the first at N{higher}, " if higher <= DEEPEST else ""
    return Explanation(
        "goes-up",
        f"{said}: the ladder would start again with short waits.",
        f"Write at(N{end}) for at(N{starts}) in {where}, {instead}or put both into one attempt.",
        ladder,
    )


def joined_by_a_method(seen: Seen) -> Explanation | None:
    """pyrefly reports the method of the operator, and not where the first program starts."""
    if seen.sort != "argument" or seen.method not in ("__rshift__", "__or__"):
        return None
    if not (is_program(seen.it) and is_program(seen.wanted)):
        return None
    starts, stands = depth(shown(seen.it).inner[0]), depth(shown(seen.wanted).inner[0])
    if starts is None or stands is None or starts == stands:
        return None
    return Explanation(
        "goes-up" if starts > stands else "jumps-down",
        f"The first ends at N{stands}, and the second starts at N{starts}.",
        f"Write at(N{stands}) for at(N{starts}) in the second.",
        Drawn(stands, stands, starts),
    )


def not_joined(seen: Seen) -> Explanation | None:
    if not seen.wanted:
        return None
    step = ".do(...)" if seen.method == ">>" else ".or_else(...)"
    return Explanation(
        "not-a-program",
        f"{seen.method} joins two programs, and {with_names(seen.wanted)} is not one.",
        f"Write {step} for a command or an attempt, or start with at(...).",
    )


def joined_without_a_program(seen: Seen) -> Explanation | None:
    """A command or an attempt at the left of `>>`."""
    if seen.sort != "join" or seen.method not in (">>", "|") or is_program(seen.it):
        return None
    step = ".then(lambda _: ...)" if seen.method == ">>" else ".or_else(...)"
    if seen.method == "|" and not is_program(seen.wanted) and not seen.it.startswith("Attempt["):
        return None
    return Explanation(
        "not-a-program",
        f"{seen.method} joins two programs, and {with_names(seen.it)} is not one.",
        f"Write do(...){step} for commands and attempts, or start with at(...).",
    )


def bound(seen: Seen) -> Explanation | None:
    """A function for `bind` that makes no program, or one on another rung."""
    if seen.sort not in ("argument", "value"):
        return None
    if seen.sort == "argument" and seen.method not in ("bind", "or_bind"):
        return None
    it, wanted = answer(seen.it), answer(seen.wanted)
    if not is_program(wanted) or (seen.sort == "value" and shown(wanted).inner[1] not in UNKNOWN):
        return None
    method = seen.method or "bind"
    then = "then" if method == "bind" else "or_else"
    if seen.sort == "argument" and not is_function(seen.it):
        return Explanation(
            "not-a-program",
            f".{method}(...) takes a function that makes a program, and this is "
            f"{described(seen.it)}.",
            f"Write .{method}(lambda _: ...); or join a program with >> or |.",
        )
    if not is_program(it):
        return Explanation(
            "not-a-program",
            f".{method}(...) goes on with a program, and this function gives {it}.",
            f"Write .{then}(...) for a command or an attempt, or start a program with at(...).",
        )
    starts, stands = depth(shown(it).inner[0]), depth(shown(wanted).inner[0])
    if starts is None or stands is None or starts == stands:
        return None
    return Explanation(
        "goes-up" if starts > stands else "jumps-down",
        f"The program stands at N{stands} here, and that of the function starts at N{starts}.",
        f"Write at(N{stands}) for at(N{starts}) in the function.",
        Drawn(stands, stands, starts),
    )


def not_a_rung(seen: Seen) -> Explanation | None:
    """An argument that is not a rung, or not that of the program."""
    if seen.sort not in ("argument", "value") or shown(seen.wanted).name != "Rung":
        return None
    wanted = depth(shown(seen.wanted).inner[0]) if shown(seen.wanted).inner else None
    given = re.fullmatch(r"type\[(.*)\]", seen.it)
    it = depth(given[1] if given else seen.it)
    if wanted is not None and it is not None:
        return Explanation(
            "goes-up" if it > wanted else "jumps-down",
            f"The program stands at N{wanted} here, and not at N{it}.",
            f"Write N{wanted} for N{it}, as in at(N{wanted}).",
            Drawn(wanted, wanted, it),
        )
    name = method_of(seen)
    if name not in ("at", "backoff"):
        name = ""
    if is_function(seen.it) and name != "at":
        return Explanation(
            "not-a-rung",
            "backoff is told the most waits before it is put on a function.",
            "Write @backoff(N3).",
        )
    number = re.search(r"\d+", seen.it)
    rung = f"N{number[0]}" if number and int(number[0]) <= DEEPEST else "N3"
    return Explanation(
        "not-a-rung",
        f"A rung is one of N0 to N20, or FOREVER, and this is {described(seen.it)}.",
        f"Write {name}({rung}), which waits {rung[1:]} times at most."
        if name
        else "Give a rung by its name, such as N3.",
    )


def without_a_rung(seen: Seen) -> Explanation | None:
    if seen.sort != "missing" or seen.argument != "rung":
        return None
    name = seen.method or "at"
    return Explanation(
        "not-a-rung",
        f"{name}(...) is told the most waits, as a rung.",
        f"Write {name}(N3), which waits 3 times at most.",
    )


def method_of(seen: Seen) -> str:
    """The name of the function, which pyright says in its type variables only."""
    variable = re.search(r"@(\w+)", seen.wanted)
    return seen.method or (variable[1] if variable else "")


class Differs(NamedTuple):
    """A part of a type that differs, and what to do."""

    said: str
    fix: str


def another_program(seen: Seen) -> Explanation | None:
    """A program where a program of another type is wanted."""
    if not (is_program(seen.it) and is_program(seen.wanted)):
        return None
    it, wanted = shown(seen.it).inner, shown(seen.wanted).inner
    rungs = [*rung_differs(it, wanted, 0, "starts"), *rung_differs(it, wanted, 1, "ends")]
    row = row_differs(it, wanted)
    differs = [*rungs, *row] or value_differs(it, wanted)
    if not differs:
        return None
    stands, ends = standing(seen.it), depth(wanted[1]) if len(wanted) > 1 else None
    ladder = None
    if stands is not None and ends is not None and stands.end != ends:
        ladder = Drawn(*stands, ends, "the type says here")
    return Explanation(
        "row-too-narrow" if row and not rungs else "another-program",
        f"This program {', and '.join(one.said for one in differs)}.",
        " ".join(one.fix for one in differs),
        ladder,
    )


def rung_differs(it: Inner, wanted: Inner, at: int, verb: str) -> list[Differs]:
    """Compare where two programs start, or where they end."""
    if len(it) <= at or len(wanted) <= at or it[at] == wanted[at]:
        return []
    if depth(it[at]) is not None and depth(it[at]) == depth(wanted[at]):
        return []
    inferred = len(wanted) > 2 and wanted[2] in UNKNOWN
    if wanted[at] in UNKNOWN and (inferred or wanted[at] not in ("Nat", "Never")):
        return []
    here, there = (with_names(f"[{one[at]}]")[1:-1] for one in (it, wanted))
    fix = moved(verb, depth(it[at]), depth(wanted[at]), there)
    return [Differs(f"{verb} at {here}, not at {there}", fix)]


def row_differs(it: Inner, wanted: Inner) -> list[Differs]:
    """Find the commands that a type does not name."""
    if len(it) < 4 or len(wanted) < 4 or (wanted[3] in UNKNOWN and wanted[3] != "Never"):
        return []
    more = [one for one in members(it[3]) if one not in members(wanted[3])]
    if not more:
        return []
    row = " | ".join([*members(wanted[3]), *more])
    said = f"may issue {' and '.join(more)}, which the type does not name"
    return [Differs(said, f"Declare the commands {row}.")]


def value_differs(it: Inner, wanted: Inner) -> list[Differs]:
    if len(it) < 3 or len(wanted) < 3 or it[2] == wanted[2]:
        return []
    fix = "Change the value with .map(...), or the type."
    return [Differs(f"has the value {it[2]}, not {wanted[2]}", fix)]


def moved(verb: str, here: int | None, there: int | None, name: str) -> str:
    """Say how to come from a rung to the one that is wanted."""
    if verb == "starts":
        return f"Start it with at({name}), or declare another type."
    if here is None or there is None:
        return "Declare the rung where it ends."
    if here > there:
        down = ".give_up()" if not there else ".skip()" * (here - there)
        return f"Go down with {down}, or declare N{here}."
    return (
        f"Declare N{here}. A step only goes down, so a loop cannot repeat one that waits: "
        ".retry(...) tries again."
    )


def another_rung(seen: Seen) -> Explanation | None:
    """A rung where another one is wanted."""
    pattern = r"type\[(.*)\]"
    it, wanted = re.fullmatch(pattern, seen.it), re.fullmatch(pattern, seen.wanted)
    if seen.sort != "value" or it is None or wanted is None:
        return None
    given = depth(it[1])
    if given is None or not re.match(r"Succ|Z$|Nat|Never|N\d+$", wanted[1]):
        return None
    return Explanation(
        "another-program",
        f"The rung here is N{given}, and the type says {with_names(f'[{wanted[1]}]')[1:-1]}.",
        f"Declare type[N{given}], or give the rung that is declared.",
    )


def not_a_type(seen: Seen) -> Explanation | None:
    """A type of a program or of a rung that is written wrongly."""
    if seen.sort == "parameter" and (seen.owner or seen.method) in ("Program", "Succ", "Rung"):
        return Explanation(
            "not-a-rung",
            f"{seen.it} is not a rung, so {seen.owner or seen.method}[...] cannot hold it.",
            "Write one of N0 to N20; in a generic function, TypeVar('N', bound=Nat).",
        )
    if seen.sort == "bare" and seen.owner == "Succ":
        return Explanation(
            "not-a-rung",
            "Succ alone says one rung above an unknown one.",
            "Write one of N0 to N20.",
        )
    if seen.sort in ("bare", "count") and seen.owner == "Program":
        return Explanation(
            "another-program",
            "Program has two rungs, where it starts and where it ends, then its value and its "
            "commands.",
            "Write Program[N3, N0, str, Download | Delay].",
        )
    return None
