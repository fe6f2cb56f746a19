"""`check` reports retries inside of others before the first run: the same that a run rejects."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from ixbackoff import Misuse, NotReady
from ixbackoff._door import check_command
from ixbackoff._door.audit.stack_report import nested
from ixbackoff._door.audit.stacks import walked
from ixbackoff.testing import no_waits

HEAD = """
import asyncio
from ixbackoff import FOREVER, N0, N1, N3, NotReady, at, backoff, call
from ixbackoff.live import live
from ixbackoff.testing import single_try
def fail(): raise NotReady
async def fail_async(): raise NotReady
@backoff(N3)
def inner(): fail()
"""
WRONG = {
    "direct": "@backoff(FOREVER)\ndef main(): inner()",
    "through a helper": "def helper(): inner()\n@backoff(N1)\ndef main(): helper()",
    "a backoff with a name": "patiently = backoff(N1)\n@patiently\ndef main(): inner()",
    "a replaced one": "patiently = backoff(N1)\n@patiently.replace(within=9)\ndef main(): inner()",
    "methods": """
class Shop:
    @backoff(N1)
    def price(self): fail()
    @backoff(N1)
    def book(self): self.price()
def main(): Shop().book()""",
    "coroutines": """
@backoff(N1)
async def price(): await fail_async()
@backoff(N1)
async def book(): await price()
def main(): asyncio.run(book())""",
    "a block": """
def main():
    for one_try in backoff(N1):
        with one_try:
            inner()""",
    "a lambda": "def main(): backoff(N1).call(lambda: inner())",
    "a program": "@backoff(N1)\ndef main(): at(N1).retry(call(fail)).run(live())",
    "a program in what is nested once": (
        "@backoff(N1, nested='once')\ndef main(): at(N1).retry(call(fail)).run(live())"
    ),
    "a function in a program": "def main(): at(N1).retry(call(inner)).run(live())",
    "other failures": (
        "@backoff(N1, on=OSError)\ndef other(): raise OSError\n"
        "@backoff(N1, on=KeyError)\ndef main(): other()"
    ),
    "beside one that is nested once": (
        "@backoff(N1)\ndef main(): backoff(N1, nested='once')(repr)(0), backoff(N1)(fail)()"
    ),
    "an argument": "def once(function): function()\n@backoff(N1)\ndef main(): once(inner)",
    "a single try": (
        "def main():\n    with single_try():\n        for one_try in backoff(N1):\n"
        "            with one_try: inner()"
    ),
}
RIGHT = {
    "nested once, outside": "@backoff(N1, nested='once')\ndef main(): inner()",
    "nested once, inside": (
        "@backoff(N1, nested='once')\ndef price(): fail()\n@backoff(N1)\ndef main(): price()"
    ),
    "replaced by nested once": (
        "patiently = backoff(N1)\n@patiently.replace(nested='once')\ndef main(): inner()"
    ),
    "nested once, in a program": (
        "@backoff(N1, nested='once')\ndef price(): fail()\n"
        "def main(): at(N1).retry(call(price)).run(live())"
    ),
    "a program at N0": "@backoff(N1)\ndef main(): at(N0).retry(call(fail)).run(live())",
    "instead of its own": "def main(): backoff(N1).call(inner)",
    "no wait": "@backoff(N0, within=2)\ndef main(): inner()",
    "no decorator": "def main(): inner()",
    "not called": "@backoff(N1)\ndef main(): return lambda: inner()",
    "one after the other": (
        "@backoff(N1)\ndef other(): fail()\n"
        "def main():\n    try: inner()\n    except NotReady: other()"
    ),
}


def reported(text: str, folder: Path) -> list[str]:
    file = folder / "program.py"
    file.write_text(HEAD + text)
    return [one.explanation.sentence for one in nested(walked([(file, folder)]).all())]


def run(text: str) -> None:
    names: dict[str, object] = {}
    exec(HEAD + text, names)  # noqa: S102
    main = names["main"]
    assert callable(main)
    with no_waits():
        main()


@pytest.mark.parametrize("name", WRONG)
def test_what_a_run_rejects_is_reported(name: str, tmp_path: Path) -> None:
    [said] = reported(WRONG[name], tmp_path)
    assert said.endswith("and both retry: their tries would multiply.")
    with pytest.raises(Misuse, match="retries would multiply"):
        run(WRONG[name])


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_run_accepts_is_left_alone(name: str, tmp_path: Path) -> None:
    assert reported(RIGHT[name], tmp_path) == []
    with suppress(NotReady):
        run(RIGHT[name])


def test_the_sentence_names_the_helpers(tmp_path: Path) -> None:
    [said] = reported("def helper(): inner()\n@backoff(N1)\ndef main(): helper()", tmp_path)
    assert said == (
        f"main calls inner ({tmp_path / 'program.py'}:8) by helper, and both retry: their tries "
        "would multiply."
    )


ADVICE = {
    "direct": ', or give either nested="once".',
    "a function in a program": ', or give the inner one nested="once".',
    "a program": ": at(N0) switches the inner one off.",
    "a program in what is nested once": ": at(N0) switches the inner one off.",
}


@pytest.mark.parametrize("name", ADVICE)
def test_the_advice_is_what_the_run_would_accept(name: str, tmp_path: Path) -> None:
    """Each has its right program in `RIGHT`."""
    file = tmp_path / "program.py"
    file.write_text(HEAD + WRONG[name])
    [one] = nested(walked([(file, tmp_path)]).all())
    assert one.explanation.fix == f"Let only one of them retry{ADVICE[name]}"


def test_each_pair_is_reported_once(tmp_path: Path) -> None:
    text = "@backoff(N1)\ndef middle(): inner()\n"
    text += "".join(f"@backoff(N1)\ndef {name}(): middle()\n" for name in "ab")
    said = [one.partition(" (")[0] for one in reported(text, tmp_path)]
    assert sorted(said) == ["a calls middle", "b calls middle", "middle calls inner"]


def test_a_client_that_may_not_be_tried_again_is_left_alone(tmp_path: Path) -> None:
    patient = "@backoff(N3, on=lambda failure: False)"
    assert reported(CLIENT.replace("@backoff(N3)", patient), tmp_path) == []


CLIENT = "import redis\n@backoff(N3)\ndef main(): redis.Redis().ping()"


def test_a_client_that_retries_by_itself_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_command, "output", lambda _: (b"Success: no issues found\n", 0))
    Path("program.py").write_text(HEAD + CLIENT)
    assert check_command.main(["program.py"]) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert (
        "program.py:11: warning: main calls redis.Redis().ping (program.py:12), which " in printed
    )
    assert "redis retries by itself: 4 x 11 tries.  [retry-in-a-retry]" in printed
    assert check_command.main(["--output-format", "github", "program.py"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"::warning ")
    Path("program.py").write_text(HEAD + CLIENT.replace("Redis()", "Redis(retry=None)"))
    check_command.main(["program.py"])
    assert b"warning" not in capfdbinary.readouterr().out
    Path("program.py").write_text(HEAD + WRONG["direct"])
    assert check_command.main(["program.py"]) == 1
