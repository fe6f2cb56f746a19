"""The squirrel beside aria2c, curl and rclone: `python -m benchmarks.squirrel`.

Each copies the same from the same server on loopback, in turns; medians of seconds by the clock.
The squirrel keeps what it promises: objects and index are on the disk when it says so. Peers that
are not installed are named and left out.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .measuring import Target

SMALL, LARGE = 4 * 1024, 512 * 2**20
ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: {}\r\nAccept-Ranges: bytes\r\n\r\n"
BUCKET = "bench"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "sesame",
    "AWS_SECRET_ACCESS_KEY": "opensaysme",
    "AWS_REGION": "us-east-1",
}


class Work(NamedTuple):
    """What is copied, and how far behind a peer the squirrel may be.

    Attributes:
        name: the name of the measurement.
        number: how many resources.
        size: the bytes of each.
        delay: the seconds that the server takes for an answer.
        rounds: how often each copies.
        bound: the most that the ratio to the peer may be.
    """

    name: str
    number: int
    size: int
    delay: float
    rounds: int
    bound: float


MANY = Work("300 resources of 4 KiB, beside aria2c -j16", 300, SMALL, 0.0, 7, 3.0)
AWAY = Work("100 resources of 4 KiB, 50 ms away, beside aria2c -j16", 100, SMALL, 0.05, 5, 1.5)
ONE = Work("one of 512 MiB, beside curl, cp and sync", 1, LARGE, 0.0, 5, 1.5)
BUCKETED = Work("one of 64 MiB to S3, beside rclone copyurl", 1, LARGE // 8, 0.0, 5, 1.5)


class Answering(asyncio.Protocol):
    """A server that answers each path with the same bytes.

    Args:
        size: how many bytes.
        delay: the seconds that an answer takes.
    """

    def __init__(self, size: int, delay: float) -> None:
        self.head = ANSWER.format(size, '"v1"').encode()
        self.piece = bytes(min(size, 2**20))
        self.pieces = size // len(self.piece)
        self.delay = delay
        self.received = b""
        self.left = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            request, _, self.received = self.received.partition(b"\r\n\r\n")
            if self.delay:
                asyncio.get_running_loop().call_later(self.delay, self.answer, request)
            else:
                self.answer(request)

    def answer(self, request: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.pieces == 1 and not request.startswith(b"HEAD"):
            self.transport.write(self.head + self.piece)
            return
        self.transport.write(self.head)
        if not request.startswith(b"HEAD"):
            self.left = self.pieces
            self.resume_writing()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        while self.left and not self.paused:
            self.left -= 1
            self.transport.write(self.piece)


def serve(size: int, delay: float, told: Connection) -> None:
    """Serve in this process until it is ended."""

    async def forever() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Answering(size, delay), "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


def serve_s3(told: Connection) -> None:
    """Serve S3 in this process until it is ended."""
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    told.send(server.get_host_and_port()[1])
    time.sleep(3600)


@contextmanager
def in_process(function: Callable[..., None], *args: Any) -> Generator[str]:
    """Run a server in a process of its own; give its URL."""
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=function, args=(*args, theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}"
    finally:
        process.terminate()
        process.join()


def seconds(words: list[str], folder: Path, **env: str) -> float:
    """Run a command in a folder; return how long it took."""
    begin = time.perf_counter()
    subprocess.run(  # noqa: S603
        words,
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    return time.perf_counter() - begin


def squirrel(folder: Path, *more: str) -> list[str]:
    """Return the words of a squirrel that keeps what `urls` names in a new folder."""
    name = f"kept-{time.monotonic_ns()}"
    module = [sys.executable, "-m", "ixbackoff.squirrel"]
    return [*module, "--input", str(folder / "urls"), "--folder", name, *more]


def sixteen(folder: Path) -> list[str]:
    return squirrel(folder, "--jobs", "16")


def aria2c(_: Path) -> list[str]:
    name = f"got-{time.monotonic_ns()}"
    return ["aria2c", "-q", "-j16", "-i", "urls", "-d", name, "--file-allocation=none"]


def curl(folder: Path) -> list[str]:
    url = (folder / "urls").read_text().strip()
    return ["sh", "-c", f"curl -sf -o got {url} && cp got copied && sync got copied"]


def rclone() -> str:
    """Return the path of rclone, if it is there."""
    beside = Path(sysconfig.get_path("scripts")) / "rclone"
    return str(beside) if beside.exists() else shutil.which("rclone") or ""


def measured(
    work: Work, ours: Callable[[Path], list[str]], peer: Callable[[Path], list[str]], **env: str
) -> Target:
    """Let the squirrel and a peer do the same work in turns."""
    with (
        tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as name,
        in_process(serve, work.size, work.delay) as url,
    ):
        folder = Path(name)
        urls = [f"{url}/resource-{number}" for number in range(work.number)]
        (folder / "urls").write_text("\n".join(urls))
        times: list[list[float]] = [[], []]
        for _ in range(work.rounds):
            for taken, words in zip(times, (ours, peer), strict=True):
                taken.append(seconds(words(folder), folder, **env))
                for made in folder.iterdir():
                    if made.is_dir():
                        shutil.rmtree(made)
                os.sync()
    mine, theirs = map(median, times)
    detail = f"{mine:.2f} s, {theirs:.2f} s"
    return Target(work.name, mine / theirs, work.bound, False, detail)


def bucketed() -> Target:
    """Copy to S3, beside rclone."""
    import boto3  # type: ignore[import-untyped]

    with ExitStack() as stack:
        url = stack.enter_context(in_process(serve_s3))
        client = boto3.client(
            "s3",
            endpoint_url=url,
            aws_access_key_id="sesame",
            aws_secret_access_key="opensaysme",  # noqa: S106
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=BUCKET)
        stack.callback(client.close)
        remote = f":s3,provider=Other,env_auth,endpoint='{url}',force_path_style=true:{BUCKET}"

        def peer(folder: Path) -> list[str]:
            origin = (folder / "urls").read_text().strip()
            return [rclone(), "copyurl", "-q", origin, f"{remote}/{time.monotonic_ns()}"]

        store = ["--store", f"s3://{BUCKET}/kept", "--endpoint", url]
        return measured(BUCKETED, lambda folder: squirrel(folder, *store), peer, **CREDENTIALS)


def main() -> int:
    missed = 0
    works: list[tuple[str, Callable[[], Target]]] = [
        ("aria2c", lambda: measured(MANY, sixteen, aria2c)),
        ("aria2c", lambda: measured(AWAY, sixteen, aria2c)),
        ("curl", lambda: measured(ONE, squirrel, curl)),
        (rclone() or "rclone", bucketed),
    ]
    for peer, work in works:
        if shutil.which(peer) is None:
            print(f"left out, since {peer} is not installed")
            continue
        target = work()
        print(target, flush=True)
        missed += not target.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
