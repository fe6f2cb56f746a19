"""Connections that are kept: shared by commands in turn, by none at the same time, and closed."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from ixbackoff import N0, N1, Download, Misuse, all_of, at, call
from ixbackoff.live import (
    Connections,
    Limits,
    live,
    live_async,
    response_headers,
    response_headers_async,
)

from ..support.servers.keeping import BODY, Keeper, keeping
from ..support.ways.live import open_descriptors

pytestmark = pytest.mark.slow

PATIENT = Limits(read_timeout=20.0)
each_runner = pytest.mark.parametrize("runner", ["asyncio", "trio"])


def run(runner: str, work: Callable[[], Awaitable[Any]]) -> None:
    async def working() -> None:
        await work()

    if runner == "asyncio":
        asyncio.run(working())
    else:
        trio.run(working)


def settled(count: Callable[[], int], most: int) -> None:
    """Wait until a number is small enough."""
    end = time.monotonic() + 5.0
    while count() > most:
        assert time.monotonic() < end, (count(), most)
        gc.collect()
        time.sleep(0.01)


def test_commands_in_turn_share_one(tmp_path: Path) -> None:
    with keeping() as server, Connections(PATIENT) as connections:
        world = live(connections=connections)
        for number in range(20):
            response_headers(f"{server.url}/a", connections=connections)
            at(N0).do(Download(f"{server.url}/a", str(tmp_path / f"{number}"))).run(world)
        assert (server.served, server.opened) == (40, 1)
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {BODY}


def test_an_interpreter_keeps_its_own(tmp_path: Path) -> None:
    with keeping() as server:
        world = live()
        for _ in range(5):
            at(N0).do(Download(f"{server.url}/a", str(tmp_path / "a"))).run(world)
        assert (server.served, server.opened) == (5, 1)
        del world
        settled(lambda: server.open, 0)


@each_runner
def test_tasks_in_turn_share_one(runner: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with Connections(PATIENT) as connections:
            world = live_async(connections=connections)
            for number in range(20):
                await response_headers_async(f"{server.url}/a", connections=connections)
                command = Download(f"{server.url}/a", str(tmp_path / f"{number}"))
                await at(N0).do(command).run_async(world)
        settled(lambda: server.open, 0)

    with keeping() as server:
        run(runner, work)
        assert (server.served, server.opened) == (40, 1)


def test_one_that_the_server_has_closed_is_replaced_and_no_try_is_lost(tmp_path: Path) -> None:
    with keeping() as server, Connections(PATIENT) as connections:
        world = live(connections=connections)
        for number in range(10):
            at(N0).do(Download(f"{server.url}/a", str(tmp_path / "a"))).run(world)
            server.close_all()
            if number % 2:
                settled(lambda: server.open, 0)
        assert server.served == server.opened == 10


@each_runner
def test_so_it_is_under_an_event_loop(runner: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with Connections(PATIENT) as connections:
            world = live_async(connections=connections)
            for number in range(10):
                command = Download(f"{server.url}/a", str(tmp_path / "a"))
                await at(N0).do(command).run_async(world)
                server.close_all()
                if number % 2:
                    await anyio.sleep(0.02)

    with keeping() as server:
        run(runner, work)
        assert server.served == server.opened == 10


def test_many_that_were_closed_are_replaced_at_once(tmp_path: Path) -> None:
    with keeping() as server, Connections(PATIENT) as connections:
        world = live(connections=connections)
        for _ in range(2):
            with ThreadPoolExecutor(8) as pool:
                for number in range(8):
                    command = Download(f"{server.url}/slow", str(tmp_path / f"{number}"))
                    pool.submit(at(N0).do(command).run, world)
            server.close_all()
        at(N0).do(Download(f"{server.url}/a", str(tmp_path / "a"))).run(world)
        assert (server.served, server.opened) == (17, 17)


def fails() -> None:
    raise KeyError("the other one")


def test_an_abort_ends_its_own_exchange_only(tmp_path: Path) -> None:

    done: list[bytes] = []
    with keeping() as server, Connections(PATIENT) as connections:
        world = live(connections=connections)

        def other() -> None:
            at(N0).do(Download(f"{server.url}/slow", str(tmp_path / "slow"))).run(world)
            done.append((tmp_path / "slow").read_bytes())

        def fail_later() -> None:
            while server.busy < 2:
                time.sleep(0.005)
            fails()

        thread = threading.Thread(target=other)
        thread.start()
        begin = time.monotonic()
        hanging = Download(f"{server.url}/hang", str(tmp_path / "hang"))
        with pytest.raises(KeyError):
            at(N0).do(all_of(hanging, call(fail_later))).run(world)
        assert time.monotonic() - begin < 5.0
        thread.join()
        at(N0).do(Download(f"{server.url}/a", str(tmp_path / "a"))).run(world)
        assert server.opened == 2, "the one that went on is kept"
    assert done == [BODY]


def test_the_deadline_of_one_is_not_that_of_another(tmp_path: Path) -> None:
    results: list[str] = []
    with keeping() as server, Connections(PATIENT) as connections:
        world = live(connections=connections)

        def one(path: str, within: float) -> None:
            command = Download(f"{server.url}/{path}", str(tmp_path / f"{path}{within}"))
            try:
                at(N0).do(command).run(world, within=within)
                results.append("well")
            except TimeoutError:
                results.append("late")

        threads = [
            threading.Thread(target=one, args=each)
            for each in [("slow", 20.0), ("slow", 0.1), ("slow", 20.5), ("hang", 0.2)]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # A connection that was used with a deadline is used without it afterwards.
        one("a", 0.3)
        time.sleep(0.3)
        one("slow", 20.0)
    assert sorted(results) == ["late", "late", "well", "well", "well", "well"]


FEW = replace(PATIENT, connections=3)


def test_there_are_never_more_to_a_host_than_the_limit(tmp_path: Path) -> None:
    with keeping() as server, Connections(FEW) as connections, ThreadPoolExecutor(7) as pool:
        world = live(connections=connections)
        for number in range(7):
            command = Download(f"{server.url}/slow", str(tmp_path / f"{number}"))
            pool.submit(at(N0).do(command).run, world)
    assert (server.served, server.most) == (7, 3)


@each_runner
def test_nor_from_the_tasks_of_an_event_loop(runner: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with Connections(FEW) as connections:
            world = live_async(connections=connections)
            commands = [Download(f"{server.url}/slow", str(tmp_path / f"{n}")) for n in range(6)]
            await at(N0).do(all_of(commands)).run_async(world)

    with keeping() as server:
        run(runner, work)
        assert (server.served, server.most) == (6, 3)


ONE = replace(PATIENT, connections=1)


def hang(server: Keeper, connections: Connections, tmp_path: Path) -> threading.Thread:
    """Take the only place, until the server ends."""

    def hanging() -> None:
        with suppress(ConnectionError):
            command = Download(f"{server.url}/hang", str(tmp_path / "hang"))
            at(N0).do(command).run(live(connections=connections))

    thread = threading.Thread(target=hanging)
    thread.start()
    while not server.busy:
        time.sleep(0.005)
    return thread


def test_a_wait_for_a_place_ends_at_the_deadline(tmp_path: Path) -> None:
    with Connections(ONE) as connections:
        with keeping() as server, keeping() as elsewhere:
            thread = hang(server, connections, tmp_path)
            command = Download(f"{server.url}/a", str(tmp_path / "a"))
            begin = time.monotonic()
            with pytest.raises(TimeoutError):
                at(N0).do(command).run(live(connections=connections), within=0.2)
            assert 0.19 < time.monotonic() - begin < 5.0
            other = elsewhere.url.replace("127.0.0.1", "localhost")
            assert response_headers(f"{other}/a", connections=connections)
        thread.join()


def test_a_wait_for_a_place_ends_when_it_is_aborted(tmp_path: Path) -> None:

    with Connections(ONE) as connections:
        with keeping() as server:
            thread = hang(server, connections, tmp_path)

            def fail_later() -> None:
                time.sleep(0.2)
                fails()

            begin = time.monotonic()
            waiting = Download(f"{server.url}/a", str(tmp_path / "a"))
            with pytest.raises(KeyError):
                at(N0).do(all_of(waiting, call(fail_later))).run(live(connections=connections))
            assert time.monotonic() - begin < 5.0
        thread.join()
        with keeping() as server:
            assert response_headers(f"{server.url}/a", connections=connections)


@each_runner
def test_a_wait_for_a_place_that_is_cancelled_takes_none(runner: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with Connections(ONE) as connections:
            world = live_async(connections=connections)

            async def hanging() -> None:
                command = Download(f"{server.url}/hang", str(tmp_path / "hang"))
                await at(N0).do(command).run_async(world)

            async with anyio.create_task_group() as group:
                group.start_soon(hanging)
                while not server.busy:
                    await anyio.sleep(0.005)
                for _ in range(5):
                    with anyio.move_on_after(0.02):
                        await response_headers_async(f"{server.url}/a", connections=connections)
                command = Download(f"{server.url}/a", str(tmp_path / "a"))
                with pytest.raises(TimeoutError):
                    await at(N0).do(command).run_async(world, within=0.1)
                group.cancel_scope.cancel()
            assert await response_headers_async(f"{server.url}/a", connections=connections)

    with keeping() as server:
        run(runner, work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_has_connections_of_its_own(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from ixbackoff import N0, Download, at
from ixbackoff.live import Connections, live
url, folder = sys.argv[1:]
connections = Connections()
world = live(connections=connections)
def fetch(name):
    at(N0).do(Download(url, f"{folder}/{name}")).run(world)
fetch("before")
child = os.fork()
if not child:
    signal.alarm(20)
    fetch("child")
    connections.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
fetch("after")
connections.close()
"""
    with keeping() as server:
        arguments = [sys.executable, "-W", "error", "-c", program, f"{server.url}/a", str(tmp_path)]
        subprocess.run(arguments, check=True, timeout=60)  # noqa: S603
        assert (server.served, server.opened) == (3, 2)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("before", "child", "after"), BODY
    )


def test_what_nobody_closes_leaks_nothing_and_warns_of_nothing(tmp_path: Path) -> None:
    program = """
import asyncio, gc, logging, os, sys, trio
from ixbackoff import N0, Download, at
from ixbackoff.live import live, live_async, response_headers
logging.getLogger("asyncio").setLevel(logging.ERROR)  # on a busy machine it warns of slow steps
url, folder = sys.argv[1:]
command = at(N0).do(Download(url, f"{folder}/a"))
def use():
    command.run(live())
    response_headers(url)
    asyncio.run(command.run_async(live_async()))
    trio.run(command.run_async, live_async())
use()
gc.collect()
before = len(os.listdir("/proc/self/fd"))
for _ in range(5):
    use()
gc.collect()
print(len(os.listdir("/proc/self/fd")) - before)
kept = live()
command.run(kept)
"""
    with keeping() as server:
        done = subprocess.run(  # noqa: S603
            [
                *(sys.executable, "-X", "dev", "-W", "error", "-c", program),
                *(f"{server.url}/a", str(tmp_path)),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.stdout, done.stderr) == ("0\n", "")
        settled(lambda: server.open, 0)


def test_closed_ones_are_not_used(tmp_path: Path) -> None:
    with keeping() as server:
        with Connections(PATIENT) as connections:
            world = live(connections=connections)
            at(N0).do(Download(f"{server.url}/a", str(tmp_path / "a"))).run(world)
        settled(lambda: server.open, 0)
        connections.close()
        with pytest.raises(Misuse, match="closed: use them inside"):
            at(N1).retry(Download(f"{server.url}/a", str(tmp_path / "b"))).run(world)
        with pytest.raises(Misuse, match="closed"):
            response_headers(f"{server.url}/a", connections=connections)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@each_runner
def test_closed_ones_are_not_used_under_an_event_loop(runner: str, tmp_path: Path) -> None:
    async def work() -> None:
        connections = Connections(PATIENT)
        async with connections:
            await response_headers_async(f"{server.url}/a", connections=connections)
            with pytest.raises(Misuse, match="enter them once"):
                await connections.__aenter__()
        for closed in (connections, closed_before):
            with pytest.raises(Misuse, match="closed"):
                await response_headers_async(f"{server.url}/a", connections=closed)
        async with connections:
            await response_headers_async(f"{server.url}/a", connections=connections)

    with Connections() as closed_before:
        pass
    with keeping() as server:
        run(runner, work)


def test_event_loops_one_after_the_other_each_have_their_own(tmp_path: Path) -> None:
    connections = Connections(PATIENT)

    async def work() -> None:
        async with connections:
            for _ in range(3):
                await response_headers_async(f"{server.url}/a", connections=connections)

    async def without_a_block() -> None:
        for _ in range(3):
            await response_headers_async(f"{server.url}/a", connections=Connections(PATIENT))

    before = open_descriptors()
    with keeping() as server:
        for runner in ("asyncio", "trio", "asyncio", "trio"):
            run(runner, work)
        assert (server.served, server.opened) == (12, 4)
        run("asyncio", without_a_block)
        assert (server.served, server.opened) == (15, 7)
        settled(lambda: server.open, 0)
    settled(open_descriptors, before)


def test_two_event_loops_at_the_same_time_do_not_meet(tmp_path: Path) -> None:
    connections = Connections(PATIENT)
    failures: list[BaseException] = []

    async def work() -> None:
        async with connections:
            for _ in range(10):
                await response_headers_async(f"{server.url}/a", connections=connections)

    def running(runner: str) -> None:
        try:
            run(runner, work)
        except BaseException as failure:
            failures.append(failure)

    with keeping() as server:
        threads = [
            threading.Thread(target=running, args=(runner,))
            for runner in ("asyncio", "trio", "asyncio")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert (server.served, server.opened) == (30, 3)


@each_runner
def test_what_is_cancelled_in_any_phase_loses_no_descriptor(runner: str, tmp_path: Path) -> None:
    # Before a place is there, while connecting, before the answer, in the body, and after it.
    async def work() -> None:
        async with Connections(replace(PATIENT, connections=4)) as connections:
            world = live_async(connections=connections)
            for number in range(100):
                name = str(tmp_path / f"{number % 10}")
                well = [Download(f"{server.url}/a", f"{name}.{each}") for each in ("a", "b", "c")]
                async with anyio.create_task_group() as group:
                    for command in well:
                        group.start_soon(at(N0).do(command).run_async, world)
                    path = ("a", "slow", "hang")[number % 3]
                    cancelled = Download(f"{server.url}/{path}", f"{name}.cancelled")
                    with anyio.move_on_after((number % 11) * 0.002):
                        await at(N0).do(cancelled).run_async(world)
            assert await response_headers_async(f"{server.url}/a", connections=connections)

    before = open_descriptors()
    with keeping() as server:
        run(runner, work)
        settled(open_descriptors, before + 2 + server.open)
    settled(open_descriptors, before)
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {BODY}


def test_wrong_connections_are_told() -> None:
    wrong: Any = "connections"
    with pytest.raises(Misuse, match="give Connections"):
        live(connections=wrong)
    with pytest.raises(Misuse, match="limits= are not those of connections="):
        live(limits=Limits(), connections=Connections(PATIENT))
