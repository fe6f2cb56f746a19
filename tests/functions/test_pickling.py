"""Functions under `backoff` retry in the process that they are sent to."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N3,
    Backoff,
    Constant,
    Exponential,
    NotReady,
    Throttled,
    at,
    backoff,
    call,
    do,
    plan,
)

cloudpickle: Any = import_module("cloudpickle")

SENT = """
import asyncio
import sys

import cloudpickle

from ixbackoff import N3, Constant, NotReady, Throttled, backoff
from ixbackoff.durable import durable

patiently = backoff(N3, on=(NotReady, KeyError), schedule=Constant(5))
usual = backoff(N3, until=lambda answer: answer is not None)


def flaky(answer):
    tries = []

    def answered(*args):
        tries.append(args)
        if len(tries) < 3:
            raise NotReady if len(tries) < 2 else Throttled(7)
        return answer, args

    return answered


page = usual(flaky("page"))


@backoff(N3)
async def page_async(number, tries=[]):
    tries.append(number)
    if len(tries) < 3:
        raise NotReady if len(tries) < 2 else Throttled(7)
    return "page_async", (number,)


class Pages:
    def __init__(self):
        self.ask = flaky("method")

    @usual
    def page(self, number):
        return self.ask(number)



@durable(name="order")
def order(number):
    return usual.program(flaky("order"), number)


sys.stdout.buffer.write(cloudpickle.dumps([cloudpickle.dumps(eval(one)) for one in sys.argv[1:]]))
"""

LOADED = """
import asyncio
import contextvars
import sys
import threading

import cloudpickle

from ixbackoff.live import live
from ixbackoff.observing import observed
from ixbackoff.testing import no_waits, single_try

loaded = cloudpickle.loads(sys.stdin.buffer.read())


def answered(answer):
    async def wait():
        return await answer

    return asyncio.run(wait()) if asyncio.iscoroutine(answer) else answer

"""


METHODS = {
    "page": "page",
    "page_async": "page_async",
    "Pages().page": "method",
    "(lambda number, own=Pages(): own.page(number))": "method",
}
"""Objects of a program's own, and what they answer."""


@pytest.fixture(scope="module")
def pickled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Objects of a program's own, each pickled by itself, all in one process."""
    whats = [*METHODS, "(page, patiently)", "order", "order(3)"]
    made = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SENT, *whats],
        cwd=tmp_path_factory.mktemp("pickling"),
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr.decode()
    return dict(zip(whats, pickle.loads(made.stdout), strict=True))  # noqa: S301


def received(pickled: bytes, then: str, where: Path) -> str:
    """Use a pickled object in a process of its own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LOADED + textwrap.dedent(then)],
        input=pickled,
        cwd=where,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.mark.parametrize("what", METHODS)
def test_a_function_is_retried_where_it_is_sent(
    what: str, pickled: dict[str, bytes], tmp_path: Path
) -> None:
    said = received(
        pickled[what],
        """
        with no_waits() as waits:
            print(answered(loaded(3)), waits.waited)
        """,
        tmp_path,
    )
    assert said == f"('{METHODS[what]}', (3,)) [1.0, 7.0]"


def test_it_obeys_the_switches_and_the_observers_of_its_process(
    pickled: dict[str, bytes], tmp_path: Path
) -> None:
    said = received(
        pickled["page"],
        """
        events = []
        with observed(events.append):
            with single_try():
                try:
                    loaded(3)
                except Exception as failure:
                    print(type(failure).__name__, len(failure.__notes__))
            with no_waits():
                print(loaded(3))
        print(*[event.__class__.__name__ for event in events])
        """,
        tmp_path,
    )
    assert said.splitlines() == [
        "NotReady 1",
        "('page', (3,))",
        "Began Issued Answered Ended Began Issued Answered WaitBegan Issued Answered Ended",
    ]


def test_a_call_inside_another_one_is_rejected_there(
    pickled: dict[str, bytes], tmp_path: Path
) -> None:
    """In this context, and in another one, where only the stack shows the outer call."""
    for inner in ("loaded[0](3)", "contextvars.Context().run(loaded[0], 3)"):
        said = received(
            pickled["(page, patiently)"],
            f"""
            def outer():
                return {inner}
            outer = cloudpickle.loads(cloudpickle.dumps(loaded[1](outer)))
            try:
                outer()
            except Exception as failure:
                print(failure)
            """,
            tmp_path,
        )
        assert said.startswith("answered (backoff N3) was called inside outer (backoff N3)")


def test_a_program_and_a_workflow_run_where_they_are_sent(
    pickled: dict[str, bytes], tmp_path: Path
) -> None:
    for what, program in (("order", "loaded(3)"), ("order(3)", "loaded")):
        then = f"with no_waits() as waits: print({program}.run(live()), waits.waited)"
        assert received(pickled[what], then, tmp_path) == "('order', (3,)) [1.0, 7.0]"


@pytest.mark.parametrize("module", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
@pytest.mark.parametrize(
    "given",
    [
        backoff(N3),
        backoff(N0, on=NotReady, within=60, nested="once", name="page"),
        backoff(FOREVER, on=[NotReady, Throttled], schedule=Exponential(base=2).jittered()),
        backoff(N3, schedule=Constant(0.001)),
    ],
    ids=repr,
)
def test_a_backoff_is_pickled_as_its_arguments(module: Any, given: Backoff[Any]) -> None:
    assert repr(module.loads(module.dumps(given))) == repr(given)


@pytest.mark.parametrize("module", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_a_pickled_program_has_the_same_plan(module: Any) -> None:
    program = at(N3).retry(do(call(pow, 2, 5)).map(str))
    assert plan(module.loads(module.dumps(program))) == plan(program)


def test_the_state_of_others_is_not_pickled() -> None:
    from contextvars import ContextVar
    from threading import local

    for state in (ContextVar[int]("number"), local()):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(state)


@pytest.mark.slow
def test_workers_of_dask_and_of_joblib_retry() -> None:
    def flaky(number: int, tries: list[int]) -> int:
        tries.append(number)
        if len(tries) < 3:
            raise NotReady
        return number * len(tries)

    flaky.__module__ = "__main__"  # or it would be sent as its name
    asked = backoff(N3, schedule=Constant(0.001))(flaky)
    joblib: Any = import_module("joblib")
    with joblib.parallel_config("loky", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(asked)(number, []) for number in (1, 2)) == [3, 6]
    distributed: Any = import_module("distributed")
    cluster = distributed.LocalCluster(n_workers=1, host="127.0.0.1", dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        assert client.gather(client.map(lambda number: asked(number, []), [1, 2])) == [3, 6]
    joblib.externals.loky.get_reusable_executor().shutdown()
