"""Programs in classes: what their methods return, and what their instances hold."""

from __future__ import annotations

from .making import Maker, Part, above, annotation

THEN = (">>",)
OPERATORS = (">>", "|")


def methods(make: Maker) -> Part:
    """Methods that return programs, of which one calls another."""
    pair = make.pair("one", "kind")
    make.write(
        "class Source:",
        f"    def first(self) -> {pair.one}:",
        f"        return {pair.first.text}",
        f"    def whole(self) -> {pair.kind}:",
        f"        return self.first() >> {pair.second.text}",
    )
    return pair.joined.named("Source().whole()")


def attributes(make: Maker) -> Part:
    """A program that a constructor keeps."""
    pair = make.pair("two")
    make.write(
        "class Source:",
        f"    def __init__(self, rest: {pair.two}) -> None:",
        "        self.rest = rest",
        f"source = Source({pair.second.text})",
    )
    return make.joined(pair.first, pair.second.named("source.rest", ready=True))


def class_and_static_methods(make: Maker) -> Part:
    """A class method and a static method that return programs."""
    pair = make.pair("one", "two")
    make.write(
        "class Source:",
        "    @classmethod",
        f"    def first(cls) -> {pair.one}:",
        f"        return {pair.first.text}",
        "    @staticmethod",
        f"    def second() -> {pair.two}:",
        f"        return {pair.second.text}",
    )
    return make.joined(pair.first.named("Source.first()"), pair.second.named("Source().second()"))


def properties(make: Maker) -> Part:
    """A property that is a program."""
    pair = make.pair("two")
    make.write(
        "class Source:",
        "    @property",
        f"    def rest(self) -> {pair.two}:",
        f"        return {pair.second.text}",
        "source = Source()",
    )
    return make.joined(pair.first, pair.second.named("source.rest"))


def descriptors(make: Maker) -> Part:
    """A descriptor that gives a program."""
    pair = make.pair("two")
    make.write(
        "class Rest:",
        f"    def __get__(self, instance: object, owner: object) -> {pair.two}:",
        f"        return {pair.second.text}",
        "class Source:",
        "    rest = Rest()",
    )
    return make.joined(pair.first, pair.second.named("Source().rest"))


def callable_objects(make: Maker) -> Part:
    """An object that is called with a program."""
    pair = make.pair("one", "kind")
    make.write(
        "class GoingOn:",
        f"    def __call__(self, program: {pair.one}) -> {pair.kind}:",
        f"        return program >> {pair.second.text}",
        "going_on = GoingOn()",
    )
    return pair.joined.named(f"going_on({pair.first.text})")


def dataclass_fields(make: Maker) -> Part:
    """Programs as fields of a dataclass."""
    pair = make.pair("one", "two")
    make.write(
        "@dataclass(frozen=True)",
        "class Pair:",
        f"    first: {pair.one}",
        f"    second: {pair.two}",
        f"pair = Pair({pair.first.text}, {pair.second.text})",
    )
    first = pair.first.named("pair.first", ready=True)
    return make.joined(first, pair.second.named("pair.second", ready=True))


def named_tuples(make: Maker) -> Part:
    """Programs in a `NamedTuple`, by name and by unpacking."""
    pair = make.pair("one", "two")
    make.write(
        "class Pair(NamedTuple):",
        f"    first: {pair.one}",
        f"    second: {pair.two}",
        f"pair = Pair({pair.first.text}, {pair.second.text})",
        "first, second = pair",
    )
    first = pair.first.named("first", ready=True)
    return make.joined(first, pair.second.named("pair.second", ready=True))


def typed_dicts(make: Maker) -> Part:
    """Programs in a `TypedDict`."""
    pair = make.pair("one", "two")
    make.write(
        "class Pair(TypedDict):",
        f"    first: {pair.one}",
        f"    second: {pair.two}",
        f'pair: Pair = {{"first": {pair.first.text}, "second": {pair.second.text}}}',
    )
    first = pair.first.named('pair["first"]', ready=True)
    return make.joined(first, pair.second.named('pair["second"]', ready=True))


def generic_classes(make: Maker) -> Part:
    """A class that is generic in the rungs of the program that it holds."""
    first, second = make.pieces(2)
    make.write(
        "class Held(Generic[I, O]):",
        f"    def __init__(self, program: {annotation('I', 'O')}) -> None:",
        "        self.program = program",
        f"    def going_on(self, rest: {annotation('O', 'J')}) -> Held[I, J]:",
        "        return Held(self.program >> rest)",
    )
    text = f"Held({first.text}).going_on({second.text}).program"
    return make.joined(first, second, THEN).named(text)


def generic_builders(make: Maker) -> Part:
    """A generic class with a method that is only for those rungs that are high enough."""
    part = make.begun()
    body = make.body(make.drop(part.rung), "self.program")
    drop, piece = make.promised(body)
    make.write(
        "class Held(Generic[I, O]):",
        f"    def __init__(self, program: {annotation('I', 'O')}) -> None:",
        "        self.program = program",
        f"    def lower(self: Held[I, {above('N', drop)}]) -> Held[I, N]:",
        f"        return Held({body.text})",
    )
    text = f"Held({part.text}).lower().program"
    return make.closing(make.applied(part, text, piece))


def generic_dataclasses(make: Maker) -> Part:
    """A generic dataclass of two programs that fit."""
    first, second = make.pieces(2)
    make.write(
        "@dataclass(frozen=True)",
        "class Pair(Generic[I, J, O]):",
        f"    first: {annotation('I', 'J')}",
        f"    second: {annotation('J', 'O')}",
        f"    def joined(self) -> {annotation('I', 'O')}:",
        "        return self.first >> self.second",
    )
    joined = make.joined(first, second, THEN)
    return joined.named(f"Pair({first.text}, {second.text}).joined()")


def abstract_classes(make: Maker) -> Part:
    """A method that is abstract in a base class and written in a class below it."""
    first, second = make.pieces(2)
    narrow, second = make.declared(second)
    wide, second = make.declared(second)
    make.write(
        "class Base(ABC):",
        "    @abstractmethod",
        f"    def rest(self) -> {wide}: ...",
        "class Source(Base):",
        f"    def rest(self) -> {narrow}:",
        f"        return {second.text}",
        "base: Base = Source()",
    )
    return make.joined(first, second.named("base.rest()"))


def callable_protocols(make: Maker) -> Part:
    """A function seen as a protocol that is called with a program."""
    pair = make.pair("one", "kind")
    given = annotation(pair.first.start, pair.first.rung)
    make.write(
        "class GoesOn(Protocol):",
        f"    def __call__(self, program: {pair.one}, /) -> {pair.kind}: ...",
        f"def going_on(program: {given}, /) -> {pair.kind}:",
        f"    return program >> {pair.second.text}",
        "step: GoesOn = going_on",
    )
    return pair.joined.named(f"step({pair.first.text})")


def protocols_of_attributes(make: Maker) -> Part:
    """An object seen as a protocol that has a program."""
    pair = make.pair("one", "two")
    make.write(
        "class HasRest(Protocol):",
        "    @property",
        f"    def rest(self) -> {pair.two}: ...",
        "@dataclass",
        "class Source:",
        f"    rest: {annotation(pair.second.start, pair.second.rung)}",
        f"source: HasRest = Source({pair.second.text})",
        f"first: {pair.one} = {pair.first.text}",
    )
    first = pair.first.named("first", ready=True)
    return make.joined(first, pair.second.named("source.rest", ready=True), OPERATORS)


def context_managers(make: Maker) -> Part:
    """A program that a context manager gives."""
    pair = make.pair("one", "two")
    make.write(
        "@contextmanager",
        f"def ladder() -> Iterator[{pair.one}]:",
        f"    yield {pair.first.text}",
        "with ladder() as begun:",
        "    pass",
        f"rest: {pair.two} = {pair.second.text}",
    )
    first = pair.first.named("begun", ready=True)
    return make.joined(first, pair.second.named("rest", ready=True))
