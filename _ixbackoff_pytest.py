"""The pytest plugin of ixbackoff: tests that do not really wait.

It is outside of the package, so that pytest imports the package only for tests that use it, or for
all if `ixbackoff_real_waits` is set.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ixbackoff.testing import NoWaits, Worlds

POLICIES = ("allow", "forbid", "skip")
OPTION = "ixbackoff_real_waits"
MARK = "real_waits"
WORLDS = pytest.StashKey["Worlds"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(OPTION, "waits of ixbackoff in a test: allow, forbid or skip", default="allow")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: this test may really wait, whatever {OPTION} says")
    policy = config.getini(OPTION)
    if policy not in POLICIES:
        raise pytest.UsageError(f"{OPTION} = {policy}: write allow, forbid or skip.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test under its policy for waits; fail it after a forbidden wait, or if `check` does."""
    policy = "allow" if item.get_closest_marker(MARK) else item.config.getini(OPTION)
    if policy == "allow":
        result = yield
    elif policy == "skip":
        from ixbackoff.testing import no_waits

        with no_waits():
            result = yield
    else:
        from ixbackoff.testing.suite_switches import NoRealWaits

        with NoRealWaits() as waits:
            result = yield
        if waits.refused:  # and the test has caught the exception
            pytest.fail(str(waits.refused[0]), pytrace=False)
    if WORLDS in item.stash:
        check(item.stash[WORLDS])
    return result


def check(worlds: Worlds) -> None:
    """Fail the test if scripted answers are left, or if a command had none."""
    from ixbackoff.testing import Unscripted

    said = None
    try:
        worlds.check()
    except (AssertionError, Unscripted) as error:
        said = f"The script of this test was not followed.\n{error}"
    if said is not None:  # outside of the `except`, or pytest would print it twice
        pytest.fail(said, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the performed commands to the report of a test that failed."""
    report = yield
    if report.failed and call.when == "call" and WORLDS in item.stash:
        for world in item.stash[WORLDS].made:
            report.sections.append(("ixbackoff: performed", world.performed()))
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Write two plans, or two traces, side by side."""
    if op != "==" or "ixbackoff" not in sys.modules:
        return None
    from ixbackoff.testing.comparison_text import compared

    return compared(left, right)


@pytest.fixture
def no_waits() -> Iterator[NoWaits]:
    """Make the waits of ixbackoff take no time; `no_waits.waited` lists their seconds."""
    from ixbackoff.testing import no_waits

    with no_waits() as waits:
        yield waits


@pytest.fixture
def virtual(request: pytest.FixtureRequest) -> Iterator[Worlds]:
    """Make worlds with scripted answers, `virtual(Kind.handled_by(answers(...)))`.

    The newest world also answers decorated functions, until the end of the test. The test fails if
    answers are left, and the report of a failed test shows the performed commands.
    """
    from ixbackoff.testing import Worlds

    with Worlds() as worlds:
        request.node.stash[WORLDS] = worlds
        yield worlds
