"""Arguments, steps and values that belong somewhere else, as checkers report them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff._door.check_command import explained as explained_output

PROGRAM = """from ixbackoff import *
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live
from ixbackoff.testing.exploring import Model
from ixbackoff.testing import Virtual

{line}
"""
SAID = [
    (
        "first_of([get, count])",
        'Argument 1 to "first_of" has incompatible type "list[object]"; expected '
        '"Iterable[CommandOrAttempt[Never, Never]]"',
        "The effects in this list differ, and their common type is object.",
    ),
    (
        "all_of(mixed)",
        'Argument 1 to "all_of" has incompatible type "list[AnyCommand]"; expected '
        '"Iterable[CommandOrAttempt[Never, Never]]"',
        "The effects in this list differ, and their common type is AnyCommand.",
    ),
    (
        "at(N3).retry(all_of(a, b, a, b, a, b, a, b, a)).run(interpreter)",
        'Argument 1 to "run" of "Program" has incompatible type "Interpreter[Get | Count]"; '
        'expected "Interpreter[object]"',
        "mypy infers the type object for the commands of more than eight different effects.",
    ),
    (
        "Delay(2)",
        'Argument 1 to "Delay" has incompatible type "int"; expected "Never"',
        "only the ladder issues waits.  [sealed]",
    ),
    (
        "Exponential(1, max=60)",
        'Unexpected keyword argument "max" for "Exponential"',
        "Write cap=60, the longest wait.  [no-such-option]",
    ),
    (
        "at(N3).retry(x, schedule=s)",
        'Unexpected keyword argument "schedule" for "retry" of "Program"',
        "write .run(interpreter, schedule=...).  [no-such-option]",
    ),
    (
        "at(N3).retry(x, A, B)",
        'Too many arguments for "retry" of "Program"',
        "Write .retry(effect, on=[OSError, ValueError]).  [no-such-option]",
    ),
    (
        "first_of(a, b)",
        'Too many positional arguments for "first_of"',
        "Write first_of([first, second]).  [no-such-option]",
    ),
    (
        "copy().run(i)",
        '"Attempt[Download, None]" has no attribute "run"',
        "Write at(N3).retry(attempt).run(...).  [no-such-step]",
    ),
    (
        "command.retry()",
        '"Download" has no attribute "retry"',
        "Write at(N3).retry(command).  [no-such-step]",
    ),
    (
        "N3.retry(x)",
        '"type[Succ[Succ[Succ[Z]]]]" has no attribute "retry"',
        "Write at(N3).retry(...).  [no-such-step]",
    ),
    (
        "N3.retry(x)",
        "Class `Succ[Succ[Succ[Z]]]` has no attribute `retry`",
        "Write at(N3).retry(...).  [no-such-step]",
    ),
    (
        "Download('http://h', 'a').retry()",
        '"Download" has no attribute "retry"',
        "Write at(N3).retry(command).  [no-such-step]",
    ),
    (
        "at(N3).retry(x).limit()",
        '"Program[N3, N0, None, Download | Delay]" has no attribute "limit"',
        "Write .retry(do(command).limit(...)).  [no-such-step]",
    ),
    ("N21", 'Name "N21" is not defined; did you mean "N1"?', "The deepest finite ladder is N20"),
    ("N21", '"N21" is unknown import symbol', "The deepest finite ladder is N20"),
    ("N21", "Name `N21` used when not defined", "The deepest finite ladder is N20"),
    ("N21", "Could not find name `N21`", "The deepest finite ladder is N20"),
    (
        "plan(copy())",
        'Argument 1 to "plan" has incompatible type "Attempt[Download, None]"; expected '
        '"Ladder | Callable[..., object]"',
        "Give program: the program, or a decorated function.  [wrong-arguments]",
    ),
    (
        "@plan\ndef page(url: str) -> int: ...",
        'Argument 1 to "plan" has incompatible type "Callable[[str], int]"; expected "Ladder"',
        "plan(...) does not take Callable[[str], int] as program=.",
    ),
    (
        "Model(W, W().i)",
        'Argument 2 to "Model" has incompatible type "Interpreter[Download]"; expected '
        '"Callable[[W], Interpreter[Never]]"',
        "Give interpreter: makes the interpreter that answers in a world; usually a method",
    ),
    (
        "Virtual(at(N3).retry(x))",
        "Argument to `Virtual.__init__` is incorrect: Expected `Interpreter[Unknown]`, found "
        "`Program[Succ[Succ[Succ[Z]]], Z, None, Download | Delay]`",
        "program.run(world.interpreter).  [not-an-interpreter]",
    ),
    (
        "backoff(N3, max_tries=3)",
        "max_tries",
        "3 tries are N2, so write backoff(N2).  [no-such-option]",
    ),
    (
        "backoff(N3, max_attempts=1)",
        "max_attempts",
        "1 try is N0, so write backoff(N0).  [no-such-option]",
    ),
    (
        "backoff(N3, retries=5)",
        "retries",
        "6 tries are N5, so write backoff(N5).  [no-such-option]",
    ),
    ("backoff(N3, retries=50)", "retries", "Give a rung, N0 to N20"),
    ("backoff(N3, retries=n)", "retries", "Give a rung, N0 to N20"),
    (
        "CircuitBreaker(5)",
        'Missing named argument "within" for "CircuitBreaker"',
        "Write CircuitBreaker(failures=2, within=10, open_for=30)",
    ),
    (
        "backoff(N3, OSError)",
        'Too many positional arguments for "backoff"',
        "Write backoff(N3, on=OSError).",
    ),
    (
        "Engine(live(), recipe)",
        'Cannot infer value of type parameter "E" of "Engine"',
        "answers all commands of its workflows",
    ),
    (
        "Engine(live(), recipe)",
        "Argument `Workflow[[], int, Ask | Delay, N3]` is not assignable to parameter `*workflows` "
        "with type `Workflow[..., Any, Call[Any] | Delay | Download, Any]` in function "
        "`ixbackoff.durable.engine.Engine.__init__`",
        "A workflow of this engine issues Ask, which no handler answers.",
    ),
    (
        "Engine(live(), recipe)",
        "Argument to `Engine.__init__` is incorrect: Expected `Interpreter[Download | Upload | "
        "Delay | ... omitted 7 union elements]`, found `Interpreter[Download | Upload | Delay | "
        "... omitted 6 union elements]`",
        "answers all commands of its workflows",
    ),
    (
        "@durable\ndef order() -> None: ...",
        'Too many positional arguments for "durable"',
        'Write @durable(name="order").  [no-such-option]',
    ),
]


@pytest.mark.parametrize(("line", "message", "said"), SAID)
def test_it_is_explained(
    line: str, message: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM.format(line=line))
    if message.isidentifier():
        message = f'Unexpected keyword argument "{message}" for "backoff"'
    printed = f"program.py:7: error: {message}  [some-code]\n"
    text, errors, _ = explained_output(printed.encode(), "concise")
    assert errors
    assert said in text.decode()
