"""Programs as expressions: chains, variables, joins, and functions that a join takes."""

from __future__ import annotations

from .arithmetic import Piece, Step
from .making import Maker, Part


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
    binds = ("bind", "or_bind")
    return make.joined(first, make.joined(second, third, binds), binds)


def bound_functions(make: Maker) -> Part:
    """Functions by name in `bind` and `or_bind`."""
    first, second, third = make.pieces(3)
    value = make.function("second", second, "_: None", "None")
    failure = make.function("third", third, "failure: Exception", "failure")
    return make.bound(make.bound(first, "bind", value, "second"), "or_bind", failure, "third")


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
    first = make.staying(Part(f"at(N{top})", Piece(top), top))
    while first.rung > end:
        first = first.longer(f"{first.text}.backoff()", Step("backoff"), first.rung - 1)
    second = make.chain_at(make.following(first.rung))
    third = make.closing(make.chain_at(second.rung))
    inner = make.variable("inner", make.joined(second, third, ("bind", "or_bind")))
    return make.joined(first, inner, (">>", "|"))


def steps_behind_a_function(make: Maker) -> Part:
    """A function that goes down and may be passed over, and what is tried behind it."""
    part = make.begun()
    first = make.trying(part, "do", part.rung)
    start = make.following(first.rung)
    second = make.chain(start, max(start - make.random.randint(1, 2), 0))
    if make.chance(0.5):
        name = "going_on"
        second = make.function(name, second, "_: object", "None")
        part = make.bound(first, make.random.choice(("bind", "or_bind")), second, name)
    else:
        part = make.joined(first, second, ("bind", "or_bind"))
    return make.closing(make.trying(part, "or_else", part.rung))
