"""Programs that functions make, take and change."""

from __future__ import annotations

from .arithmetic import WIDER, Piece, Step
from .making import TOLD_APART, Maker, Part, above, annotation, name_of

THEN = (">>",)


def annotated_functions(make: Maker) -> Part:
    """Functions whose annotations say their rungs."""
    first, second = make.pieces(2)
    return make.joined(make.function("first", first), make.function("second", second))


def functions_of_a_program(make: Maker) -> Part:
    """A function that takes a program and goes on with it."""
    pair = make.pair("kind")
    make.write(
        f"def going_on(program: {pair.one}) -> {pair.kind}:",
        f"    return program >> {pair.second.text}",
    )
    return pair.joined.named(f"going_on({pair.first.text})")


def generic_functions(make: Maker) -> Part:
    """A function for a program at every rung that is high enough."""
    part = make.begun()
    body = make.body(make.drop(part.rung))
    drop, piece = make.promised(body)
    make.write(
        f"def lower(program: {annotation('I', above('N', drop))}) -> {annotation('I', 'N')}:",
        f"    return {body.text}",
    )
    return make.closing(make.applied(part, f"lower({part.text})", piece))


def generic_rungs(make: Maker) -> Part:
    """A function of a rung, which returns a program that starts there."""
    rung = make.top()
    body = make.body(make.drop(rung), "at(rung)")
    drop, piece = make.promised(body)
    start = above("N", drop)
    make.write(
        f"def fetch(rung: Rung[{start}]) -> {annotation(start, 'N')}:",
        f"    return {body.text}",
    )
    return make.closing(make.applied(Part("", Piece(rung), rung), f"fetch({name_of(rung)})", piece))


def generic_endings(make: Maker) -> Part:
    """A function that brings a program at any rung down to the last one."""
    part = make.begun()
    body = make.ending(Part("program", part.piece, part.rung))
    make.write(
        f"def closed(program: {annotation('I', 'O')}) -> {annotation('I', 'Z')}:",
        f"    return {body.text}",
    )
    if part.rung and make.errs("open at its run"):
        return part
    return Part(f"closed({part.text})", body.piece, 0)


def generic_joins(make: Maker) -> Part:
    """A function that joins two programs of any rungs that fit."""
    first, second = make.pieces(2)
    joined = make.joined(first.named("first", ready=True), second.named("second", ready=True))
    make.write(
        "def join(",
        f"    first: {annotation('I', 'J')}, second: {annotation('J', 'O')}",
        f") -> {annotation('I', 'O')}:",
        f"    return {joined.text}",
    )
    return joined.named(f"join({first.text}, {second.text})")


def partial_functions(make: Maker) -> Part:
    """A function that `functools.partial` has given its first argument."""
    pair = make.pair("one", "two", "kind")
    make.write(
        f"def going_on(rest: {pair.two}, program: {pair.one}) -> {pair.kind}:",
        "    return program >> rest",
        f"filled = partial(going_on, {pair.second.text})",
    )
    return pair.joined.named(f"filled({pair.first.text})")


def star_arguments(make: Maker) -> Part:
    """Two programs in a tuple, which a call spreads out."""
    pair = make.pair("one", "two", "kind")
    make.write(
        f"def going_on(program: {pair.one}, rest: {pair.two}) -> {pair.kind}:",
        "    return program >> rest",
        f"both = ({pair.first.text}, {pair.second.text})",
    )
    return pair.joined.named("going_on(*both)")


def any_number_of_arguments(make: Maker) -> Part:
    """A function that joins as many programs as it is given, all of them on one rung."""
    part = make.begun()
    kind = annotation(part.rung, part.rung)
    make.write(
        f"def going_on(program: {annotation(part.start, part.rung)}, *rest: {kind})"
        f" -> {annotation(part.start, part.rung)}:",
        "    for one_more in rest:",
        "        program = program >> one_more",
        "    return program",
    )
    rest = [make.branch(part.rung, part.rung) for _ in range(make.random.randint(1, 3))]
    texts = ", ".join(one_more.text for one_more in rest)
    text = f"going_on({part.text}, {texts})"
    for one_more in rest:
        part = make.joined(part, make.stays(one_more, part.rung), THEN)
    return make.closing(part.named(text))


def keyword_arguments(make: Maker) -> Part:
    """Programs as keyword-only arguments."""
    pair = make.pair("one", "two", "kind")
    make.write(
        f"def going_on(*, program: {pair.one}, rest: {pair.two}) -> {pair.kind}:",
        "    return program >> rest",
    )
    text = f"going_on(rest={pair.second.text}, program={pair.first.text})"
    return pair.joined.named(text)


def default_arguments(make: Maker) -> Part:
    """A program that is the default of a parameter."""
    pair = make.pair("one", "two", "kind")
    make.write(
        f"def going_on(program: {pair.one}, rest: {pair.two} = {pair.second.text}) -> {pair.kind}:",
        "    return program >> rest",
    )
    return pair.joined.named(f"going_on({pair.first.text})")


def nested_functions(make: Maker) -> Part:
    """A function within a function."""
    pair = make.pair("two", "kind")
    make.write(
        f"def outer() -> {pair.kind}:",
        f"    def inner() -> {pair.two}:",
        f"        return {pair.second.text}",
        f"    return {pair.first.text} >> inner()",
    )
    return pair.joined.named("outer()")


def closures(make: Maker) -> Part:
    """A function that returns one which goes on with the program that the outer one was given."""
    pair = make.pair("one", "two", "kind")
    make.write(
        f"def followed_by(rest: {pair.two}) -> Callable[[{pair.one}], {pair.kind}]:",
        f"    def going_on(program: {pair.one}) -> {pair.kind}:",
        "        return program >> rest",
        "    return going_on",
    )
    return pair.joined.named(f"followed_by({pair.second.text})({pair.first.text})")


def callbacks(make: Maker) -> Part:
    """A lambda for a parameter whose type is a `Callable`."""
    pair = make.pair("one", "kind")
    make.write(
        f"def used(step: Callable[[{pair.one}], {pair.kind}], program: {pair.one}) -> {pair.kind}:",
        "    return step(program)",
    )
    return pair.joined.named(
        f"used(lambda program: program >> {pair.second.text}, {pair.first.text})"
    )


def decorators(make: Maker) -> Part:
    """A decorator that goes down behind the program that a function returns."""
    part = make.begun()
    body = make.body(make.drop(part.rung))
    drop, piece = make.promised(body)
    given, kind = annotation("I", above("N", drop)), annotation("I", "N")
    make.write(
        f"def lowering(function: Callable[P, {given}]) -> Callable[P, {kind}]:",
        "    @wraps(function)",
        f"    def lower(*args: P.args, **kwargs: P.kwargs) -> {kind}:",
        "        program = function(*args, **kwargs)",
        f"        return {body.text}",
        "    return lower",
        "@lowering",
    )
    part = make.function("decorated", part, "times: int", "times=1")
    return make.closing(make.applied(part, part.text, piece))


def workflows(make: Maker) -> Part:
    """A program that a workflow makes: a function under `@durable`."""
    pair = make.pair("two")
    make.write(
        '@durable(name="rest")',
        f"def rest() -> {pair.two}:",
        f"    return {pair.second.text}",
    )
    return make.joined(pair.first, pair.second.named("rest()"))


def retried_functions(make: Maker) -> Part:
    """The program of a call with retries; by mistake, on a rung that a setting chooses."""
    first = make.begun()
    start = make.following(first.rung)
    piece = Piece(start, (Step("retry", 1),))
    rung = name_of(start)
    if start <= TOLD_APART and make.errs("a wrong annotation"):
        piece = Piece(start, (Step("inline", piece=piece),), declared=(WIDER, 0))
        other = name_of(make.other(start))
        if make.chance(0.5):
            make.write(f"kinds: list[type[Nat]] = [{rung}, {other}]")
            rung = "kinds[0]"
        else:
            rung = f"{rung} if flag() else {other}"
    options = make.random.choice(("", ", on=is_transient", ", nested='once'"))
    make.write(f"retrying = backoff({rung}{options})")
    return make.joined(first, Part("retrying.program(ask)", piece, 0))


def recursion(make: Maker) -> Part:
    """A function that calls itself with the program and some steps more, on the same rung."""
    part = make.begun()
    times = make.random.randint(0, 3)
    body, after = make.repeated(part, times)
    kind = annotation(part.start, part.rung)
    make.write(
        f"def again(program: {kind}, times: int) -> {kind}:",
        "    if times == 0:",
        "        return program",
        f"    return again({body.text}, times - 1)",
    )
    return make.closing(after.named(f"again({part.text}, {times})"))


def overloads(make: Maker) -> Part:
    """A function with an overload for each of two parts."""
    pair = make.pair("one", "two")
    make.write(
        "@overload",
        f'def part(which: Literal["first"]) -> {pair.one}: ...',
        "@overload",
        f'def part(which: Literal["second"]) -> {pair.two}: ...',
        f"def part(which: str) -> {pair.one} | {pair.two}:",
        '    if which == "first":',
        f"        return {pair.first.text}",
        f"    return {pair.second.text}",
    )
    return make.joined(pair.first.named('part("first")'), pair.second.named('part("second")'))
