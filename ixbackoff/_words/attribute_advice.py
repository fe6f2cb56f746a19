"""Error messages for attributes that commands, attempts, programs and rungs do not have."""

from __future__ import annotations

from typing import Any

STEPS = (
    *("do", "then", "map", "or_else", "bind", "or_bind", "backoff", "wait", "skip", "retry"),
    *("resume", "retry_with", "end", "named", "run", "run_async"),
)
RUN_OPTIONS = ("schedule", "within", "budget", "breaker", "stop", "longest", "through")
OF_ATTEMPTS = ("limit", "expect", "guarded", "through", "hedged")
OF_RUNS = {
    **dict(zip(RUN_OPTIONS, RUN_OPTIONS, strict=True)),
    **dict.fromkeys(("timeout", "deadline"), "within"),
}


def no_attribute(value: Any, name: str) -> Any:
    """Raise an AttributeError with advice, on behalf of a `__getattr__`.

    Python calls `__getattr__` if an attribute is missing, or if a property raised AttributeError.
    In the second case this reads the property again, so that its own error is raised.
    """
    kind: type[object] = value.__class__
    if name[:1] == "_" or hasattr(kind, name):
        found: Any = getattr(kind, "__getattribute__")(value, name)  # noqa: B009
        return found
    raise AttributeError(": ".join(without(kind, name)) + ".", name=name, obj=value)


def without(kind: type, name: str) -> tuple[str, str]:
    """Return two texts: the attribute that a class lacks, and the advice."""
    bases = [base.__name__ for base in kind.__mro__]
    effect = "attempt" if "Attempt" in bases else "command"
    said, step = f"{kind.__name__} has no .{name}(...)", name in STEPS
    if "type" in bases:
        return f"A rung has no .{name}(...)", f"write at(N3).{name if step else 'retry'}(...)"
    if "Command" in bases and name in ("then", "map", "or_else", *OF_ATTEMPTS):
        return said, f"write do(command).{name}(...)"
    if step and ("Command" in bases or "Attempt" in bases):
        run = f".{name}(...)" if name.startswith("run") else ""
        first = "do" if name == "do" else "retry"
        return f"{said}, for it is on no rung", f"write at(N3).{first}({effect}){run}"
    if step and "Backoff" in bases:
        return said, "decorate a function with it, or write .call(function, ...)"
    if "Program" in bases and name in OF_ATTEMPTS:
        return f"{said}, a step of attempts", f"write .retry(do(command).{name}(...))"
    said = said.removesuffix("(...)")
    if "Program" in bases and name in OF_RUNS:
        return said, f"write .run(interpreter, {OF_RUNS[name]}=...)"
    if {"World", "Table"} & {*bases} and name in ("run", "run_async"):
        return said, f"write program.{name}({'world.' if 'World' in bases else ''}interpreter)"
    from difflib import get_close_matches

    public = [one for one in dir(kind) if one[0] != "_"]
    close = get_close_matches(name, public, 1)
    return said, f"write .{close[0]}" if close else f"it has {', '.join(public) or 'no others'}"
