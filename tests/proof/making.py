"""Random programs and worlds, each twice: for the calculus, and for the library."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    N4,
    N5,
    Do,
    NotReady,
    Program,
    ServerError,
    Throttled,
    at,
    attempt,
    do,
)
from ixbackoff._words.commands import Misuse

from ..support.ways.programs import Ask
from . import calculus
from .calculus import Asks, Ended, Failure, Outcome, failed, over, well

RUNGS: list[Any] = [N0, N1, N2, N3, N4, N5]
TOP_OF_FOREVER = 20

KINDS: dict[str, Callable[[Failure], BaseException]] = {
    "NotReady": lambda e: NotReady(),
    "Throttled": lambda e: Throttled(e.asked or None),
    "KeyError": lambda e: KeyError("k"),
    "Misuse": lambda e: Misuse("m"),
    "KeyboardInterrupt": lambda e: KeyboardInterrupt(),
}
"""How the library is told of each kind of failure."""

ON: list[tuple[tuple[str, ...], Any]] = [
    (("NotReady", "Throttled"), None),
    (("NotReady",), NotReady),
    (("Throttled",), lambda e: isinstance(e, Throttled)),
    (("NotReady", "Throttled", "KeyError", "Misuse", "SleepError"), Exception),
    (("KeyError",), [KeyError, ServerError]),
]
"""The failures that a step chooses, and `on` as the library is given it; `None` is its default."""

BY_DEFAULT = ON[0]


DEEPEST = 2
"""How deep programs are joined with others."""

ENDING = ("retry", "resume", "retry_with", "end")
"""The steps that end on the last rung."""


class Both(NamedTuple):
    """The same thing for the calculus and for the library."""

    model: Any
    real: Any


def raised(kind: str) -> Exception:
    error = KINDS[kind](Failure(kind))
    assert isinstance(error, Exception)
    return error


def outcome_of(kind: str) -> Outcome:
    return (over if kind == "Misuse" else failed)(Failure(kind))


def chosen(kinds: tuple[str, ...]) -> calculus.On:
    return lambda e: e.kind in kinds


class Node(NamedTuple):
    """An attempt in do-notation: a command, and what it does with what comes of it.

    Attributes:
        name: the name of the command.
        even: what it does when the answer is even, or there is none.
        odd: what it does when it is odd.
        failed: what it does, still inside `except`, when the command fails.
        last: the name of a command of its `finally`, if it has one.
    """

    name: str
    even: Node | str
    odd: Node | str
    failed: Node | str
    last: str = ""


def modelled(
    node: Node | str, value: Any, caught: Outcome | None, context: Failure | None
) -> calculus.Attempt:
    """An attempt in do-notation as a tree; a leaf says how it ends.

    Args:
        node: what is left of it.
        value: the last answer.
        caught: what the `except` caught in which it is, if it stands directly in one.
        context: what the innermost `except` around it caught, which a new failure comes from.
    """
    if isinstance(node, Node):
        return Asks(node.name, lambda o: finished(node, branch(node, o, context)))
    if node == "return":
        return Ended(well(value))
    if node == "raise" and caught is not None:
        return Ended(caught)
    kind = "NotReady" if node == "raise" else node
    return Ended(Outcome("over" if kind == "Misuse" else "failed", Failure(kind, cause=context)))


def branch(node: Node, o: Outcome, context: Failure | None) -> calculus.Attempt:
    if o.state == "well":
        return modelled(node.odd if is_odd(o.it) else node.even, o.it, None, context)
    return modelled(node.failed, None, o, o.it)


def finished(node: Node, x: calculus.Attempt) -> calculus.Attempt:
    """Ask the command of `finally`, however x ends; if that fails, its failure takes over."""
    if not node.last:
        return x
    if isinstance(x, Asks):
        return Asks(x.command, lambda o: finished(node, x.then(o)))
    return Asks(node.last, lambda o: Ended(x.outcome if o.state == "well" else o))


@attempt
def written(node: Node) -> Do[Ask, Any]:
    """The same as a generator function."""
    return (yield from walked(node, None, None))


def walked(node: Node | str, value: Any, caught: BaseException | None) -> Do[Ask, Any]:
    if isinstance(node, Node):
        try:
            try:
                answer: Any = yield from Ask(node.name)
            except BaseException as error:
                return (yield from walked(node.failed, None, error))
            return (yield from walked(node.odd if is_odd(answer) else node.even, answer, None))
        finally:
            if node.last:
                yield from Ask(node.last)
    if node == "return":
        return value
    if node == "raise" and caught is not None:
        raise caught
    raise raised("NotReady" if node == "raise" else node)


class Maker:
    """Makes random parts of programs."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311
        self.names = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def chosen(self) -> tuple[tuple[str, ...], Any]:
        return BY_DEFAULT if self.chance(0.5) else self.random.choice(ON)

    def name(self) -> str:
        self.names += 1
        return f"c{self.names}"

    def command(self) -> Both:
        name = self.name()
        return Both(Asks(name, Ended), Ask(name))

    def effect(self, depth: int = 2) -> Both:
        """A command, a chain, or do-notation."""
        kind = self.random.random()
        if depth == 0 or kind < 0.35:
            return self.command()
        if kind < 0.45:
            x = self.effect(depth - 1)
            if self.chance(0.5):
                return Both(calculus.then_attempt(x.model, odd_or_fails), do(x.real).expect(is_odd))
            g = self.function(self.value)
            return Both(
                calculus.then_attempt(x.model, lambda a: Ended(g.model(a))), do(x.real).map(g.real)
            )
        if kind < 0.55:
            x, f = self.effect(depth - 1), self.function(self.effect, depth - 1)
            return Both(
                calculus.then_attempt(x.model, lambda a: unmade(f.model(a))),
                do(x.real).then(f.real),
            )
        if kind < 0.7:
            x, y = self.effect(depth - 1), self.effect(depth - 1)
            kinds, on = self.chosen()
            return Both(
                calculus.or_else_attempt(x.model, chosen(kinds), y.model),
                do(x.real).or_else(y.real, **given(on)),
            )
        node = self.node(depth)
        return Both(modelled(node, None, None, None), written(node))

    def node(self, depth: int, nested: bool = False) -> Node:
        """Do-notation; inside an `except` another one only returns or raises what it caught.

        (CPython does not always tell what a new failure there came from.)
        """

        def ending(leaves: list[str], inside: bool = nested) -> Node | str:
            deeper = depth and self.chance(0.4)
            return self.node(depth - 1, inside) if deeper else self.random.choice(leaves)

        return Node(
            self.name(),
            ending(["return", "return", "NotReady"]),
            ending(["return", "return", "KeyError", "Misuse"]),
            ending(
                ["raise", "return", *([] if nested else ["NotReady", "Throttled"])], inside=True
            ),
            self.name() if self.chance(0.2) else "",
        )

    def value(self) -> Both:
        return Both(*[self.random.randrange(3)] * 2)

    def function(self, make: Callable[..., Both], *arguments: Any) -> Both:
        """A function that makes one of two things, or raises."""
        even, odd = make(*arguments), make(*arguments)
        raises = self.random.choice(["NotReady", "KeyError", "Misuse"]) if self.chance(0.2) else ""

        def model(value: Any) -> Outcome:
            if raises and is_odd(value):
                return outcome_of(raises)
            return well((odd if is_odd(value) else even).model)

        def real(value: Any) -> Any:
            if raises and is_odd(value):
                raise raised(raises)
            return (odd if is_odd(value) else even).real

        return Both(model, real)

    def program(self, start: int, depth: int, forever: bool = False) -> tuple[Both, int]:
        """A program that starts on this rung, and the rung where its type says that it ends."""
        model = calculus.Program("at", None, start)
        real: Any = at(FOREVER if forever else RUNGS[start])
        rung = start
        ahead: list[str] = []
        several = self.random.randrange(2, 8) if depth == DEEPEST else self.random.randrange(4)
        for _ in range(several):
            endless = forever and rung > 0
            step = ahead.pop() if ahead else self.random.choice(self.steps(rung, depth, endless))
            if step in ENDING and self.chance(0.3):  # it can be tried again behind its end
                ahead = [self.random.choice(ENDING), "or_else"]
            model, real, rung = self.stepped(step, model, real, rung, depth, endless)
        return Both(model, real), rung

    def steps(self, rung: int, depth: int, endless: bool) -> list[str]:
        steps = ["then", "then", "map", "or_else"]
        if rung == 0:
            steps += ["or_else", "or_else", *ENDING]
        elif self.chance(0.6):
            steps.append(self.random.choice(ENDING))
        if rung and not endless:
            steps += ["backoff", "wait", "skip", "backoff", "or_else"]
        if depth and (rung or self.chance(0.4)):
            steps += ["join", "or_join", "bind", "or_bind", "bind"]
        return [*steps, "stands"] if not endless else steps

    def whole(self, start: int, forever: bool) -> Both:
        """A program that can run; often only a retry, if it is on a ladder without end."""
        if forever and self.chance(0.7):
            model, real = calculus.Program("at", None, start), at(FOREVER)
            step = self.random.choice(["retry", "resume", "retry_with"])
            return Both(*self.stepped(step, model, real, start, 0, forever)[:2])
        (model, real), rung = self.program(start, DEEPEST, forever)
        if rung == 0:
            return Both(model, real)
        step = self.random.choice(ENDING)
        return Both(*self.stepped(step, model, real, rung, 0, forever)[:2])

    def stepped(
        self, step: str, model: calculus.Program, real: Any, rung: int, depth: int, endless: bool
    ) -> tuple[calculus.Program, Any, int]:
        """One step more."""
        kinds, on = self.chosen()
        new = calculus.Program
        if step in ("backoff", "wait", "skip"):
            said = given(on) if step == "backoff" else {}
            grown = getattr(real, step)(**said)
            return new(step, model, rung - 1, on=chosen(kinds)), grown, rung - 1
        if step in ("retry", "resume", "retry_with"):
            deep = 3 if step == "resume" else 2  # a failure between two answers
            x = self.function(self.effect) if step == "retry_with" else self.effect(deep)
            grown = getattr(real, step)(x.real, **given(on))
            return new(step, model, 0, x.model, chosen(kinds)), grown, 0
        if step == "end":
            return new(step, model, 0), real.end(), 0
        if step == "stands":
            return new(step, model, rung), real.at(RUNGS[rung]), rung
        if step == "or_else":
            x = self.effect()
            return (
                new(step, model, rung, x.model, chosen(kinds)),
                real.or_else(x.real, **given(on)),
                rung,
            )
        if step == "then":
            if self.chance(0.3):
                x = self.effect()
                return new(step, model, rung, lambda _: well(x.model)), real.do(x.real), rung
            f = self.function(self.effect)
            return new(step, model, rung, f.model), real.then(f.real), rung
        if step == "map":
            f = self.function(self.value)
            return new(step, model, rung, f.model), real.map(f.real), rung
        if step in ("join", "or_join"):
            q, end = self.program(rung, depth - 1, endless)
            on_default = chosen(BY_DEFAULT[0])
            grown = real >> q.real if step == "join" else real | q.real
            return new(step, model, end, q.model, on_default), grown, end
        return self.bound(step, model, real, rung, depth, endless)

    def bound(
        self, step: str, model: calculus.Program, real: Any, rung: int, depth: int, endless: bool
    ) -> tuple[calculus.Program, Any, int]:
        """A function that makes one of two programs, and perhaps says where they end."""
        ends: list[tuple[Both, int]] = [self.program(rung, depth - 1, endless) for _ in range(2)]
        end = min(end for _, end in ends)
        made = iter([lowered(p, rung, end, endless) for p, rung in ends])
        f = self.function(lambda: next(made))
        said = self.chance(0.4) and not endless
        function = annotated(f.real, rung, end) if said else f.real
        kinds, on = self.chosen()
        grown = real.bind(function) if step == "bind" else real.or_bind(function, **given(on))
        return calculus.Program(step, model, end, f.model, chosen(kinds), said), grown, end


def is_odd(value: Any) -> bool:
    return isinstance(value, int) and value % 2 == 1


def odd_or_fails(value: Any) -> calculus.Attempt:
    """The rule of `.expect(is_odd)`."""
    return Ended(well(value) if is_odd(value) else outcome_of("NotReady"))


def unmade(o: Outcome) -> calculus.Attempt:
    """What a function of `then` in an attempt makes; if it raises, the attempt ends so."""
    return o.it if o.state == "well" else Ended(o)


def given(on: Any) -> dict[str, Any]:
    return {} if on is None else {"on": on}


def lowered(p: Both, rung: int, end: int, endless: bool) -> Both:
    """Take a program further down, so that it ends at `end`."""
    model, real = p
    if endless and rung > end:
        return Both(calculus.Program("end", model, 0), real.end())
    for below in range(rung - 1, end - 1, -1):
        model, real = calculus.Program("skip", model, below), real.skip()
    return Both(model, real)


def annotated(function: Callable[[Any], Any], start: int, end: int) -> Callable[[Any], Any]:
    """Annotate a function with the type of the program that it returns."""

    def made(value: Any) -> Any:
        return function(value)

    written: Any = Program
    made.__annotations__["return"] = written[RUNGS[start], RUNGS[end], Any, Any]
    return made
