"""The public names: all are there, also those whose module is imported when they are first used."""

from __future__ import annotations

import pickle
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import ixbackoff
from ixbackoff import N2, Log, at, backoff


def test_all_public_names_are_there() -> None:
    starred: dict[str, Any] = {}
    exec("from ixbackoff import *", starred)  # noqa: S102
    assert set(ixbackoff.__all__) == starred.keys() - {"__builtins__"} <= set(dir(ixbackoff))
    assert not [name for name, value in starred.items() if isinstance(value, ModuleType)]


def test_what_is_defined_in_here_is_shown_as_public() -> None:
    shown = {getattr(getattr(ixbackoff, name), "__module__", "") for name in ixbackoff.__all__}
    assert not [module for module in shown if module.startswith("ixbackoff._")]


def test_what_few_programs_need_is_imported_when_it_is_first_used() -> None:
    code = (
        "import sys, ixbackoff\n"
        "later = {'ixbackoff._meaning.planning', 'ixbackoff._writing.several_effects'}\n"
        "assert not later & sys.modules.keys()\n"
        "assert {'Plan', 'plan', 'First', 'all_of', 'first_of'} <= set(dir(ixbackoff))\n"
        "assert ixbackoff.plan(ixbackoff.at(ixbackoff.N2)).__class__ is ixbackoff.Plan\n"
        "from ixbackoff import all_of, First\n"
        "assert later <= sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_a_plan_and_a_rung_can_be_pickled() -> None:
    known = ixbackoff.plan(at(N2).retry(Log("one")))
    assert b"_meaning" not in pickle.dumps(known.__class__)
    assert pickle.loads(pickle.dumps(known)) == known  # noqa: S301
    assert backoff(N2).plan(print).seconds == known.seconds
    assert pickle.loads(pickle.dumps(N2)) == N2  # noqa: S301


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'ixbackoff' has no attribute 'Paln'$"):
        getattr(ixbackoff, "Paln")  # noqa: B009
