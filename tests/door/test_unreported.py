"""Mistakes that no type checker reports, and programs that look like them and are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff._door import check_command
from ixbackoff._door.diagnosing.unreported import unchecked
from ixbackoff._door.reading.sources import Source

WRONG = [
    ("@attempt\ndef f():\n    yield page", "not-an-attempt", 5),
    ("@attempt\ndef f():\n    size = yield page\n    return size", "not-an-attempt", 5),
    ("@attempt\ndef f():\n    pass", "not-an-attempt", 4),
    ("@attempt\ndef f():\n    def g():\n        yield from page", "not-an-attempt", 4),
    ("@attempt\ndef f():\n    yield from Now()\n    Delay(1)", "not-an-attempt", 6),
    ("@attempt\ndef f():\n    if x:\n        Delay(1)\n    return 2", "not-an-attempt", 6),
    ("class C(Command[int]): ...\n@attempt\ndef f():\n    C()\n    return 2", "not-an-attempt", 6),
    (
        "@attempt\ndef g() -> Attempt[Now, int]:\n    return (yield from Now())\n"
        "@attempt\ndef f():\n    g()\n    return 2",
        "not-an-attempt",
        8,
    ),
    ("@attempt\ndef f():\n    call(print, 1)\n    return 2", "not-an-attempt", 5),
    ("@attempt\ndef f():\n    do(Delay(1))\n    return 2", "not-an-attempt", 5),
    ("@backoff(N3)\ndef f():\n    yield 1", "wrong-arguments", 4),
    ("@backoff(N3)\nasync def f():\n    yield 1", "wrong-arguments", 4),
    ("@backoff(N3)\nclass F:\n    pass", "wrong-arguments", 4),
    ("async def f(): ...\n\nbackoff(N3).program(f)", "wrong-arguments", 5),
    ("async def f(): ...\nslow = backoff(N3)\nslow.program(f)", "wrong-arguments", 5),
    (
        "def r(a: str) -> bool: ...\n@backoff(N3, until=r)\ndef f() -> int: ...",
        "wrong-arguments",
        4,
    ),
    (
        "@backoff(N3, until=r)\nasync def f() -> str | None: ...\ndef r(a: str) -> bool: ...",
        "wrong-arguments",
        3,
    ),
    (
        "def r(a: int, /) -> bool: ...\n@backoff(N3, until=r)\ndef f() -> list[int]: ...",
        "wrong-arguments",
        4,
    ),
]
RIGHT = [
    "@attempt\ndef f():\n    return (yield from page)",
    "@attempt\ndef f():\n    return g()",
    "@attempt\ndef f():\n    raise NotImplementedError",
    "@attempt\ndef f():\n    def numbers():\n        yield 1\n    yield from page",
    "class C: ...\n@attempt\ndef f():\n    C()\n    yield from Now()",
    "def g() -> int: ...\n@attempt\ndef f():\n    g()\n    print(yield from Now())",
    "@attempt\ndef f():\n    command = Now()\n    return (yield from command)",
    "def f():\n    Delay(1)",
    "def f():\n    yield page",
    "@backoff(N3)\ndef f():\n    return [one for one in (yielded() for _ in range(3))]",
    "@backoff(N3)\ndef f():\n    def g():\n        yield 1\n    return list(g())",
    "class F:\n    @backoff(N3)\n    def f(self): ...",
    "async def f(): ...\nbackoff(N3).program_async(f)",
    "def f(): ...\nbackoff(N3).program(f)",
    "async def f(): ...\nother.program(f)",
    "def r(a: float | None) -> bool: ...\n@backoff(N3, until=r)\ndef f() -> int | None: ...",
    "def r(a: object) -> bool: ...\n@backoff(N3, until=r)\ndef f() -> int: ...",
    "def r(a: Job) -> bool: ...\n@backoff(N3, until=r)\ndef f() -> str: ...",
    "def r(a: str) -> bool: ...\n@backoff(N3, until=r)\ndef f(): ...",
    "def r(a: list[str]) -> bool: ...\n@backoff(N3, until=r)\ndef f() -> list[str]: ...",
    "def r() -> bool: ...\n@backoff(N3, until=r)\ndef f() -> str: ...",
    "@backoff(N3, until=r)\ndef f() -> str: ...",
    "def r(a: str) -> bool: ...\n@backoff(N3, on=r)\ndef f() -> int: ...",
]
HEAD = "from ixbackoff import N3, Attempt, Command, Delay, Now, attempt, backoff, call, do\n\n"


@pytest.mark.parametrize(("text", "code", "line"), WRONG)
def test_a_mistake_is_found_on_its_line(text: str, code: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(HEAD + text)
    [found] = unchecked(Source(file))
    assert (found.explanation.code, found.error.line) == (code, line)
    file.write_text(text)
    assert [*unchecked(Source(file))] == []


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_program_is_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(HEAD + text)
    assert [*unchecked(Source(file))] == []


def test_check_adds_them_and_its_status_is_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_command, "output", lambda words: (b"Success: no issues found\n", 0))
    inner = tmp_path / "src" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "src" / ".hidden").mkdir()
    for folder in (inner, tmp_path / "src" / ".hidden"):
        (folder / "program.py").write_text(HEAD + "@backoff(N3)\nclass F:\n    pass\n")
    assert check_command.main(["src"]) == 1
    printed = capfdbinary.readouterr().out.decode()
    assert printed.startswith("src/inner/program.py:4:1: error: backoff")
    assert printed.count("[wrong-arguments]") == 1
    assert check_command.main(["--output-format", "github", "src"]) == 1
    (inner / "program.py").write_text(HEAD)
    assert check_command.main(["src"]) == 0


@pytest.mark.parametrize("form", ["full", "concise"])
@pytest.mark.parametrize(
    "line",
    [
        "\x1b[1m\x1b[32mSuccess: no issues found in 1 source file\x1b[0m\n",
        "0 errors, 0 warnings, 0 informations\n",
        "All checks passed!\n",
    ],
)
def test_a_checker_says_that_all_is_well_only_if_it_is(
    form: str,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_command, "output", lambda _: (f"a note\n{line}".encode(), 0))
    for text, status in (("@attempt\ndef f():\n    yield page", 1), ("", 0)):
        Path("program.py").write_text(HEAD + text)
        assert check_command.main([f"--output-format={form}", "program.py"]) == status
        printed = capfdbinary.readouterr().out.decode()
        assert (line in printed, "a note\n" in printed) == (not status, True)


def test_what_a_checker_reports_is_not_said_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(HEAD + "@attempt\ndef f() -> None: ...\n")
    printed = (
        b'program.py:3: error: Argument 1 to "attempt" has incompatible type "Callable[[], None]"; '
        b'expected "Callable[[], Generator[Command[Any], Any, Any]]"  [arg-type]\n'
    )
    monkeypatch.setattr(check_command, "output", lambda words: (printed, 1))
    assert check_command.main(["--output-format=concise", "program.py"]) == 1
    assert capfdbinary.readouterr().out.count(b"[not-an-attempt]") == 1


def test_the_status_of_a_checker_that_reports_errors_and_passes_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of `ty check --exit-zero`."""
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(HEAD)
    printed = b"program.py:1: error: It is wrong  [some-code]\n"
    monkeypatch.setattr(check_command, "output", lambda words: (printed, 0))
    assert check_command.main(["program.py"]) == 0


def test_both_mistakes_of_an_attempt_are_found(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(HEAD + "@attempt\ndef f():\n    Delay(1)\n    yield Now()\n    Now()\n")
    found = [(one.error.line, one.explanation.sentence[:9]) for one in unchecked(Source(file))]
    assert found == [(5, "This line"), (6, "A `yield`"), (7, "This line")]
