"""Messages about wrong arguments of public functions, such as `max_tries` of another library."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import wraps
from types import FunctionType
from typing import Any

from .attribute_advice import RUN_OPTIONS
from .commands import Misuse, is_coroutine_function
from .rungs import DEEPEST

__tracebackhide__ = True

TRIES = ("attempts", "tries", "max_tries", "max_attempts", "stop_after_attempt")
RETRIES = ("retries", "max_retries", "num_retries", "total")
BASE = ("schedule=Exponential(base=...)", "base=1, the first wait")
FACTOR = ("schedule=Exponential(factor=...)", "factor=2")
CAP = ("schedule=Exponential(cap=...)", "cap=60, the longest wait")
JITTER = ("schedule=Exponential(...).jittered(2)", "Exponential(...).jittered(2)")
SCHEDULE = ("schedule=Exponential(...), or another schedule",)
ON = ("on=OSError",)
SECONDS = ("within=..., in seconds", "limits=Limits(...)")
OPEN_FOR = ("open_for=30, in seconds",)
FAILURES = ("failures=5",)
RAISED = ("nothing: the last failure itself is always raised",)
RAISES = ("on=..., a predicate; the function has to raise for a status",)
LOGGED = ("nothing: the logger `ixbackoff` logs waits, and observers are called with them",)
OBSERVED = ("ixbackoff.observing.observe(...): an observer is called with each event",)
INSTEAD: dict[str, tuple[str, ...]] = {
    "wait": SCHEDULE,
    "delay": ("schedule=Constant(...), or another schedule", *BASE[1:]),
    "interval": ("schedule=Constant(...), or another schedule", "every=2, in seconds"),
    "seconds": ("within=..., in seconds", "every=2, in seconds"),
    **dict.fromkeys(("base", "wait_initial", "backoff_factor", "multiplier", "initial"), BASE),
    **dict.fromkeys(("min", "min_delay", "initial_delay", "start"), BASE),
    **dict.fromkeys(("factor", "wait_exp_base", "exp_base"), FACTOR),
    **dict.fromkeys(("max", "max_delay", "max_value", "wait_max", "backoff_max", "maximum"), CAP),
    **dict.fromkeys(("jitter", "wait_jitter"), JITTER),
    **dict.fromkeys(("timeout", "deadline", "max_time"), OPEN_FOR + SECONDS),
    **dict.fromkeys(("retry", "exceptions", "exception", "on_exception", "retry_on"), ON),
    **dict.fromkeys(("reset_timeout", "recovery_timeout", "break_duration"), OPEN_FOR),
    **dict.fromkeys(("fail_max", "failure_threshold", "max_failures", "threshold"), FAILURES),
    "window": ("within=10, in seconds",),
    "exclude": ("on=..., a predicate that is false for the excluded failures",),
    "expected_exception": ON,
    "giveup": ("on=..., a predicate that is true for the failures to retry",),
    "status_forcelist": RAISES,
    "allowed_methods": RAISES,
    "reraise": RAISED,
    "raise_on_giveup": RAISED,
    "retry_error_callback": ("`try` and `except` around the call, or .or_else(...) in a program",),
    "sleep": ("nothing: in tests, ixbackoff.testing.no_waits() makes waits take no time",),
    **dict.fromkeys(("before_sleep", "on_backoff"), LOGGED),
    **dict.fromkeys(("before", "after", "on_giveup", "on_success"), OBSERVED),
}
"""The advice for an argument of another library; the first text that fits the function is shown."""
STEPS = ("Program", "Attempt", "Backoff")
"""The classes whose methods also explain wrong arguments."""


def explain_arguments(names: dict[str, Any], public: Iterable[str]) -> None:
    """Make functions and classes explain wrong arguments; `names` are the globals of a module.

    Internal code still calls the unwrapped functions, but it calls the wrapped methods. Leave out
    of `public` what each try calls: a wrapper would slow it down.
    """
    for name in public:
        value: Any = names[name]
        if isinstance(value, FunctionType):
            names[name] = explained(value)
            names[name].__module__ = names["__name__"]  # where pickle finds it
            continue
        members: dict[str, Any] = {**vars(value)}
        for attribute, method in members.items():
            own = attribute[0] != "_"
            if attribute == "__init__" or (own and value.__name__ in STEPS):
                if method.__class__ is FunctionType:
                    setattr(value, attribute, explained(method))
            elif own and method.__class__ is staticmethod:
                setattr(value, attribute, staticmethod(explained(method.__func__)))


def explained(function: Any) -> Any:
    if is_coroutine_function(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            except TypeError as error:
                check_bound(error, function, args, kwargs)
                raise

        return awaited

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            check_bound(error, function, args, kwargs)
            raise

    return called


def check_bound(error: TypeError, function: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """Raise Misuse if the call itself raised `error`, and not the body of `function`."""
    if error.__traceback__ is not None and error.__traceback__.tb_next is None:
        if function.__code__.co_varnames[1:2] in SEALED:
            function(None, None)  # raises its own message
        said, fix = mistake(function, args, kwargs)
        raise Misuse(f"{said}: {fix}.") from None


SEALED = (("_sealed",), ("_no_instances",))


def mistake(function: Any, args: Any, kwargs: dict[str, Any]) -> tuple[str, str]:
    """Return two texts: the mistake in the arguments of a call, and the advice."""
    from inspect import Parameter, signature  # 18 ms

    name, takes = shown_name(function), dict(signature(function).parameters)
    if takes.pop("self", takes.pop("cls", None)) is not None:
        args = args[1:]
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    placed = [one.name for one in takes.values() if one.kind in kinds]
    named = [one.name for one in takes.values() if one.kind is Parameter.KEYWORD_ONLY]
    any_number = any(one.kind is Parameter.VAR_POSITIONAL for one in takes.values())
    for word, value in kwargs.items():
        if word not in takes:
            return f"{name}({word}={value!r})", instead(word, value, name, [*takes])
    write = f"write {example(function)}" if takes else f"write {name}()"
    if len(args) > len(placed) and not any_number:
        by_name = f"{listed([f'{one}=' for one in named])}, by name" if named else ""
        both = f"{listed(placed)}{', and ' if placed and named else ''}{by_name}"
        return f"{name}(...) takes {both or 'no arguments'}", write
    missing = [
        one.name
        for one in takes.values()
        if one.default is one.empty and one.name in (*placed, *named)
        if one.name not in kwargs and one.name not in placed[: len(args)]
    ]
    if missing:
        return f"{name}(...) needs {listed(missing)}", write
    return f"{name}(...) is given an argument twice", write


def shown_name(function: Any) -> str:
    """Return the name of a function as users write it: `Exponential`, `.run`."""
    *owners, name = function.__qualname__.split(".")
    if name == "__init__":
        return str(owners[-1])
    inner = getattr(function, "__wrapped__", function)
    takes = inner.__code__.co_varnames[: inner.__code__.co_argcount]
    if takes[:1] == ("self",):
        return f".{name}"
    return f"{owners[-1]}.{name}" if owners and owners[-1] != "<locals>" else str(name)


def instead(word: str, value: object, name: str, takes: list[str]) -> str:
    retries = "rung" in takes or name in (".replace", ".retry", ".resume", ".retry_with")
    if (word in TRIES or word in RETRIES) and retries and not callable(value):
        start = "backoff" if name in ("backoff", ".replace") else "at"
        return in_rungs(word, value, start)
    if word in RUN_OPTIONS and (name == "at" or name.startswith(".")):
        return f"that is an argument of the run: write .run(interpreter, {word}=...)"
    if word == "on" and name in (".run", ".run_async"):
        return "that is an argument of the step: write .retry(effect, on=...)"
    for text in INSTEAD.get(word, ()):
        option = re.match(r"(\w+)=", text)
        if option is None or option[1] in takes:
            return f"write {text}"
    from difflib import get_close_matches

    close = get_close_matches(word, takes, 1, 0.7)
    if close:
        return f"write {close[0]}= in its place"
    return f"it takes {listed(takes) or 'no arguments'}"


def in_rungs(word: str, value: object, start: str) -> str:
    waits = value - (word in TRIES) if isinstance(value, int) else -1
    if not 0 <= waits <= DEEPEST:
        return "give a rung, N0 to N20, which is the number of waits: one less than tries"
    one = "1 try is" if waits == 0 else f"{waits + 1} tries are"
    return f"{one} N{waits}, so write {start}(N{waits})"


EXAMPLES = {
    "attempt": "@attempt above a generator function",
    ".retry": ".retry(effect, on=[OSError, ValueError])",
    "durable": '@durable(name="order")',
    "backoff": "backoff(N3, on=OSError)",
    "at": "at(N3).retry(call(get)).run(interpreter, schedule=...)",
    "first_of": "first_of([first, second])",
    "observe": "observe(print)",
    "plan": "plan(at(N3).retry(effect))",
    "simulate": "simulate(program, services, clients=100, seconds=60)",
    "Download": 'Download("http://localhost/a", "a")',
    "Command.handled_by": "Download.handled_by(function)",
    "RetryBudget.finagle": "RetryBudget.finagle()",
    "Virtual": "Virtual(Download.handled_by(answers(None)))",
}


def example(function: Any) -> str:
    """Return an example of a right call: one of `EXAMPLES`, or the first one in the docstrings."""
    name = shown_name(function)
    lines = documentation(function).splitlines()
    shown = "\n".join(line for line in lines if line.lstrip().startswith((">>>", "...")))
    call = rf"(?<!\w){re.escape(name)}\((?:[^()\n]|\([^()\n]*\))+\)"
    found = re.search(call, shown)
    return EXAMPLES.get(name) or (found[0] if found else f"{name}(...)")


def documented(function: Any, argument: str) -> str:
    """Return what the documentation says of an argument, "" if it says nothing."""
    argument = argument.lstrip("*")
    entry = rf"^ +{argument}: (.*?)\.?\s*(?:\n\s*\w+: |\n\n|\Z)"
    found = re.search(entry, documentation(function), re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found and argument else ""


def documentation(function: Any) -> str:
    module = sys.modules[function.__module__]
    kind = getattr(module, function.__qualname__.partition(".")[0], None)
    return f"{function.__doc__}\n{kind.__doc__}"


def listed(names: list[str]) -> str:
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
