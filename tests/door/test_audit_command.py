"""`ixbackoff audit`: its text, its formats, its options and its exit status."""

from __future__ import annotations

import ast
import gc
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff._door import audit_command
from ixbackoff._door.audit import code_base, stacks
from ixbackoff._door.audit.layers import LayerTable, matches
from ixbackoff._door.audit.stack_report import product
from ixbackoff._door.audit.stacks import Follower, walked

from ..support.audited import audited

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
LOOP = """
def {name}():
    for attempt in range({tries}):
        try:
            return {inner}()
        except Exception:
            if attempt == {tries} - 1:
                raise
            time.sleep(1)
"""


def loops(*tries: int) -> str:
    """Write functions that call each other: the first has the first number of tries."""
    text = "import time\n"
    for index, number in enumerate(tries):
        text += LOOP.format(name=f"layer_{index}", tries=number, inner=f"layer_{index + 1}")
    return f"{text}\ndef layer_{len(tries)}():\n    work()\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_shows_its_output(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [source] = re.findall(r"^```python provider.py\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    [shown] = re.findall(r"^```console\n\$ .*?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (here / "provider.py").write_text(source)
    assert audit_command.main(["provider.py"]) == 1
    assert capsys.readouterr().out == shown


def test_at_most_and_the_exit_status(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.py").write_text(loops(3, 2))
    assert audit_command.main(["."]) == 1
    assert audit_command.main([".", "--at-most", "5"]) == 1
    assert audit_command.main([".", "--at-most", "6"]) == 0
    assert "No stack of more than 6 tries is certain." in capsys.readouterr().out
    audit_command.main([".", "--at-most", "6", "--all"])
    shown = capsys.readouterr().out
    assert "tries:" not in shown
    assert "No stack of more than 6 tries found." in shown
    assert audit_command.main(["absent"]) == 2
    assert capsys.readouterr().err == "absent does not exist.\n"
    (here / "a.py").write_text(loops(3, 2).replace("range(2)", "range(limit)"))
    assert audit_command.main([".", "--at-most", "6"]) == 0
    assert audit_command.main([".", "--at-most", "5"]) == 1
    assert "3 x n tries" in capsys.readouterr().out


def test_a_layer_that_is_meant_is_hidden(here: Path) -> None:
    text = loops(3, 2).replace("range(2):", "range(2):  # ixbackoff: one layer")
    (here / "a.py").write_text(text)
    assert audit_command.main(["."]) == 0


def test_tests_are_left_out(here: Path) -> None:
    (here / "tests").mkdir()
    (here / "tests" / "a.py").write_text(loops(3, 2))
    assert audit_command.main(["."]) == 0
    assert audit_command.main([".", "--tests"]) == 1


def test_a_folder_without_python_is_not_called_clean(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "notes").mkdir()
    assert audit_command.main(["notes"]) == 2
    assert capsys.readouterr() == ("", "No Python file in notes.\n")


def test_links_to_nowhere_pipes_and_folders_are_no_files(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "a.py").symlink_to(here / "nowhere")
    (here / "b.py").mkdir()
    os.mkfifo(here / "c.py")
    (here / "d.py").write_text(loops(3, 2))
    assert audit_command.main(["."]) == 1
    assert capsys.readouterr().out.startswith("modules: 1 (0 unreadable)")


def test_its_formats(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.py").write_text(loops(3, 2))
    audit_command.main([".", "--output-format", "json"])
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)["explanation"]["code"] == "retry-in-a-retry"
    audit_command.main([".", "--output-format", "sarif"])
    [result] = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    said = "A call makes 6 tries: 3 x 2, because your loop is around your loop (a.py:"
    assert result["message"]["text"].startswith(said)
    for form in ("github", "concise"):
        audit_command.main([".", "--output-format", form])
        assert "6 tries: 3 x 2" in capsys.readouterr().out


def test_a_table_of_more_libraries(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "rows.toml").write_text(
        '[[row]]\nlibrary = "acorns"\ncalls = "acorns.get"\ntries = 5\n'
    )
    (here / "a.py").write_text("import acorns\n" + loops(3).replace("work()", "acorns.get()"))
    assert audit_command.main(["."]) == 0
    assert audit_command.main([".", "--table", "rows.toml"]) == 1
    assert "15 requests: 3 x 5" in capsys.readouterr().out
    (here / "rows.toml").write_text("[[row]]\nlibrary = 3\n")
    assert audit_command.main([".", "--table", "rows.toml"]) == 2


def test_all_shows_what_is_uncertain_and_each_place(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = loops(3, 2).replace("except Exception:", "except ValueError:", 1)
    (here / "a.py").write_text(inner)
    assert audit_command.main([".", "--all"]) == 0
    printed = capsys.readouterr().out
    assert "at most 6 tries: 3 x 2" in printed
    assert "     2  your loop             a.py:13\n" in printed


def test_its_flags(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "import tenacity\n@tenacity.retry\ndef endless(): layer_0()\n" + loops(3, 4)
    text = text.replace("def layer_0", "async def layer_0").replace(
        "            time.sleep(1)\n", "", 2
    )
    (here / "a.py").write_text(text.replace("raise\n", "raise\n            time.sleep(1)\n", 1))
    audit_command.main(["."])
    printed = capsys.readouterr().out
    assert "∞ x 3 x 4 tries" in printed
    for flag in ("no stop", "time.sleep in a coroutine", "no delay"):
        assert printed.count(flag) == 1 + (flag == "no delay"), flag


@given(tries=st.lists(st.integers(2, 9), min_size=1, max_size=4), name=st.sampled_from("abc"))
def test_products(tries: list[int], name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("code")
    one = [(found.tries, found.places) for found in audited(loops(*tries), folder)]
    unrelated = loops(*tries) + f"\ndef {name}(work):\n    return [work() for _ in range(9)]\n"
    assert [(found.tries, found.places) for found in audited(unrelated, folder)] == one
    [more] = audited(loops(*tries, 2), folder)
    assert more.tries == 2 * (one[0][0] if one else tries[0])


INJECTED = """
import openai, tenacity
from openai import OpenAI
four = tenacity.retry(stop=tenacity.stop_after_attempt(4), reraise=True)
def made(**settings): return OpenAI(timeout=1, **settings)
class Bot:
    def __init__(self, client: {client}): self.client = {value}
    @four
    def chat(self): return self.client.chat.completions.create(model="m")
@four
async def aembed(client: openai.AsyncOpenAI): return await client.embeddings.create(input="a")
async def main(unknown):
    {call}
    await aembed(openai.AsyncOpenAI(max_retries=0))
"""
OR_NONE = "OpenAI | None = None"


@pytest.mark.parametrize(
    ("client", "value", "call", "said"),
    [
        ("OpenAI", "client", "Bot(OpenAI(max_retries=0)).chat()", []),
        ("OpenAI", "client", "Bot(OpenAI(max_retries=1)).chat()", ["8 requests: 4 x 2"]),
        ("OpenAI", "client", "Bot(OpenAI()).chat()", ["12 requests: 4 x 3"]),
        ("OpenAI", "client", "Bot(made(max_retries=0)).chat()", []),
        ("OpenAI", "client", "Bot(made()).chat()", ["12 requests: 4 x 3"]),
        ("OpenAI", "client", "Bot(OpenAI(**unknown)).chat()", ["at most 4 x n requests"]),
        ("OpenAI", "client", "Bot(unknown).chat()", ["at most 4 x n requests"]),
        ("OpenAI", "client", "pass", ["at most 4 x n requests"]),
        (OR_NONE, "client or OpenAI(max_retries=0)", "Bot().chat()", []),
        (OR_NONE, "client or OpenAI(max_retries=1)", "pass", ["8 requests: 4 x 2"]),
        (OR_NONE, "client or OpenAI()", "pass", ["12 requests: 4 x 3"]),
    ],
)
def test_an_annotation_does_not_say_how_often_a_client_tries(
    client: str, value: str, call: str, said: list[str], tmp_path: Path
) -> None:
    """The values that are passed count; if nobody passes one, the count is not known."""
    text = INJECTED.format(client=client, value=value, call=call)
    (tmp_path / "program.py").write_text(text)
    found = walked([(tmp_path / "program.py", tmp_path)]).all()
    assert [product(one) for one in found] == said


def test_layers_around_a_client_that_is_not_known_are_a_stack(tmp_path: Path) -> None:
    text = loops(3, 2).replace("work()", "ask()") + "def ask(of: {0}): of.{1}\n"
    for kind, call in (("openai.OpenAI", "models.list()"), ("httpx.Client", "get('a')")):
        [found] = audited("import httpx, openai\n" + text.format(kind, call), tmp_path)
        assert product(found).startswith("6 ")


NOT_MULTIPLIED = {
    "another exception": ("except Exception:", "except KeyError:", "raise\n", "raise OSError\n"),
    "no exception: it is swallowed": ("raise\n            time", "return\n            time"),
    "a fallback": ("for attempt in range(3)", "for model in ('a', 'b', 'c')"),
    "no second try": ("range(3)", "range(1)"),
    "not in the try": (
        "try:\n            return layer_1()",
        "layer_1()\n        try:\n            return 1",
    ),
    "it always leaves": (
        "            if attempt == 3 - 1:\n                raise\n",
        "            raise\n",
    ),
}


@pytest.mark.parametrize("name", NOT_MULTIPLIED)
def test_what_is_not_multiplied(name: str, tmp_path: Path) -> None:
    """Each change of a program that is a stack makes it none."""
    first, second = loops(3, 2).split("def layer_1")
    changes = NOT_MULTIPLIED[name]
    inner = name.startswith("no exception") or len(changes) == 4
    if not inner or len(changes) == 4:
        first = first.replace(changes[0], changes[1])
    if inner:
        second = second.replace(changes[-2], changes[-1])
        second = second.replace("                return\n", "                return None\n")
    text = f"{first}def layer_1{second}"
    assert len(audited(loops(3, 2), tmp_path)) == 1
    assert text != loops(3, 2)
    assert audited(text, tmp_path) == []


def test_a_loop_that_looks_at_results_is_not_around_exceptions(tmp_path: Path) -> None:
    text = """
def outer():
    for attempt in range(3):
        answer = layer_0()
        if answer:
            return answer
        time.sleep(1)
"""
    assert audited(loops(2) + text, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "tries"),
    [
        ("LIMIT = 4\n", "LIMIT"),
        ("class Settings:\n    limit: int = 4\nsettings = Settings()\n", "settings.limit"),
        ("import os\n", "int(os.getenv('LIMIT', '4'))"),
        ("import os\n", "int(os.environ.get('LIMIT', 4))"),
        ("OPTIONS = {'limit': 4}\n", "OPTIONS['limit']"),
        ("def limit(more=1): return 3 + more\n", "limit()"),
        ("LIMIT = 3\n", "max(LIMIT + 1, 0)"),
    ],
)
def test_counts_are_followed(text: str, tries: str, tmp_path: Path) -> None:
    program = loops(4, 2).replace("range(4)", f"range({tries})")
    [found] = audited(text + program, tmp_path)
    assert found.tries == 8


WHILE = """
def outer(limit=4):
    attempt = 0
    while {test}:
        {before}
        try:
            return layer_0()
        except Exception:
            {after}
            time.sleep(2 ** attempt)
"""


@pytest.mark.parametrize(
    ("test", "before", "after"),
    [
        ("attempt < limit", "pass", "attempt += 1"),
        ("attempt <= 3", "pass", "attempt += 1"),
        ("True", "attempt += 1", "if attempt >= limit: raise"),
        ("True", "attempt += 1", "if attempt > 3: raise"),
        ("True", "pass", "attempt += 1\n            if attempt == limit: raise"),
        ("True", "attempt += 1", "if limit <= attempt: raise"),
    ],
)
def test_counters(test: str, before: str, after: str, tmp_path: Path) -> None:
    text = loops(2) + WHILE.format(test=test, before=before, after=after)
    [found] = audited(text, tmp_path)
    assert (found.tries, found.unknown) == (8, 0)
    names: dict[str, object] = {}
    counted: list[int] = []

    def work() -> None:
        counted.append(1)
        raise OSError

    exec(text.replace("import time", "class time:\n    sleep = print"), names)  # noqa: S102
    names["work"] = work
    outer = names["outer"]
    assert callable(outer)
    with suppress(OSError):
        outer()
    assert len(counted) == 8


@pytest.mark.parametrize(
    ("lock", "text", "tries"),
    [
        ("uv.lock", '[[package]]\nname = "redis"\nversion = "7.1.0"\n', 4),
        ("requirements.txt", "redis==8.1.0\n", 11),
        ("requirements-dev.txt", "redis==5.0.8\n", None),
    ],
)
def test_the_row_of_a_version(lock: str, text: str, tries: int | None, tmp_path: Path) -> None:
    (tmp_path / lock).write_text(text)
    row = LayerTable(None, [tmp_path]).find("redis.Redis().ping", wraps=False)
    assert (row and row["tries"]) == tries


@given(
    st.tuples(st.integers(0, 9), st.integers(0, 9)), st.tuples(st.integers(0, 9), st.integers(0, 9))
)
def test_ranges_of_versions(version: tuple[int, int], limit: tuple[int, int]) -> None:
    bound = ".".join(map(str, limit))
    assert matches([*version], f">={bound}") == (version >= limit)
    assert matches([*version], f"<{bound}") == (version < limit)


def test_modules_find_each_other(tmp_path: Path) -> None:
    package = tmp_path / "src" / "nuts"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .inner import layer_1\n")
    first, second = loops(3, 2).split("def layer_1")
    (package / "inner.py").write_text(f"import time\ndef layer_1{second}")
    outer = package / "outer.py"
    outer.touch()
    files = [(file, tmp_path) for file in package.rglob("*.py")]
    for line in ("from .inner import layer_1", "from nuts import layer_1", "from . import layer_1"):
        outer.write_text(f"{line}\n{first}")
        assert [one.tries for one in walked(files).all()] == [6], line
    assert [one.tries for one in walked((file, tmp_path.parent) for file, _ in files).all()] == [6]
    outer.write_text(
        dedent("from . import inner\n" + first.replace("layer_1()", "inner.layer_1()"))
    )
    assert [one.tries for one in walked(files).all()] == [6]


@pytest.mark.slow
def test_no_source_is_too_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m benchmarks.auditing` reads the whole of the standard library, and all packages."""
    monkeypatch.setattr(code_base, "KEPT", 10**8)  # or most of the time goes to parsing again
    library = Path(json.__file__).parents[1]
    parts = ("*.py", "asyncio/*.py", "email/*.py", "json/*.py")
    walk = walked((one, library) for part in parts for one in library.glob(part))
    assert [one.sure for one in walk.all()] == []
    assert [one.path for one in walk.code.modules.values() if not one.readable] == []


def mutual(folder: Path, modules: int) -> list[tuple[Path, Path]]:
    """Write modules that import and call all others; each has a loop."""
    names = [f"module_{index}" for index in range(modules)]
    calls = "".join(f"    {name}.layer_0()\n" for name in names)
    text = f"import {', '.join(names)}\n{loops(2)}\ndef everything():\n{calls}"
    for name in names:
        (folder / f"{name}.py").write_text(text)
    return [(folder / f"{name}.py", folder) for name in names]


def test_modules_that_import_each_other_are_parsed_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[object] = []
    parse: Any = ast.parse

    def counted(*given: object, **named: object) -> Any:
        parsed.append(given)
        return parse(*given, **named)

    monkeypatch.setattr(ast, "parse", counted)
    files = mutual(tmp_path, 40)
    assert walked(files).all() == []
    assert len(parsed) == 40
    parsed.clear()
    monkeypatch.setattr(code_base, "KEPT", 1)
    assert walked(files).all() == []
    times = len(parsed) / 40
    assert 2 < times < 2 * (code_base.SHARE + 2)


def test_trees_are_not_visited_by_the_garbage_collector(tmp_path: Path) -> None:
    """It took nearly all of the time: each new tree makes it look at those that are kept."""
    collected: list[str] = []
    walk = walked(mutual(tmp_path, 20))

    def callback(phase: str, _: dict[str, int]) -> None:
        collected.append(phase)

    gc.callbacks.append(callback)
    walk.all()
    gc.callbacks.remove(callback)
    assert len(collected) < 10
    assert gc.isenabled()


def test_functions_that_call_each_other_with_any_arguments_are_read_in_part(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many = "".join(
        f"def f_{index}(g, h):\n"
        + "".join(
            f"    f_{min(other, 398)}(f_{index}, h)\n" for other in range(index + 1, index + 9)
        )
        for index in range(398)
    )
    (here / "a.py").write_text(
        many + "def f_398(g, h):\n    g(h)\n    layer_0()\n" + loops(3, 2, 2, 2)
    )
    calls: list[object] = []
    call = Follower.call

    def counted(*given: Any) -> tuple[Any, ...]:
        calls.append(given)
        return call(*given)

    monkeypatch.setattr(Follower, "call", counted)
    monkeypatch.setattr(stacks, "SPARE", 1_000)
    assert audit_command.main(["."]) == 1
    printed = capsys.readouterr().out
    assert "24 tries: 3 x 2 x 2 x 2" in printed
    assert "functions followed in part, as too many calls are below them: " in printed
    assert len(calls) < 1_000 + 400 * stacks.EACH + stacks.MOST
