"""HTTP/2 with a server of another house: connections that serve one exchange after another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from ixbackoff import N0, Download, all_of, at
from ixbackoff.live import Connections, Limits, TooLarge, live, live_async, response_headers

from ..support.servers.certificates import self_signed
from ..support.servers.http2 import Nuts, speaking_http2
from ..support.ways.live import QUICK, SECRETS, Way, each_way

pytestmark = pytest.mark.slow

BODY = bytes(range(256)) * 4000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def nuts() -> Nuts:
    return Nuts(BODY)


@pytest.fixture
def url(nuts: Nuts, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with speaking_http2(nuts, certificate) as url:
        yield url


@each_way
def test_it_is_spoken_where_the_server_does(way: Way, url: str, nuts: Nuts, tmp_path: Path) -> None:
    way.perform(Download(f"{url}/a", str(tmp_path / "a")))
    assert (tmp_path / "a").read_bytes() == BODY
    assert way.headers(f"{url}/a")["etag"] == '"nuts"'
    assert nuts.versions == {"2"}


def test_commands_in_turn_share_a_connection(url: str, nuts: Nuts, tmp_path: Path) -> None:
    with Connections(QUICK) as connections:
        world = live(connections=connections)
        for number in range(10):
            assert response_headers(f"{url}/a", connections=connections)["etag"] == '"nuts"'
            at(N0).do(Download(f"{url}/a", str(tmp_path / f"{number}"))).run(world)
    assert len(nuts.asked) == 20
    assert len(nuts.connections) == 1


def test_commands_at_the_same_time_do_not(url: str, nuts: Nuts, tmp_path: Path) -> None:
    nuts.pause["/slow"] = 0.02
    with Connections(QUICK) as connections, ThreadPoolExecutor(4) as pool:
        world = live(connections=connections)
        for number in range(4):
            command = Download(f"{url}/slow", str(tmp_path / f"{number}"))
            pool.submit(at(N0).do(command).run, world).add_done_callback(lambda done: done.result())
    assert len(nuts.connections) == 4
    assert {path.read_bytes() == BODY for path in tmp_path.iterdir()} == {True}


@pytest.mark.parametrize("runner", ["asyncio", "trio"])
def test_tasks_share_connections_too(runner: str, url: str, nuts: Nuts, tmp_path: Path) -> None:
    async def work() -> None:
        async with Connections(QUICK) as connections:
            world = live_async(connections=connections)
            for number in range(5):
                command = Download(f"{url}/a", str(tmp_path / f"{number}"))
                await at(N0).do(command).run_async(world)
            commands = [Download(f"{url}/b", str(tmp_path / f"b{each}")) for each in range(3)]
            await at(N0).do(all_of(commands)).run_async(world)

    if runner == "asyncio":
        asyncio.run(work())
    else:
        trio.run(work)
    assert len({port for _, port, path in nuts.asked if path == "/a"}) == 1
    assert len(nuts.connections) <= 3
    assert {path.read_bytes() == BODY for path in tmp_path.iterdir()} == {True}


SMALL = Limits(max_size=1000, read_timeout=5.0)


@pytest.mark.parametrize("runner", ["sync", "asyncio", "trio"])
def test_a_download_that_was_given_up_does_not_poison_the_next(
    runner: str, url: str, nuts: Nuts, tmp_path: Path
) -> None:
    # What is on the way when one is given up would fill the window of all others.
    def given_up(number: int) -> Download:
        return Download(f"{url}/slow", str(tmp_path / f"{number}"))

    last = Download(f"{url}/a", str(tmp_path / "last"))
    nuts.pause["/slow"] = 0.01
    limits = replace(QUICK, read_timeout=5.0)

    async def work() -> None:
        async with Connections(limits) as connections:
            world = live_async(connections=connections)
            for number in range(20):
                with suppress(TimeoutError):
                    await at(N0).do(given_up(number)).run_async(world, within=0.08)
            await at(N0).do(last).run_async(world)

    if runner == "asyncio":
        asyncio.run(work())
    elif runner == "trio":
        trio.run(work)
    else:
        with Connections(limits) as connections:
            world = live(connections=connections)
            for number in range(20):
                with suppress(TimeoutError):
                    at(N0).do(given_up(number)).run(world, within=0.08)
            at(N0).do(last).run(world)
    assert (tmp_path / "last").read_bytes() == BODY


@each_way
def test_what_is_too_large_is_refused(way: Way, url: str, tmp_path: Path) -> None:
    with pytest.raises(TooLarge):
        way.perform(Download(f"{url}/a", str(tmp_path / "a")), limits=SMALL)


@each_way
def test_no_secret_is_logged(
    way: Way, url: str, nuts: Nuts, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = url.replace("https://", "https://sesame:opensaysme@")
    way.perform(Download(f"{secret}/a?token=hush", str(tmp_path / "a")))
    assert b"authorization" in nuts.headers
    assert '"HTTP/2 200 OK"' in caplog.text
    assert not [secret for secret in SECRETS if secret in caplog.text]
