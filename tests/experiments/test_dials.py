"""Dials that go on when their requests were given up, on sockets."""

from __future__ import annotations

import asyncio
import socket

import pytest

from benchmarks.storm.dials import Dials
from benchmarks.storm.durations import printed, seconds_of

FULL = 2  # connections that fill the accept queue of a socket that listens with backlog 1


async def filled() -> tuple[socket.socket, list[socket.socket]]:
    """A listening socket with a full queue, and the connections in it."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=FULL - 1)
    listening.setblocking(False)
    return listening, [socket.create_connection(listening.getsockname()) for _ in range(FULL)]


async def accept(listening: socket.socket, number: int) -> list[socket.socket]:
    loop = asyncio.get_running_loop()
    return [(await loop.sock_accept(listening))[0] for _ in range(number)]


@pytest.mark.slow
def test_the_connection_of_a_dial_that_was_given_up_goes_to_who_waits_longest() -> None:
    async def scenario() -> None:
        listening, inside = await filled()
        dials = Dials("127.0.0.1", listening.getsockname()[1], 30.0, 10)
        given_up = asyncio.create_task(dials.connection())
        await asyncio.sleep(0.3)
        given_up.cancel()
        waits = asyncio.create_task(dials.connection())
        await asyncio.wait([given_up, waits], timeout=0.1)
        assert (given_up.cancelled(), len(dials.dialling)) == (True, 2)
        accepted = await accept(listening, FULL + 1)
        _, writer = await asyncio.wait_for(waits, 5)
        assert writer.get_extra_info("sockname") == accepted[-1].getpeername()
        writer.close()
        await dials.end()
        for one in listening, *inside, *accepted:
            one.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("lingering", "most"), [(0.2, 10), (30.0, 0), (0.0, 0)])
def test_dials_end_after_a_while_or_when_there_are_too_many(lingering: float, most: int) -> None:
    async def scenario() -> None:
        listening, inside = await filled()
        dials = Dials("127.0.0.1", listening.getsockname()[1], lingering, most)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(dials.connection(), 0.1)
        await asyncio.sleep(0.3)
        assert (dials.dialling, dials.abandoned) == (set(), {})
        for one in listening, *inside:
            one.close()

    asyncio.run(scenario())


def test_a_refused_dial_tells_its_request() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(Dials("127.0.0.1", port, 30.0, 10).connection())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h0m1.5s", 3601.5), ("1.5us", 1.5e-6), ("1.5µs", 1.5e-6), ("0s", 0.0), ("999ns", 9.99e-7)],
)
def test_lengths_of_time_are_read_and_printed(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)
    assert printed(seconds) == text.replace("us", "µs")


@pytest.mark.parametrize("text", ["", "s", "1", "1 s", "1s2", "-1s", "1d", "10ms!", "infinity"])
def test_only_lengths_of_time_are_read(text: str) -> None:
    try:
        assert seconds_of(text) == float(text)
    except ValueError as error:
        assert "give seconds" in str(error)  # noqa: PT017
