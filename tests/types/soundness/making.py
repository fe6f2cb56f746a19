"""Random pieces of programs, as text and as what they mean, with one mistake or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from .arithmetic import ENDING, FOREVER, JOINING, ON, WIDER, Piece, Step

HIGHEST = 18
"""Where the programs start at most: pyright cannot always tell N19 from N20."""

TOLD_APART = 16
"""The highest rung that pyright tells from others as an argument: see `forgeries/accepted.md`."""

RARE = ("a wrong branch", "a descent in a loop")
"""Mistakes for which only some shapes have a place."""

MISTAKES = (
    "going up",
    "jumping down",
    "one wait too many",
    "a retry in a retry",
    "open at its run",
    "a wrong annotation",
    "standing elsewhere",
    *RARE,
)

EFFECTS = {
    "one": (1, ""),
    "two": (2, ""),
    "some(3)": (3, ""),
    "do(one)": (1, ""),
    "do(one).then(lambda _: two)": (3, ""),
    "do(two).map(lambda value: value)": (2, ""),
    "do(one).guarded(calm)": (1, ""),
    "all_of(one, two).map(drop)": (3, "all"),
    "all_of(one, one, one, two, one, one, one).map(drop)": (8, "all"),
    "all_of(one, two, one, do(one), one, one, some(2), one).map(drop)": (10, "all"),
    "all_of([one, one]).map(drop)": (2, "all"),
    "first_of([one, one, one], start=0).map(drop)": (3, "first"),
}
"""The effects that programs try; how many commands each issues, and `Step.how`."""


@dataclass(frozen=True)
class Part:
    """A piece of a program as an expression.

    Attributes:
        text: the expression.
        piece: what it means.
        rung: where it ends, as the one who writes on believes.
    """

    text: str
    piece: Piece
    rung: int

    def longer(self, text: str, step: Step, rung: int) -> Part:
        """This part and one step more."""
        return Part(text, self.piece.then(step), rung)

    def named(self, text: str, ready: bool = False) -> Part:
        """The same by another expression: a variable, where it is `ready`, or a call."""
        inner = Step("inline", piece=self.piece)
        return replace(self, text=text, piece=Piece(self.piece.start, (inner,), ready=ready))

    @property
    def start(self) -> int:
        """The rung where it starts."""
        return self.piece.start


class Pair(NamedTuple):
    """Two parts, what they make together, and the types of the three."""

    first: Part
    second: Part
    joined: Part
    one: str
    two: str
    kind: str


def name_of(rung: int) -> str:
    """How a rung is written."""
    return "FOREVER" if rung == FOREVER else f"N{rung}"


def begins_at(rung: int) -> Part:
    """A part without steps."""
    return Part(f"at({name_of(rung)})", Piece(rung), rung)


def annotation(start: int | str, end: int | str) -> str:
    """The type of a program from one rung, or its name, to another."""
    first, last = (rung if isinstance(rung, str) else name_of(rung) for rung in (start, end))
    return f"Program[{first}, {last}, None, Row]"


def above(name: str, count: int) -> str:
    """The rung so many above the one of this name."""
    return name if count == 0 else f"Succ[{above(name, count - 1)}]"


class Maker:
    """Writes one program: its lines, and parts for its last expression.

    It makes the mistake that it is told to make, if it comes to a place for it: `mistake` is then
    `None`.

    Attributes:
        lines: what is written before the last expression.
        asynchronous: whether the lines await something.
        awaited: whether the program is run by `run_async`.
    """

    def __init__(self, seed: str, mistake: str | None) -> None:
        self.random = Random(seed)  # noqa: S311
        self.mistake = mistake
        self.patience = self.random.choice((0, 0, 1, 2))
        self.lines: list[str] = []
        self.asynchronous = False
        self.awaited = False
        self.nesting = 0

    def errs(self, mistake: str) -> bool:
        """Whether the mistake is made here."""
        if self.mistake != mistake:
            return False
        self.patience -= 1
        if self.patience >= 0:
            return False
        self.mistake = None
        return True

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def write(self, *lines: str) -> None:
        """Lines before the last expression."""
        self.lines += lines

    # Parts

    def top(self) -> int:
        """Where a program starts: one in ten high up, one in twenty on a ladder without end."""
        if self.chance(0.05):
            return FOREVER
        low, high = (15, HIGHEST) if self.chance(0.1) else (0, 5)
        return self.random.randint(low, high)

    def rungs(self, count: int) -> list[int]:
        """Where so many parts start and the last one ends, descending to the last rung."""
        rungs = [self.top()]
        for _ in range(count - 1):
            rungs.append(self.lower(rungs[-1], 0, 1, 1, 2))
        last = rungs[-1]
        if last and self.errs("open at its run"):
            return [
                *rungs,
                last if last == FOREVER else self.random.randint(max(last - 3, 1), last),
            ]
        return [*rungs, 0]

    def lower(self, rung: int, *drops: int) -> int:
        """A rung so far below; from a ladder without end, the last one."""
        drop = self.random.choice(drops)
        if drop and rung == FOREVER:
            return 0
        return max(rung - drop, 0)

    def other(self, rung: int) -> int:
        """Another rung, next to this one or on a ladder without end."""
        if rung == FOREVER:
            return self.random.randint(0, 3)
        if self.chance(0.1):
            return FOREVER
        return rung - 1 if rung and self.chance(0.5) else rung + 1

    def pieces(self, count: int) -> list[Part]:
        """Chains of which each starts where the one before it ends, down to the last rung."""
        top, *ends = self.rungs(count)
        parts = [self.chain(top, ends[0])]
        for end in ends[1:]:
            start = self.following(parts[-1].rung)
            parts.append(self.chain(start, min(start, end)))
        return parts

    def chain(self, start: int, end: int) -> Part:
        """A chain from one rung to another."""
        return self.down(begins_at(start), end)

    def chain_at(self, rung: int) -> Part:
        """A chain that stays on one rung."""
        part = begins_at(rung)
        return self.staying(part) if self.chance(0.7) else part

    def down(self, part: Part, end: int) -> Part:
        """A part and some steps more, which end at a rung."""
        for _ in range(self.random.randint(0, 2)):
            part = self.staying(part)
        if part.rung == FOREVER and self.errs("one wait too many"):
            part = self.descending(part)
        while part.rung > end:
            if self.nesting < 2 and self.chance(0.15):
                part = self.joining(part, end)
            elif part.rung == FOREVER or (end == 0 and (part.rung > 4 or self.chance(0.4))):
                part = self.ending(part)
            else:
                part = self.descending(part)
            if self.chance(0.4):
                part = self.staying(part)
        if end == 0 and self.errs("one wait too many"):
            part = self.descending(part)
        return part

    def following(self, rung: int) -> int:
        """Where a part starts that follows one that ends at `rung`."""
        if rung != FOREVER and self.errs("going up"):
            if self.chance(0.1):
                return FOREVER
            return rung + (self.random.randint(1, 3) if rung < 5 else 1)
        if rung and self.errs("jumping down"):
            if rung == FOREVER:
                return self.other(rung)
            return self.random.randint(max(rung - 3, 0), rung - 1)
        return rung

    # Steps

    def staying(self, part: Part) -> Part:
        """A part and a step that stays on its rung."""
        if self.nesting < 2 and self.chance(0.1):
            return self.joining(part, part.rung)
        if self.errs("standing elsewhere"):
            return self.said(part, self.told_apart(part.rung))
        kind = self.random.choice(("do", "do", "then", "map", "or_else", "or_else", "at"))
        if kind == "at":
            return self.said(part, part.rung)
        if kind == "map":
            return part.longer(f"{part.text}.map(lambda value: value)", Step("map"), part.rung)
        return self.trying(part, kind, part.rung)

    def said(self, part: Part, rung: int) -> Part:
        """A part and a step that says where it stands."""
        text = f"{part.text}.at({name_of(rung)})"
        return part.longer(text, Step("at", says=(rung, rung)), rung)

    def told_apart(self, rung: int) -> int:
        """Another rung, which every type checker tells from this one."""
        other = self.other(rung)
        return min(other, TOLD_APART) if TOLD_APART < rung < FOREVER != other else other

    def descending(self, part: Part) -> Part:
        """A part and a step that goes one rung down."""
        kind = self.random.choice(("backoff", "backoff", "wait", "skip"))
        on = self.on() if kind == "backoff" else ""
        rung = part.rung if part.rung == FOREVER else max(part.rung - 1, 0)
        return part.longer(f"{part.text}.{kind}({on})", Step(kind, on=on), rung)

    def ending(self, part: Part) -> Part:
        """A part and a step that goes down to the last rung."""
        kind = self.random.choice((*ENDING, "retry"))
        if kind == "end":
            return part.longer(f"{part.text}.end()", Step(kind), 0)
        return self.trying(part, kind, 0)

    def trying(self, part: Part, kind: str, rung: int) -> Part:
        """A part and a step that tries an effect; or a program, by mistake."""
        on = self.on() if kind in ("or_else", *ENDING) else ""
        if self.errs("a retry in a retry"):
            effect, step = self.nested(kind, on)
        else:
            effect = self.random.choice(list(EFFECTS))
            commands, how = EFFECTS[effect]
            step = Step(kind, commands, on, how=how)
        if kind in ("then", "retry_with"):
            effect = f"lambda _: {effect}"
        given = ", ".join(filter(None, (effect, on)))
        return part.longer(f"{part.text}.{kind}({given})", step, rung)

    def nested(self, kind: str, on: str) -> tuple[str, Step]:
        """A program where an effect has to be."""
        start = self.random.randint(0, 2)
        inner = self.chain(start, self.random.choice((0, start)))
        late = kind in ("then", "retry_with")
        if self.chance(0.3):
            return f"do({inner.text})", Step(kind, on=on, piece=inner.piece, late=late)
        if late or self.chance(0.5):
            return inner.text, Step(kind, on=on, piece=inner.piece, late=late)
        name = f"nested_{len(self.lines)}"
        self.write(
            "@attempt",
            f"def {name}() -> Do[Row, None]:",
            f"    yield from {inner.text}",
        )
        return f"{name}()", Step(kind, on=on, piece=inner.piece, late=True)

    def joining(self, part: Part, end: int) -> Part:
        """A part and a chain that it goes on with, which ends at `end` or above."""
        self.nesting += 1
        start = self.following(part.rung)
        end = min(start, self.random.choice((end, start)))
        joined = self.joined(part, self.chain(start, end))
        self.nesting -= 1
        return joined

    def joined(self, first: Part, second: Part, kinds: tuple[str, ...] = JOINING) -> Part:
        """One part that goes on with another."""
        kind = self.random.choice(kinds)
        if kind in (">>", "|"):
            text = f"({first.text} {kind} {second.text})"
            return first.longer(text, Step(kind, piece=second.piece), second.rung)
        return self.bound(first, kind, second, f"lambda _: {second.text}")

    def bound(
        self,
        first: Part,
        kind: str,
        second: Part,
        function: str,
        says: tuple[int, int] | None = None,
    ) -> Part:
        """One part that goes on with what a function makes, which may have an annotation."""
        on = self.on() if kind == "or_bind" else ""
        step = Step(kind, on=on, piece=second.piece, late=True, says=says or (WIDER, WIDER))
        given = ", ".join(filter(None, (function, on)))
        return first.longer(f"{first.text}.{kind}({given})", step, second.rung)

    def on(self) -> str:
        """Which failures a step is for, as its last argument."""
        return self.random.choice(list(ON)) if self.chance(0.2) else ""

    # What many shapes need

    def declared(self, part: Part) -> tuple[str, Part]:
        """The annotation of a part; and the part, which is as it says or, by mistake, is not."""
        kind, declared = annotation(part.start, part.rung), (part.start, part.rung)
        if self.errs("a wrong annotation"):
            kind, declared = self.lie(part.start, part.rung)
        inner = Step("inline", piece=part.piece)
        piece = Piece(part.start, (inner,), declared=declared)
        rung = part.rung if declared[1] == WIDER else declared[1]
        return kind, Part(part.text, piece, rung)

    def lie(self, start: int, end: int) -> tuple[str, tuple[int, int]]:
        """An annotation that is not true: another rung, or a type that is wider than one."""
        first, last = start, end
        next_to = f"{name_of(end)} | {name_of(self.other(end))}"
        wider = self.random.choice(("Nat", "N0 | N1", next_to, ""))
        if wider:
            if self.chance(0.5):
                return annotation(start, wider), (start, WIDER)
            return annotation(wider, end), (WIDER, end)
        if self.chance(0.5):
            last = self.other(end)
        else:
            first = self.other(start)
        return annotation(first, last), (first, last)

    def variable(self, name: str, part: Part, annotated: bool | None = None) -> Part:
        """A part by the name of a variable, with an annotation or without one."""
        if self.chance(0.5) if annotated is None else annotated:
            kind, part = self.declared(part)
            self.write(f"{name}: {kind} = {part.text}")
        else:
            self.write(f"{name} = {part.text}")
        return part.named(name, ready=True)

    def function(self, name: str, part: Part, parameters: str = "", given: str = "") -> Part:
        """A part by the call of a function that returns it."""
        kind, part = self.declared(part)
        self.write(f"def {name}({parameters}) -> {kind}:", f"    return {part.text}")
        return part.named(f"{name}({given})")

    def branch(self, start: int, end: int) -> Part:
        """A chain with these rungs; or, by mistake, with other ones."""
        if self.errs("a wrong branch"):
            start, end = self.elsewhere(start, end)
        return self.chain(start, end)

    def elsewhere(self, start: int, end: int) -> tuple[int, int]:
        """Other rungs, from one of which a chain can come down to the other."""
        first, last = start, end
        while (
            (first, last) == (start, end) or last > first or (first == FOREVER and 0 < last < first)
        ):
            first = self.random.choice((start, self.other(start)))
            last = self.random.choice((end, self.other(end)))
        return first, last

    def stays(self, part: Part, rung: int) -> Part:
        """A part that is written where one has to be that stays on a rung."""
        inner = Step("inline", piece=part.piece)
        return Part(part.text, Piece(part.start, (inner,), declared=(rung, rung)), rung)

    def retried(self, rung: int, effect: str, step: Step) -> Part:
        """The program that retries an effect from a rung on."""
        start = self.following(rung)
        return begins_at(start).longer(f"at({name_of(start)}).retry({effect})", step, 0)

    def chosen(self, text: str, taken: Part, *others: Part) -> Part:
        """The part that is taken, by an expression that has an annotation; others are not."""
        inner = Step("inline", piece=taken.piece)
        beside = tuple(other.piece for other in others)
        declared = (taken.start, taken.rung)
        piece = Piece(taken.start, (inner,), declared=declared, beside=beside)
        return Part(text, piece, taken.rung)

    def begun(self) -> Part:
        """A chain that has not come down to the last rung, or begins there."""
        top = self.top()
        return self.chain(top, self.lower(top, 0, 1, 2))

    def descent(self) -> tuple[Part, Part]:
        """A part that may fail, and one that goes on from there and down."""
        begun = self.begun()
        first = self.trying(begun, "do", begun.rung)
        start = self.following(first.rung)
        return first, self.chain(start, self.lower(start, 0, 1, 1, 2))

    def closing_behind(self, part: Part) -> Part:
        """A part that ends with a function, and what is tried behind it, down to the last rung."""
        if self.chance(0.8):
            part = self.trying(part, "or_else", part.rung)
        return self.closing(part)

    def closing(self, part: Part) -> Part:
        """A part that goes down to the last rung."""
        if part.rung and self.errs("open at its run"):
            return part
        if self.chance(0.5):
            return self.down(part, 0)
        return self.joined(part, self.chain(self.following(part.rung), 0))

    def pair(self, *written: str) -> Pair:
        """Two parts of which one goes on with the other by `>>`, and their types.

        Only those types that are `written` can be wrong.
        """
        first, second = self.pieces(2)
        one, two = annotation(first.start, first.rung), annotation(second.start, second.rung)
        if "one" in written:
            one, first = self.declared(first)
        if "two" in written:
            two, second = self.declared(second)
        joined = self.joined(first, second, (">>",))
        kind = annotation(joined.start, joined.rung)
        if "kind" in written:
            kind, joined = self.declared(joined)
        return Pair(first, second, joined, one, two, kind)

    def repeated(self, part: Part, times: int) -> tuple[Part, Part]:
        """The body of a loop behind `part`, and the part that it has become behind the loop."""
        body = self.staying(Part("program", Piece(part.rung), part.rung))
        if self.errs("a descent in a loop"):
            body = self.descending(body)
        piece = Piece(part.rung, (Step("inline", piece=body.piece),), (part.rung, part.rung))
        return body, part.longer("program", Step("inline", piece=piece, times=times), part.rung)

    def body(self, drop: int, name: str = "program") -> Part:
        """Steps behind `name`, a program of any rung that is so high: they go as far down."""
        part = Part(name, Piece(drop), drop)
        while part.rung:
            part = self.descending(part)
            if self.chance(0.4):
                part = self.trying(part, self.random.choice(("do", "then", "or_else")), part.rung)
        if self.errs("one wait too many"):
            part = self.descending(part)
        return part if drop else self.trying(part, "do", 0)

    def drop(self, rung: int) -> int:
        """How far down a generic step goes from `rung`; by mistake, farther than it can."""
        if rung == FOREVER:
            return self.random.randint(1, 2) if self.errs("one wait too many") else 0
        if rung <= 2 and self.errs("one wait too many"):
            return rung + 1
        return self.random.randint(0, min(rung, 2))

    def promised(self, body: Part) -> tuple[int, Piece]:
        """How far down a generic function says that it goes; by mistake, not as its body does."""
        drop = body.piece.start
        if self.errs("a wrong annotation"):
            drop = drop - 1 if drop and self.chance(0.5) else drop + 1
        return drop, Piece(drop, body.piece.steps)

    def applied(self, part: Part, text: str, body: Piece) -> Part:
        """A generic step behind a part."""
        rung = part.rung if part.rung == FOREVER else max(part.rung - body.start, 0)
        return part.longer(text, Step("generic", piece=body), rung)
