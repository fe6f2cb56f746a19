"""Programs as expressions: chains, variables, joins, and functions that a join takes."""

from __future__ import annotations

from .arithmetic import FOREVER, Step
from .making import Maker, Part, begins_at

BINDS = ("bind", "or_bind")


def a_chain(make: Maker) -> Part:
    """One chain of steps, with lambdas and other chains in it."""
    (part,) = make.pieces(1)
    return part


def new_names(make: Maker) -> Part:
    """A program that grows by a few steps at a time, under a new name each time."""
    top, *ends = make.rungs(3)
    part = make.variable("begun", make.chain(top, top))
    for number, end in enumerate(ends):
        part = make.variable(f"grown_{number}", make.down(part, min(part.rung, end)))
    return part


def joined_variables(make: Maker) -> Part:
    """Variables joined by `>>` and `|`, associated to the left or to the right."""
    first, second, third = (
        make.variable(f"part_{number}", part) for number, part in enumerate(make.pieces(3))
    )
    operators = (">>", "|")
    if make.chance(0.5):
        return make.joined(first, make.joined(second, third, operators), operators)
    return make.joined(make.joined(first, second, operators), third, operators)


def nested_lambdas(make: Maker) -> Part:
    """Lambdas in `bind` and `or_bind`, one within the other."""
    first, second, third = make.pieces(3)
    return make.joined(first, make.joined(second, third, BINDS), BINDS)


def bound_functions(make: Maker) -> Part:
    """Functions by name in `bind` and `or_bind`."""
    first, second, third = make.pieces(3)
    kind, second = make.declared(second)
    make.write(f"def second(_: None) -> {kind}:", f"    return {second.text}")
    joined = make.bound(first, "bind", second, "second", second.piece.declared)
    kind, third = make.declared(third)
    make.write(f"def third(failure: Exception) -> {kind}:", f"    return {third.text}")
    return make.bound(joined, "or_bind", third, "third", third.piece.declared)


def bound_methods(make: Maker) -> Part:
    """A method in `bind`; its annotation says its rungs."""
    first, second = make.descent()
    kind, second = make.declared(second)
    make.write(
        "class Source:",
        f"    def rest(self, _: object) -> {kind}:",
        f"        return {second.text}",
    )
    bind = make.random.choice(BINDS)
    part = make.bound(first, bind, second, "Source().rest", second.piece.declared)
    return make.closing_behind(part)


def annotations_that_no_run_reads(make: Maker) -> Part:
    """A function in `bind`, annotated with a name that only type checkers find."""
    first, second = make.descent()
    kind, second = make.declared(second)
    make.write(
        "class Kinds:",
        f"    Rest: TypeAlias = {kind}",
        "def rest(_: object) -> Kinds.Rest:",
        f"    return {second.text}",
    )
    bind = make.random.choice(BINDS)
    return make.closing_behind(make.bound(first, bind, second, "rest"))


def functions_in_variables(make: Maker) -> Part:
    """A lambda in a variable whose type is a `Callable`, passed to `bind`."""
    first, second = make.pieces(2)
    kind, second = make.declared(second)
    make.write(f"going_on: Callable[[object], {kind}] = lambda _: {second.text}")
    return make.bound(first, "bind", second, "going_on")


def assignment_expressions(make: Maker) -> Part:
    """A part that gets its name within the expression where it is used."""
    first, second = make.pieces(2)
    named = first.named(f"(first := {first.text})")
    joined = make.joined(named, second, (">>", "|"))
    make.write(f"joined = {joined.text}", "del first")
    return joined.named("joined", ready=True)


def functions_at_the_end(make: Maker) -> Part:
    """A piece that ends with a function, joined behind waits that only a failure comes to."""
    top = make.random.randint(2, 5)
    end = make.random.randint(0, 2)
    first = make.staying(begins_at(top))
    while first.rung > end:
        first = first.longer(f"{first.text}.backoff()", Step("backoff"), first.rung - 1)
    second = make.chain_at(make.following(first.rung))
    third = make.closing(make.chain_at(second.rung))
    inner = make.variable("inner", make.joined(second, third, BINDS))
    return make.joined(first, inner, (">>", "|"))


def steps_behind_a_function(make: Maker) -> Part:
    """A function that goes down and may be passed over, and what is tried behind it."""
    first, second = make.descent()
    if make.chance(0.5):
        return make.closing_behind(make.joined(first, second, BINDS))
    kind, second = make.declared(second)
    make.write(f"def going_on(_: object) -> {kind}:", f"    return {second.text}")
    bind = make.random.choice(BINDS)
    part = make.bound(first, bind, second, "going_on", second.piece.declared)
    return make.closing_behind(part)


def rungs_that_are_said(make: Maker) -> Part:
    """A lambda that goes down and may be passed over, and `at`, which says how far."""
    part = make.joined(*make.descent(), BINDS)
    wrong = make.errs("standing elsewhere")
    part = make.said(part, make.told_apart(part.rung) if wrong else part.rung)
    return make.closing_behind(part)


def ladders_without_end(make: Maker) -> Part:
    """A program at `FOREVER`, which only an endless retry or giving up ends."""
    first = make.chain(FOREVER, FOREVER)
    start = make.following(FOREVER)
    second = make.chain(start, make.lower(start, 0, 1))
    return make.closing(make.joined(make.variable("first", first), second))
