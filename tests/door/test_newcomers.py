"""The mistakes of newcomers: each gets a sentence of ours when it runs, or from `check`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ..support.checkers.typecheckers import CHECKERS, MYPY, Checker

READ: dict[str, Any] = tomllib.loads((Path(__file__).parent / "newcomers.toml").read_text())
NAMES: dict[str, str] = READ.pop("names")
MISTAKES: list[tuple[str, str]] = [
    (source, said) for page in READ.values() for source, said in page["mistakes"]
]
ROOMS = (
    *("ixbackoff", "ixbackoff.durable", "ixbackoff.fleet", "ixbackoff.live", "ixbackoff.observing"),
    *("ixbackoff.testing", "ixbackoff.testing.exploring", "asyncio"),
)
OTHERS = {"Iterator": "collections.abc", "dataclass": "dataclasses"}
PLAIN = re.compile(
    r"missing \d+ required|takes .*positional argument|unexpected keyword|multiple values"
    r"|'\w+' object |type object|not callable|unsupported operand|cannot import name|\n"
)
"""What Python says itself."""


def program(source: str) -> str:
    """Return a source with the imports and the names that it uses."""
    text = source
    while missing := [
        one.strip()
        for name, one in NAMES.items()
        if re.search(rf"\b{name}\b", text) and one.strip() not in text
    ]:
        text = f"{missing[0]}\n{text}"
    return "".join(f"{line}\n" for line in imports(text)) + text + "\n"


def imports(text: str) -> Iterator[str]:
    """Yield the imports of the public names in a text."""
    words = set(re.findall(r"\w+", text))
    if "asyncio" in words:
        yield "import asyncio"
    taken: set[str] = set()
    for room in ROOMS[:-1]:
        names = sorted((words & {*import_module(room).__all__}) - taken)
        taken |= {*names}
        if names and f"from {room} import" not in text:
            yield f"from {room} import {', '.join(names)}"
    yield from (f"from {OTHERS[one]} import {one}" for one in sorted(words & OTHERS.keys()))


def told(source: str) -> str:
    """Run a source; return what Python says of it, and what it warns of."""
    code = compile(program(source), "program.py", "exec")
    sys.modules["program"] = module = ModuleType("program")
    sentence = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(code, vars(module))  # noqa: S102
        except Exception as error:
            sentence = f"{type(error).__name__}: {error}"
        finally:
            del sys.modules["program"]
    return "\n".join([*(f"{one.category.__name__}: {one.message}" for one in caught), sentence])


@pytest.mark.parametrize(("source", "said"), [one for one in MISTAKES if one[1]])
def test_a_mistake_gets_a_sentence_when_it_runs(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [sentence] = [one for one in told(source).splitlines() if said in one]
    assert sentence.startswith(
        ("Misuse: ", "TypeError: ", "ValueError: ", "AttributeError: ", "RuntimeWarning: ")
    )
    assert not PLAIN.search(sentence)
    assert sentence.endswith(".")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("newcomers")
    for number, (source, _) in enumerate(MISTAKES):
        (folder / f"m{number:03}.py").write_text(program(source))
    return folder


Explained = dict[int, list[str | None]]
"""For each mistake that a checker sees: its explanations, `None` for an error without one."""


@pytest.fixture(scope="module", params=CHECKERS, ids=lambda checker: checker.name)
def name(request: pytest.FixtureRequest) -> str:
    checker: Checker = request.param
    return checker.name


@pytest.fixture(scope="module")
def seen(name: str, folder: Path) -> Explained:
    """Run `ixbackoff check` over all files, without an activated environment."""
    env = {key: text for key, text in os.environ.items() if key != "VIRTUAL_ENV"}
    words = [sys.executable, "-m", "ixbackoff", "check", "--checker", name, "--output-format=json"]
    files = sorted(one.name for one in folder.glob("m*.py"))
    done = subprocess.run(  # noqa: S603
        [*words, *files], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    explained: Explained = defaultdict(list)
    for line in done.stdout.splitlines():
        error = json.loads(line)
        said = error["explanation"]
        explained[int(Path(error["file"]).stem[1:])].append(said and f"{said['code']}: {said}")
    return explained


@pytest.mark.slow
def test_nearly_all_that_a_checker_sees_is_explained(name: str, seen: Explained) -> None:
    unexplained = [MISTAKES[number][0] for number, said in seen.items() if not any(said)]
    share = 1 - len(unexplained) / len(seen)
    print(f"{name}: {len(seen)} of {len(MISTAKES)} seen, {share:.1%} explained; not {unexplained}")
    assert len(seen) > 0.7 * len(MISTAKES)
    assert share >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", [MYPY], indirect=True, ids=["mypy"])
def test_what_runs_in_silence_is_explained_by_check(seen: Explained) -> None:
    silent = [number for number, (_, said) in enumerate(MISTAKES) if not said]
    assert [MISTAKES[number][0] for number in silent if not any(seen.get(number, []))] == []
