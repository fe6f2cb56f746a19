"""The wordings of the messages of five type checkers, as patterns, and a parser of messages."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

# The methods of programs, by the rung on which they end.
DOWN = ("backoff", "wait", "skip")
RETRIES = ("retry", "resume", "retry_with")
TO_N0 = (*RETRIES, "end")
STAYS = ("do", "then", "map", "or_else", "named", "at")
RUNS = ("run", "run_async")


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
    text = text.replace("OF", OF)
    for name in ("GOT", "WANTED", "ARGUMENT"):
        text = text.replace(name, f"{quote}(?P<{name.lower()}>[^{quote}]+){quote}")
    owner = r"(?:[\w.]*?(?P<owner>\w+)\.)?" if quote == "`" else r"(?:[\w.]+\.)?"
    method = rf"{quote}{owner}(?P<method>\w+){quote}"
    return re.compile(text.replace("METHOD", method))


OF = r'METHOD(?: of "(?P<owner>\w+)")?'
# The kind of each wording, and its pattern.
QUOTED = r"""
# mypy and zuban
missing    Too few arguments for OF
missing    Missing (?:named|positional) arguments? ARGUMENT.* (?:for|in call to) OF
surplus    Unexpected keyword argument ARGUMENT for OF
surplus    Too many (?:positional )?arguments for OF
argument   Argument (?:\d+|ARGUMENT) to OF has incompatible type "?(?P<got>[^"]+)"?; expected WANTED
self       Invalid self argument GOT to attribute function METHOD
overload   No overload variant of OF matches argument types? (?P<got>.+)
overload   All overload variants of METHOD require at least one argument
join       Unsupported operand types for (?P<method>\S+) \(GOT and WANTED\)
join       Unsupported left operand type for (?P<method>\S+) \(GOT\)
value      Incompatible return value type \(got GOT, expected WANTED\)
value      \(expression has type GOT, (?:variable|target) has type WANTED\)
value      Argument \d+ to <\w+> has incompatible type GOT; expected WANTED
value      Dict entry \d+ has incompatible type "[^"]+": GOT; expected "[^"]+": WANTED
value      (?:List|Set) item \d+ has incompatible type GOT; expected WANTED
yielded    "yield from" can't be applied to GOT
yielded    "yield(?: from)?" \(actual type GOT, expected type WANTED\)
attribute  GOT has no attribute "(?P<argument>\w+)"
unsolved   Cannot infer value of type parameter "E" of METHOD
name       Name "(?P<got>N\d+)" is not defined
name       Module "ixbackoff" has no attribute "(?P<got>N\d+)"
inherited  Cannot inherit from final class GOT
overridden Cannot override final attribute ARGUMENT
answer     Return type GOT of METHOD incompatible with \w+ type WANTED in .*ixbackoff\.\S+\.Command"
set        Property ARGUMENT defined in "(?P<owner>\w+)" is read-only
made       Cannot instantiate (?:protocol|abstract) class GOT
parameter  Type argument GOT of "(?P<owner>\w+)" must be a subtype of "Nat"
parameter  Value of type variable ARGUMENT of METHOD(?: of "\w+")? cannot be GOT
bare       Missing type (?:arguments|parameters) for generic type "(?P<owner>\w+)"
count      "(?P<owner>\w+)" expects (?:between \d+ and )?\d+ type arguments?, but
# pyright
missing    Arguments? missing for parameters? ARGUMENT
missing    Expected \d+ more positional argument
overload   No overloads for METHOD match
attribute  GOT cannot be used with .* implement (?P<argument>__\w+__)
surplus    No parameter named ARGUMENT
surplus    Expected \d+ positional arguments?$
argument   Argument of type GOT cannot be assigned to \w+ ARGUMENT of type WANTED(?: in \w+ METHOD)?
join       Operator "(?P<method>\S+)" not supported for types GOT and WANTED
value      Type GOT is not assignable to (?:declared type|return type|type) WANTED
yielded    GOT is not iterable
yielded    with "Generator\[(?P<got>[^,]+), .* is not assignable to "Generator\[(?P<wanted>[^,]+),
attribute  Cannot access attribute ARGUMENT for class GOT
name       "(?P<got>N\d+)" is (?:not defined|unknown import symbol)
inherited  Base class GOT is marked final
bare       Expected type arguments for generic class "(?P<owner>\w+)"
count      (?:Too few|Too many|Expected .*) type arguments .*"(?P<owner>\w+)
"""
TICKED = r"""
# ty
argument   Argument (?:to (?:\w+ )*METHOD )?is incorrect: Expected WANTED, found GOT
parameter  Argument to bound method METHOD is incorrect: Argument type GOT does not satisfy
missing    No arguments? provided for required parameters? ARGUMENT(?:.* of .*METHOD)?
surplus    Argument ARGUMENT does not match any known parameter(?: of .*METHOD)?
surplus    Too many positional arguments(?: to .*METHOD|:)
join       Operator `(?P<method>\S+)` is not supported between objects of type GOT and WANTED
value      Return type does not match returned value: expected WANTED, found GOT
value      Object of type GOT is not assignable to WANTED
yielded    Object of type GOT is not iterable
attribute  (?:Object of (?:type|class)|Function|Class) GOT has no attribute ARGUMENT
attribute  GOT cannot be used with .* implement `(?P<argument>__\w+__)`
overload   No overload of (?:bound method |function )?METHOD matches
made       Cannot instantiate GOT (?:with unimplemented|because)
name       Name `(?P<got>N\d+)` used when not defined
name       Module `ixbackoff` has no member `(?P<got>N\d+)`
inherited  cannot inherit from final class GOT
# pyrefly
argument   Argument GOT is not assignable to parameter ARGUMENT with type WANTED in function METHOD
option     No matching overload found for \w+ METHOD [^(]*\((?P<got>.*?)\)(?: Possible overload.*)?$
parameter  GOT is not assignable to upper bound
missing    Missing (?:positional |keyword )?argument ARGUMENT in function METHOD
surplus    Unexpected keyword argument ARGUMENT in function METHOD
surplus    Expected argument `\w+` to be passed by name in function METHOD
surplus    Expected .* positional arguments?, got .* in function METHOD
join       `(?P<method>\S+)` is not supported between GOT and WANTED
value      Returned type GOT is not assignable to declared return type WANTED
value      GOT is not assignable to (?:variable `\w+` with type )?WANTED
yielded    yield from value must be iterable, got GOT
name       Could not (?:find name|import) `(?P<got>N\d+)`
inherited  Cannot extend final class GOT
attribute  Cannot use GOT as a context (?P<argument>)manager
"""
WORDINGS = {'"': QUOTED, "`": TICKED}


@cache
def patterns(quote: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = re.findall(r"^(\w+) +(.+)", WORDINGS[quote], re.MULTILINE)
    return tuple((kind, pattern_of(wording, quote)) for kind, wording in rows)


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
