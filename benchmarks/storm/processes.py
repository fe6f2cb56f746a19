"""The server subprocess, which is started, watched and always ended."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from argparse import Namespace
from contextlib import suppress
from typing import NamedTuple

from ixbackoff._argument_parser import FAILED

from .durations import seconds_of

BEGINS = 10.0  # seconds until the server must listen
ENDS = 2.0  # seconds until it must have ended after SIGTERM
LISTENING = re.compile(r"listening on .*:(\d+)/")
LINE = re.compile(r"concurrency: +(\d+), last delay: ([\d.a-zµ]+)")
FLAGS = ("limit", "factor", "base", "backlog", "places")
MARGIN = 60.0  # seconds by which the server may outlive the storm


class Died(Exception):
    """The server ended, or could not be reached, during a storm."""


class NotStarted(Exception):
    """The server did not begin to serve.

    Attributes:
        status: its exit status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Told(NamedTuple):
    """A line that the server printed.

    Attributes:
        when: the time at which it was read, seconds of the event loop's clock.
        concurrency: the number of concurrent requests.
        delay: the seconds that a request takes at this concurrency.
    """

    when: float
    concurrency: int
    delay: float


class ServerProcess:
    """A server process; `ServerProcess.started(...)` makes it, and `end` ends it.

    Attributes:
        port: the port on which it listens.
    """

    def __init__(self, process: asyncio.subprocess.Process, loud: bool) -> None:
        self.process = process
        self.loud = loud
        self.port = 0
        self.told: list[Told] = []
        self.ended = asyncio.create_task(process.wait())
        self.reading: asyncio.Task[None] | None = None

    @classmethod
    async def started(cls, words: Namespace, loud: bool = False) -> ServerProcess:
        """Start a server process, and wait until it listens.

        Raises:
            NotStarted: it does not listen; the message is the server's standard error, if any.
        """
        lives = words.steady + words.outage + words.watch + MARGIN
        flags = [f"--{name}={getattr(words, name)}" for name in FLAGS]
        flags += ["--int64"] * words.int64
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.storm",
            "server",
            f"--port={words.port}",
            f"--seconds={lives}",
            f"--parent={os.getpid()}",
            *flags,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        server = cls(process, loud)
        try:
            await server.begun()
        except BaseException:
            await server.end()
            raise
        return server

    @property
    def number(self) -> int:
        """The PID of the server."""
        return self.process.pid

    async def begun(self) -> None:
        """Wait until the server listens."""
        line = ""
        if self.process.stdout is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEGINS):
                    line = (await self.process.stdout.readline()).decode()
        found = LISTENING.search(line)
        if found is None:
            said = await self.complaint()
            raise NotStarted(
                said or "The server does not begin.", self.process.returncode or FAILED
            )
        print(line, end="", flush=True)
        self.port = int(found[1])
        self.reading = asyncio.create_task(self.read())

    async def complaint(self) -> str:
        """Return the standard error of the server, if it has ended; otherwise ""."""
        await asyncio.wait([self.ended], timeout=ENDS)
        if self.process.stderr is None or self.process.returncode is None:
            return ""
        return (await self.process.stderr.read()).decode(errors="replace").strip()

    async def read(self) -> None:
        if self.process.stdout is None:
            return
        async for line in self.process.stdout:
            text = line.decode()
            if self.loud:
                print(text, end="", flush=True)
            found = LINE.search(text)
            if found is not None:
                now = asyncio.get_running_loop().time()
                self.told.append(Told(now, int(found[1]), seconds_of(found[2])))

    def told_since(self, when: float) -> list[Told]:
        return [line for line in self.told if line.when >= when]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process.

        Raises:
            Died: the process has ended, or the system does not permit the signal.
        """
        if self.process.returncode is not None:
            raise self.died()
        try:
            os.kill(self.process.pid, number)
        except PermissionError:
            raise Died(
                f"This process may not send {number.name} to process {self.process.pid}, the "
                "server: the system does not permit it."
            ) from None
        except ProcessLookupError:
            raise self.died() from None

    async def lives(self, seconds: float) -> None:
        """Wait for `seconds`.

        Raises:
            Died: the process has ended.
        """
        done, _ = await asyncio.wait([self.ended], timeout=max(0.0, seconds))
        if done:
            raise self.died()

    def died(self) -> Died:
        status = self.process.returncode
        how = f"exit status {status}" if status is None or status >= 0 else f"signal {-status}"
        return Died(f"The server, process {self.process.pid}, has ended by itself ({how}).")

    async def end(self) -> None:
        """End the process, stopped or not."""
        if self.process.returncode is None:
            for number in signal.SIGCONT, signal.SIGTERM:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(self.process.pid, number)
            done, _ = await asyncio.wait([self.ended], timeout=ENDS)
            if not done:
                with suppress(ProcessLookupError, PermissionError):
                    self.process.kill()
        await self.ended
        if self.reading is not None:
            self.reading.cancel()
            await asyncio.wait([self.reading])
