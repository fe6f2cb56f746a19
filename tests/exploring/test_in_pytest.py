"""A test that fails shows the history, and no frame of ours."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TEST = """
from dataclasses import dataclass, field
from ixbackoff import N1, Command, Interpreter, at
from ixbackoff.testing.exploring import Model

@dataclass(frozen=True)
class Charge(Command[None]):
    order: str

@dataclass
class Shop:
    charges: list = field(default_factory=list)

    def interpreter(self):
        return Charge.handled_by(lambda command: self.charges.append(command.order))

    def charged_once(self):
        assert len(self.charges) <= 1

def test_shop():
    Model(Shop, Shop.interpreter, always=Shop.charged_once).explore(at(N1).retry(Charge("42")))
"""


@pytest.fixture
def output(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=TEST)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)
    return done.outlines


def test_no_frame_of_ours_is_shown(output: list[str]) -> None:
    assert not [line for line in output if "exploring/" in line]
    frames = [line for line in output if line.startswith("test_it.py:")]
    assert len(frames) == 1


def test_the_history_is_shown(output: list[str]) -> None:
    shown = [line.removeprefix("E").strip() for line in output if line.startswith("E")]
    assert shown[0].startswith("ixbackoff.testing.exploring.Broken: assert 2 <= 1")
    assert shown[1:] == [
        "! 0  Charge(order='42')  is done, but answers ServerError",
        "charges: [] => ['42']",
        "... waits 1 s",
        "1  Charge(order='42')",
        "charges: ['42'] => ['42', '42']",
        "again: explore(..., only='0 is done, but answers ServerError')",
    ]
