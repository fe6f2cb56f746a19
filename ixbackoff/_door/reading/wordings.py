"""The wordings of the messages of five type checkers, as patterns, and a parser of messages."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


class Parsed(NamedTuple):
    """The parts of a message; a part that the message does not have is ""."""

    kind: str  # the kind of the error, as in `WORDINGS`
    method: str  # the function, method or operator
    owner: str  # the class of the method, or the class that the message names
    got: str  # the type, or the name, that the checker found
    wanted: str  # the type that the checker expected
    argument: str  # the name of an argument or of an attribute


def pattern_of(text: str, quote: str) -> re.Pattern[str]:
    """Make a pattern from a wording; `quote` is the checker's quotation mark around types."""
    for name in ("GOT", "WANTED", "ARGUMENT"):
        text = text.replace(name, f"{quote}(?P<{name.lower()}>[^{quote}]+){quote}")
    owner = r"(?:[\w.]*?(?P<owner>\w+)\.)?" if quote == "`" else r"(?:[\w.]+\.)?"
    method = rf"{quote}{owner}(?P<method>\w+){quote}"
    return re.compile(text.replace("METHOD", method))


OF = r'METHOD(?: of "(?P<owner>\w+)")?'
QUOTED = (
    # mypy and zuban
    ("missing", rf"Too few arguments for {OF}"),
    ("missing", rf"Missing (?:named|positional) arguments? ARGUMENT.* (?:for|in call to) {OF}"),
    ("surplus", rf"Unexpected keyword argument ARGUMENT for {OF}"),
    ("surplus", rf"Too many (?:positional )?arguments for {OF}"),
    (
        "argument",
        rf'Argument (?:\d+|ARGUMENT) to {OF} has incompatible type "?(?P<got>[^"]+)"?; '
        "expected WANTED",
    ),
    ("self", r"Invalid self argument GOT to attribute function METHOD"),
    ("overload", rf"No overload variant of {OF} matches argument types? (?P<got>.+)"),
    ("overload", r"All overload variants of METHOD require at least one argument"),
    ("join", r"Unsupported operand types for (?P<method>\S+) \(GOT and WANTED\)"),
    ("join", r"Unsupported left operand type for (?P<method>\S+) \(GOT\)"),
    ("value", r"Incompatible return value type \(got GOT, expected WANTED\)"),
    ("value", r"\(expression has type GOT, (?:variable|target) has type WANTED\)"),
    ("value", r"Argument \d+ to <\w+> has incompatible type GOT; expected WANTED"),
    ("value", r'Dict entry \d+ has incompatible type "[^"]+": GOT; expected "[^"]+": WANTED'),
    ("value", r"(?:List|Set) item \d+ has incompatible type GOT; expected WANTED"),
    ("yielded", r"\"yield from\" can't be applied to GOT"),
    ("yielded", r'"yield(?: from)?" \(actual type GOT, expected type WANTED\)'),
    ("attribute", r'GOT has no attribute "(?P<argument>\w+)"'),
    ("unsolved", r'Cannot infer value of type parameter "E" of METHOD'),
    ("name", r'Name "(?P<got>N\d+)" is not defined'),
    ("name", r'Module "ixbackoff" has no attribute "(?P<got>N\d+)"'),
    ("inherited", r"Cannot inherit from final class GOT"),
    ("overridden", r"Cannot override final attribute ARGUMENT"),
    (
        "answer",
        r"Return type GOT of METHOD incompatible with return type WANTED in supertype "
        r'"ixbackoff\._words\.commands\.Command"',
    ),
    ("set", r'Property ARGUMENT defined in "(?P<owner>\w+)" is read-only'),
    ("made", r"Cannot instantiate (?:protocol|abstract) class GOT"),
    ("parameter", r'Type argument GOT of "(?P<owner>\w+)" must be a subtype of "Nat"'),
    ("parameter", r'Value of type variable ARGUMENT of METHOD(?: of "\w+")? cannot be GOT'),
    ("bare", r'Missing type (?:arguments|parameters) for generic type "(?P<owner>\w+)"'),
    ("count", r'"(?P<owner>\w+)" expects (?:between \d+ and )?\d+ type arguments?, but'),
    # pyright
    ("missing", r"Arguments? missing for parameters? ARGUMENT"),
    ("missing", r"Expected \d+ more positional argument"),
    ("overload", r"No overloads for METHOD match"),
    ("attribute", r"GOT cannot be used with .* implement (?P<argument>__\w+__)"),
    ("surplus", r"No parameter named ARGUMENT"),
    ("surplus", r"Expected \d+ positional arguments?$"),
    (
        "argument",
        r"Argument of type GOT cannot be assigned to parameter ARGUMENT of type WANTED"
        r"(?: in function METHOD)?",
    ),
    ("join", r'Operator "(?P<method>\S+)" not supported for types GOT and WANTED'),
    ("value", r"Type GOT is not assignable to (?:declared type|return type|type) WANTED"),
    ("yielded", r"GOT is not iterable"),
    (
        "yielded",
        r'compatible with "Generator\[(?P<got>[^,]+), .* is not assignable to '
        r'"Generator\[(?P<wanted>[^,]+),',
    ),
    ("attribute", r"Cannot access attribute ARGUMENT for class GOT"),
    ("name", r'"(?P<got>N\d+)" is (?:not defined|unknown import symbol)'),
    ("inherited", r"Base class GOT is marked final"),
    ("bare", r'Expected type arguments for generic class "(?P<owner>\w+)"'),
    ("count", r'(?:Too few|Too many|Expected .*) type arguments .*"(?P<owner>\w+)'),
)
TICKED = (
    # ty
    (
        "argument",
        r"Argument (?:to (?:bound method |function )?METHOD )?is incorrect: "
        "Expected WANTED, found GOT",
    ),
    (
        "parameter",
        r"Argument to bound method METHOD is incorrect: Argument type GOT does not satisfy",
    ),
    ("missing", r"No arguments? provided for required parameters? ARGUMENT(?:.* of .*METHOD)?"),
    ("surplus", r"Argument ARGUMENT does not match any known parameter(?: of .*METHOD)?"),
    ("surplus", r"Too many positional arguments(?: to .*METHOD|:)"),
    (
        "join",
        r"Operator `(?P<method>\S+)` is not supported between objects of type GOT and WANTED",
    ),
    ("value", r"Return type does not match returned value: expected WANTED, found GOT"),
    ("value", r"Object of type GOT is not assignable to WANTED"),
    ("yielded", r"Object of type GOT is not iterable"),
    ("attribute", r"(?:Object of (?:type|class)|Function|Class) GOT has no attribute ARGUMENT"),
    ("attribute", r"GOT cannot be used with .* implement `(?P<argument>__\w+__)`"),
    ("overload", r"No overload of (?:bound method |function )?METHOD matches"),
    ("made", r"Cannot instantiate GOT (?:with unimplemented|because)"),
    ("name", r"Name `(?P<got>N\d+)` used when not defined"),
    ("name", r"Module `ixbackoff` has no member `(?P<got>N\d+)`"),
    ("inherited", r"cannot inherit from final class GOT"),
    # pyrefly
    (
        "argument",
        r"Argument GOT is not assignable to parameter ARGUMENT with type WANTED in function METHOD",
    ),
    (
        "option",
        r"No matching overload found for function METHOD called with arguments: "
        r"\((?P<got>.*?)\)(?: Possible overloads.*)?$",
    ),
    ("parameter", r"GOT is not assignable to upper bound"),
    ("missing", r"Missing (?:positional |keyword )?argument ARGUMENT in function METHOD"),
    ("surplus", r"Unexpected keyword argument ARGUMENT in function METHOD"),
    ("surplus", r"Expected argument `\w+` to be passed by name in function METHOD"),
    ("surplus", r"Expected .* positional arguments?, got .* in function METHOD"),
    ("join", r"`(?P<method>\S+)` is not supported between GOT and WANTED"),
    ("value", r"Returned type GOT is not assignable to declared return type WANTED"),
    ("value", r"GOT is not assignable to (?:variable `\w+` with type )?WANTED"),
    ("yielded", r"yield from value must be iterable, got GOT"),
    ("name", r"Could not (?:find name|import) `(?P<got>N\d+)`"),
    ("inherited", r"Cannot extend final class GOT"),
    ("attribute", r"Cannot use GOT as a context (?P<argument>)manager"),
)
WORDINGS = {'"': QUOTED, "`": TICKED}


@cache
def patterns(quote: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, pattern_of(wording, quote)) for kind, wording in WORDINGS[quote])


@cache
def parse(message: str) -> tuple[Parsed, ...]:
    """Parse a message by each wording that matches it.

    >>> [one] = parse('Argument 1 to "at" has incompatible type "int"; expected "Rung[Never]"')
    >>> one.kind, one.method, one.got, one.wanted
    ('argument', 'at', 'int', 'Rung[Never]')
    """
    message = re.sub(r'(?<== )"[^"]*"', "...", " ".join(message.split()))  # quoted default values
    found: list[Parsed] = []
    quotes = [quote for quote in WORDINGS if quote in message] or ['"']
    for kind, pattern in (one for quote in quotes for one in patterns(quote)):
        match = pattern.search(message)
        if match is not None:
            parts = {name: text or "" for name, text in match.groupdict().items()}
            one = Parsed(kind, *(parts.get(name, "") for name in Parsed._fields[1:]))
            found.append(one._replace(method=one.owner) if one.method == "__init__" else one)
    return tuple(found)
