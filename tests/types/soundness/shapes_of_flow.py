"""Programs that loops, branches, lists and coroutines make."""

from __future__ import annotations

from .arithmetic import Step
from .making import Maker, Part, annotation

THEN = (">>",)


def loops(make: Maker) -> Part:
    """A `for` loop that makes a program longer, on one rung."""
    part = make.begun()
    times = make.random.randint(0, 3)
    body, after = make.repeated(part, times)
    make.write(
        f"program: {annotation(part.start, part.rung)} = {part.text}",
        f"for _ in range({times}):",
        f"    program = {body.text}",
    )
    return make.closing(after.named("program", ready=True))


def while_loops(make: Maker) -> Part:
    """A `while` loop that makes a program longer, with a `break` in it."""
    part = make.begun()
    times = make.random.randint(1, 3)
    body, after = make.repeated(part, times)
    make.write(
        f"program: {annotation(part.start, part.rung)} = {part.text}",
        "turns = 0",
        "while True:",
        f"    program = {body.text}",
        "    turns += 1",
        f"    if turns == {times}:",
        "        break",
    )
    return make.closing(after.named("program", ready=True))


def comprehensions(make: Maker) -> Part:
    """A list of programs that a comprehension makes, joined in a loop."""
    part = make.begun()
    times = make.random.randint(1, 3)
    inner = make.branch(part.rung, part.rung)
    make.write(
        f"rest = [{inner.text} for _ in range({times})]",
        f"program: {annotation(part.start, part.rung)} = {part.text}",
        "for one_more in rest:",
        "    program = program >> one_more",
    )
    for _ in range(times):
        part = make.joined(part, make.stays(inner, part.rung), THEN)
    return make.closing(part.named("program", ready=True))


def reduced_lists(make: Maker) -> Part:
    """A list of programs on one rung, joined by `functools.reduce`."""
    part = make.begun()
    kind = annotation(part.rung, part.rung)
    rest = [make.branch(part.rung, part.rung) for _ in range(make.random.randint(1, 3))]
    texts = ", ".join(one_more.text for one_more in rest)
    make.write(
        f"rest: list[{kind}] = [{texts}]",
        "joined = reduce(lambda before, after: before >> after, rest)",
    )
    whole = make.stays(rest[0], part.rung)
    for one_more in rest[1:]:
        whole = make.joined(whole, make.stays(one_more, part.rung), THEN)
    return make.closing(make.joined(part, whole.named("joined", ready=True)))


def generators_of_programs(make: Maker) -> Part:
    """A generator that yields programs, which a loop joins."""
    part = make.begun()
    kind = annotation(part.rung, part.rung)
    rest = [make.branch(part.rung, part.rung) for _ in range(make.random.randint(1, 3))]
    make.write(
        f"def rest() -> Iterator[{kind}]:",
        *(f"    yield {one_more.text}" for one_more in rest),
        f"program: {annotation(part.start, part.rung)} = {part.text}",
        "for one_more in rest():",
        "    program = program >> one_more",
    )
    for one_more in rest:
        part = make.joined(part, make.stays(one_more, part.rung), THEN)
    return make.closing(part.named("program", ready=True))


def match_statements(make: Maker) -> Part:
    """Branches of a `match`, of which one is taken."""
    first, second = make.pieces(2)
    others = [make.branch(second.start, second.rung), make.branch(second.start, second.rung)]
    make.write(
        f"def rest() -> {annotation(second.start, second.rung)}:",
        "    match number():",
        "        case 0:",
        f"            return {others[0].text}",
        "        case 1:",
        f"            return {second.text}",
        "        case _:",
        f"            return {others[1].text}",
    )
    return make.joined(first, make.chosen("rest()", second, *others))


def conditional_expressions(make: Maker) -> Part:
    """The two sides of a conditional expression."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    kind = annotation(second.start, second.rung)
    sides = (second, other) if make.chance(0.5) else (other, second)
    condition = "flag()" if sides[0] is second else "not flag()"
    make.write(f"rest: {kind} = {sides[0].text} if {condition} else {sides[1].text}")
    return make.joined(first, make.chosen("rest", second, other).named("rest", ready=True))


def early_returns(make: Maker) -> Part:
    """A function that returns one program or another."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    make.write(
        f"def rest() -> {annotation(second.start, second.rung)}:",
        "    if not flag():",
        f"        return {other.text}",
        f"    return {second.text}",
    )
    return make.joined(first, make.chosen("rest()", second, other))


def optional_programs(make: Maker) -> Part:
    """A program that may be missing, and another one for that case."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    kind = annotation(second.start, second.rung)
    make.write(
        f"def found() -> {kind} | None:",
        f"    return {second.text} if flag() else None",
        "rest = found()",
        "if rest is None:",
        f"    rest = {other.text}",
    )
    return make.joined(first, make.chosen("rest", second, other).named("rest", ready=True))


def narrowed_unions(make: Maker) -> Part:
    """A program or a command, told apart by `isinstance`."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    kind = annotation(second.start, second.rung)
    make.write(
        f"def rest(given: {kind} | Download) -> {kind}:",
        "    if isinstance(given, Program):",
        "        return given",
        f"    return {other.text}",
    )
    return make.joined(first, make.chosen(f"rest({second.text})", second, other))


def exceptions(make: Maker) -> Part:
    """A program that is chosen when something fails while programs are put together."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    make.write(
        f"rest: {annotation(second.start, second.rung)}",
        "try:",
        '    int("one")',
        f"    rest = {other.text}",
        "except ValueError:",
        f"    rest = {second.text}",
    )
    return make.joined(first, make.chosen("rest", second, other).named("rest", ready=True))


def dictionaries(make: Maker) -> Part:
    """A program that is looked up in a dictionary."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    kind = annotation(second.start, second.rung)
    make.write(
        f'programs: dict[str, {kind}] = {{"rest": {second.text}, "other": {other.text}}}',
    )
    chosen = make.chosen("rest", second, other.named("other", ready=True))
    return make.joined(first, chosen.named('programs["rest"]', ready=True))


def lists(make: Maker) -> Part:
    """A program in a list, by its index or unpacked."""
    first, second = make.pieces(2)
    other = make.branch(second.start, second.rung)
    make.write(
        f"rest: list[{annotation(second.start, second.rung)}] = [{second.text}, {other.text}]",
        "begun, *others = rest",
    )
    text = make.random.choice(("begun", "rest[0]", "[*others, *rest][1]"))
    chosen = make.chosen("begun", second, other.named("other", ready=True))
    return make.joined(first, chosen.named(text, ready=True))


def do_notation(make: Maker) -> Part:
    """Attempts as generator functions, which loop and catch failures between their commands."""
    part = make.begun()
    times = make.random.randint(1, 3)
    step = Step("retry", times)
    issued = "one"
    if make.errs("a retry in a retry"):
        inner = make.chain(1, 0)
        issued = inner.text
        step = Step("retry", piece=inner.piece, late=True)
    make.write(
        "@attempt",
        "def made(times: int) -> Do[Row, None]:",
        "    for _ in range(times):",
        f"        yield from {issued}",
    )
    if part.rung and make.errs("open at its run"):
        return part
    return make.joined(part, make.retried(part.rung, f"made({times})", step))


def runs_that_are_awaited(make: Maker) -> Part:
    """A program that `run_async` runs."""
    make.awaited = True
    first, second = make.pieces(2)
    return make.joined(first, make.variable("rest", second))


def coroutines(make: Maker) -> Part:
    """Coroutine functions that return programs."""
    make.asynchronous = make.awaited = True
    pair = make.pair("one", "two")
    make.write(
        f"async def beginning() -> {pair.one}:",
        f"    return {pair.first.text}",
        f"async def rest() -> {pair.two}:",
        f"    return {pair.second.text}",
        "begun = await beginning()",
        "going_on = await rest()",
    )
    second = pair.second.named("going_on", ready=True)
    return make.joined(pair.first.named("begun", ready=True), second)


def functions_of_any_start(make: Maker) -> Part:
    """A function for programs that start anywhere and end on one rung."""
    first, second = make.pieces(2)
    joined = make.joined(first, second)
    kind = annotation("I", joined.rung)
    make.write(f"def kept(program: {kind}) -> {kind}:", "    return program")
    return joined.named(f"kept({joined.text})")
