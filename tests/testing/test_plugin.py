"""The pytest plugin, in real runs of pytest."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

TESTED = """
from ixbackoff import N3, Constant, NotReady, backoff

@backoff(N3, schedule=Constant(3600))
def page():
    raise NotReady("still copying")

@backoff(N3, schedule=Constant(3600))
async def page_async():
    raise NotReady("still copying")
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Make a project with a module `tested`, whose functions wait for hours."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("CI", "BUILD_NUMBER"):  # with either, pytest's summary has whole messages
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(tested=TESTED)
    return pytester


def run(project: pytest.Pytester, test: str, *words: str, policy: str = "") -> pytest.RunResult:
    """Run a test, with the plugin and that of anyio, in a process of its own."""
    if policy:
        project.makeini(f"[pytest]\nixbackoff_real_waits = {policy}\n")
    project.makepyfile(test_it=test)
    plugins = ("-p", "_ixbackoff_pytest", "-p", "anyio")
    words = (*plugins, "-W", "error", "--strict-markers", "-p", "no:cacheprovider", *words)
    return project.runpytest_subprocess(*words, timeout=60)


# Waits.

WAITING = """
import asyncio, pytest, trio
from ixbackoff import NotReady
from tested import page, page_async

def test_sync({fixture}):
    with pytest.raises(NotReady):
        page()

def test_asyncio({fixture}):
    with pytest.raises(NotReady):
        asyncio.run(page_async())

def test_trio({fixture}):
    with pytest.raises(NotReady):
        trio.run(page_async)

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_awaited({fixture}):
    with pytest.raises(NotReady):
        await page_async()
"""


@pytest.mark.parametrize("policy", ["", "allow", "forbid", "skip"])
def test_with_no_waits_they_take_no_time_whatever_is_set(
    project: pytest.Pytester, policy: str
) -> None:
    test = WAITING.format(fixture="no_waits")
    test += "\ndef test_seconds(no_waits):\n    test_sync(no_waits)\n"
    test += "    assert no_waits.waited == [3600, 3600, 3600]\n"
    run(project, test, policy=policy).assert_outcomes(passed=6)


def test_skip_makes_all_waits_take_no_time(project: pytest.Pytester) -> None:
    run(project, WAITING.format(fixture=""), policy="skip").assert_outcomes(passed=5)


def test_forbid_fails_each_test_that_would_really_wait(project: pytest.Pytester) -> None:
    result = run(project, WAITING.format(fixture=""), policy="forbid")
    result.assert_outcomes(failed=5)
    result.stdout.fnmatch_lines(
        [
            "E*Misuse: This test would really wait 3600 s: run it in virtual time, with the "
            "fixture `virtual`; let waits take no time, with the fixture `no_waits`; or mark it "
            "@pytest.mark.real_waits."
        ]
    )


def test_forbid_fails_a_test_that_catches_everything(project: pytest.Pytester) -> None:
    test = """
from contextlib import suppress
from threading import Thread
from tested import page

def test_caught():
    with suppress(Exception):
        page()

def test_in_a_thread():
    def call():
        with suppress(Exception):
            page()
    thread = Thread(target=call)
    thread.start()
    thread.join()
"""
    result = run(project, test, policy="forbid")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["This test would really wait 3600 s: *"])


def test_what_does_not_wait_and_what_is_marked_passes(project: pytest.Pytester) -> None:
    test = """
import time, pytest
from ixbackoff import N1, Constant, NotReady, backoff

@backoff(N1, schedule=Constant(0.1))
def soon():
    raise NotReady

def test_none():
    assert backoff(N1)(len)("four") == 4

@pytest.mark.real_waits
def test_marked():
    begun = time.monotonic()
    with pytest.raises(NotReady):
        soon()
    assert time.monotonic() - begun >= 0.1

@pytest.fixture(scope="session")
def service():
    with pytest.raises(NotReady):
        soon()

def test_a_fixture_may_wait(service):
    pass
"""
    for policy in ("forbid", "skip", "allow"):
        run(project, test, policy=policy).assert_outcomes(passed=3)


def test_a_wrong_policy_is_an_error_in_one_sentence(project: pytest.Pytester) -> None:
    result = run(project, "", policy="never")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*ixbackoff_real_waits = never: write allow, forbid or skip."])


def test_marks_and_settings_are_explained(project: pytest.Pytester) -> None:
    assert "real_waits: this test may really wait" in run(project, "", "--markers").stdout.str()
    assert "ixbackoff_real_waits" in run(project, "", "--help").stdout.str()


# Virtual time.

VIRTUAL = """
import asyncio, pytest, trio
from ixbackoff import Call, CallAsync, NotReady
from ixbackoff.testing import answers
from tested import page, page_async

def test_sync(virtual):
    world = virtual(Call.handled_by(answers(NotReady(), "page")))
    assert page() == "page"
    assert world.waits == [3600]

def test_another_one(virtual):
    virtual(Call.handled_by(answers("page")))
    world = virtual(Call.handled_by(answers("other")))
    assert page() == "other"

@pytest.mark.parametrize("run", [lambda f: asyncio.run(f()), trio.run])
def test_loops(virtual, run):
    world = virtual(CallAsync.handled_by(answers(NotReady(), "page")))
    assert run(page_async) == "page"
    assert world.waits == [3600]

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_awaited(virtual):
    async def asked(command):
        return "awaited"
    world = virtual(CallAsync.awaited_by(asked))
    assert await page_async() == "awaited"
    assert len(world.trace) == 1

def test_nothing_is_left():
    from ixbackoff._functions.default_interpreters import OTHERS
    assert OTHERS.get() is None
"""


def test_worlds_answer_for_functions_until_the_test_is_over(project: pytest.Pytester) -> None:
    result = run(project, VIRTUAL, policy="forbid")
    result.assert_outcomes(passed=6, failed=1)  # the second one leaves an answer unasked
    result.stdout.fnmatch_lines(["*unused answers:", "*Call: 'page'"])
    assert str(result.stdout).count("unused answers:") == 1
    result.stdout.fnmatch_lines(["FAILED *Failed: The script of this test *"])


def test_an_event_loop_that_outlives_a_test_does_not_keep_its_world(
    project: pytest.Pytester,
) -> None:
    test = """
import pytest
from ixbackoff import CallAsync, NotReady
from ixbackoff.testing import answers
from tested import page_async

pytestmark = pytest.mark.anyio

@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

@pytest.fixture(scope="module", autouse=True)
async def keeps_the_loop(anyio_backend):
    yield

async def test_first(virtual):
    virtual(CallAsync.handled_by(answers("page")))
    assert await page_async() == "page"

async def test_second(no_waits):
    with pytest.raises(NotReady):
        await page_async()
"""
    run(project, test).assert_outcomes(passed=4)


def test_a_test_that_fails_prints_what_was_performed(project: pytest.Pytester) -> None:
    test = """
from ixbackoff import Call, NotReady
from ixbackoff.testing import answers
from tested import page

def test_it(virtual):
    virtual(Call.handled_by(answers(NotReady(), "page")))
    assert page() == "another page"
"""
    result = run(project, test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "* ixbackoff: performed *",
            "     0.000  call(page) -> raised NotReady()",
            "     0.000  Delay(seconds=3600.0, rung=3) -> None",
            "  3600.000  call(page) -> 'page'",
        ]
    )


def test_what_has_no_script_fails_the_test_also_if_it_is_caught(project: pytest.Pytester) -> None:
    test = """
from ixbackoff import N0, Call, Pick, Upload, at
from ixbackoff.testing import answers

def test_it(virtual):
    world = virtual(Call.handled_by(answers()))
    try:
        at(N0).do(Upload("a", "b")).run(world.interpreter)
    except BaseException:
        pass
"""
    result = run(project, test)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Upload(*: this kind has no script"])


# Assertions.


def test_plans_and_traces_that_differ_stand_side_by_side(project: pytest.Pytester) -> None:
    test = """
from ixbackoff import N1, N2, Call, Log, NotReady, at, call, plan
from ixbackoff.testing import Virtual, answers, waited

def test_plans():
    assert plan(at(N1).retry(Log("try"))) == plan(at(N2).retry(Log("try")))

def performed(*script):
    world = Virtual(Call.handled_by(answers(*script)))
    at(N1).retry(call(len, "abc")).run(world.interpreter)
    return world

def test_traces():
    assert performed(1).trace == performed(NotReady(), 1).trace

def test_commands():
    assert performed(1).commands == [call(len, "abc"), waited(1)]

def test_other_lists():
    assert [1] == [2]
"""
    result = run(project, test)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "E *assert these plans are the same",
            "E *  rung  tries    then waits  if      | rung  tries    then waits  if",
            "E *! N1        1           1 s  failed  | N2        1           1 s  failed",
            "E *: assert these traces are the same",
            "E *! 0.000 call(len, 'abc') -> 1  | 0.000 call(len, 'abc') -> raised NotReady()",
            "E *!                              | 0.000 Delay(seconds=1.0, rung=1) -> None",
            "E *: assert these traces are the same",
            "E *  call(len, 'abc')  | call(len, 'abc')",
            "E *!                   | waited(1)",
            "E *assert [[]1] == [[]2]",
        ]
    )


def test_plans_are_compared_without_an_import_of_testing(project: pytest.Pytester) -> None:
    test = """
from ixbackoff import N1, N2, Log, at, plan

def test_plans():
    assert plan(at(N1).retry(Log("try"))) == plan(at(N2).retry(Log("try")))
"""
    run(project, test).stdout.fnmatch_lines(["E *assert these plans are the same"])


def test_tracebacks_show_the_test_and_the_code_under_test_only(project: pytest.Pytester) -> None:
    test = """
import asyncio
from ixbackoff import N1, Call, Constant, answered_by, at, backoff, call, do
from ixbackoff.live import live
from ixbackoff.testing import Virtual, answers, no_waits

def broken():
    raise NotImplementedError("it is broken")

async def broken_async():
    return broken()

def test_function():
    backoff(N1)(broken)()

def test_coroutine_function():
    asyncio.run(backoff(N1)(broken_async)())

def test_block():
    for one_try in backoff(N1):
        with one_try:
            broken()

def test_program():
    at(N1).retry(do(call(broken)).limit(5)).run(live(), within=60)

def test_virtual():
    world = Virtual(Call.handled_by(answers(NotImplementedError("it is broken"))))
    with answered_by(world.interpreter):
        backoff(N1)(broken)()

def test_expected():
    Virtual(Call.handled_by(answers())).expect(call(len))
"""
    result = run(project, test)
    result.assert_outcomes(failed=6)
    shown = [line for line in result.outlines if "ixbackoff/" in line]
    assert [line for line in shown if "live/" not in line] == []
    assert len(result.outlines) < 150
    assert "ixbackoff/_running/command_loops.py" in run(project, test, "--full-trace").stdout.str()


# What it costs.


def test_the_package_is_imported_for_tests_that_use_it_only(project: pytest.Pytester) -> None:
    test = """
import sys

def test_nothing():
    assert "_ixbackoff_pytest" in sys.modules
    assert not [name for name in sys.modules if name.startswith("ixbackoff")]

def test_a_comparison():
    try:
        assert [1] == [2]
    except AssertionError:
        pass
    test_nothing()
"""
    run(project, test).assert_outcomes(passed=2)


def test_it_is_installed_as_a_plugin() -> None:
    import tomllib
    from pathlib import Path

    settings: Any = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["pytest11"] == {"ixbackoff": "_ixbackoff_pytest"}
