"""The squirrel beside aria2c, curl and rclone: `python -m benchmarks.squirrel`.

They copy the same resources from the same server on loopback, in turns. The numbers are medians of
seconds by the clock, and in parentheses of CPU. The squirrel keeps its promises: objects and index
are on the disk when it ends. Works whose peer is not installed are listed and left out. Arguments
select the works with one of them in their names: `python -m benchmarks.squirrel S3`.

All files are in a temporary folder, which is removed at the end, after Ctrl-C and a failure too.
The variable `BENCH_FOLDER` names the folder to put it in, on another disk for instance.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
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

from tests.support.servers.s3 import s3_server

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
    """Work to measure, and the bound of the squirrel's time as a ratio to a peer's.

    Attributes:
        name: the name of the measurement.
        number: the number of resources.
        size: the bytes of each.
        delay: the seconds that the server takes for a response.
        rounds: the number of times that each program copies.
        bound: the largest ratio that is good enough.
    """

    name: str
    number: int
    size: int
    delay: float
    rounds: int
    bound: float


MANY = Work("300 resources of 4 KiB, beside aria2c -j16", 300, SMALL, 0.0, 7, 4.0)
AWAY = Work("100 resources of 4 KiB, 50 ms away, beside aria2c -j16", 100, SMALL, 0.05, 5, 1.5)
ONE = Work("one of 512 MiB, beside curl, cp and sync", 1, LARGE, 0.0, 5, 1.5)
ONE_TO_S3 = Work("one of 512 MiB to S3, beside rclone copyurl", 1, LARGE, 0.0, 3, 1.5)
MEDIUM_TO_S3 = Work("one of 64 MiB to S3, beside rclone copyurl", 1, LARGE // 8, 0.0, 5, 1.5)
IN_PARTS = MEDIUM_TO_S3._replace(name="one of 64 MiB to S3, beside rclone copyurl in parts")
MANY_TO_S3 = Work("100 of 4 KiB to S3, beside rclone copyurl --urls", 100, SMALL, 0.0, 5, 3.0)

MEMORY = Work("memory with 10,000 of 4 KiB, beside 1,000", 10_000, SMALL, 0.0, 3, 1.1)


class Answering(asyncio.Protocol):
    """A server that answers each path with the same bytes.

    Args:
        size: the number of bytes.
        delay: the seconds that a response takes.
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


def serve(size: int, delay: float, port: Connection) -> None:
    """Serve in this process until it is terminated; send the port."""

    async def forever() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Answering(size, delay), "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


@contextmanager
def in_process(function: Callable[..., None], *args: Any) -> Generator[str]:
    """Run a server in a process of its own; yield its URL."""
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=function, args=(*args, theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}"
    finally:
        process.terminate()
        process.join()


class Taken(NamedTuple):
    """The seconds of a command, by the clock and of CPU, and its peak memory in MiB."""

    clock: float
    cpu: float
    memory: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} s ({self.cpu:.2f} s)"


def taken(words: list[str], folder: Path, **env: str) -> Taken:
    """Run a command in a folder; return its cost. Ctrl-C ends the command, too."""
    begin = time.perf_counter()
    with subprocess.Popen(  # noqa: S603
        words, cwd=folder, stdout=subprocess.DEVNULL, env={**os.environ, **env}
    ) as process:
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # or it would go on writing to the removed folder
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    clock = time.perf_counter() - begin
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return Taken(clock, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@contextmanager
def temporary() -> Generator[Path]:
    """Yield a temporary folder."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as name:
        yield Path(name)


def squirrel(folder: Path, *more: str) -> list[str]:
    """Return the command of a squirrel that keeps the resources of `urls` in a new folder."""
    kept = str(folder / f"kept-{time.monotonic_ns()}")
    module = [sys.executable, "-m", "ixbackoff", "squirrel"]
    return [*module, "--input", str(folder / "urls"), "--folder", kept, *more]


def sixteen(folder: Path) -> list[str]:
    return squirrel(folder, "--jobs", "16")


def aria2c(_: Path) -> list[str]:
    name = f"got-{time.monotonic_ns()}"
    return ["aria2c", "-q", "-j16", "-i", "urls", "-d", name, "--file-allocation=none"]


def curl(folder: Path) -> list[str]:
    url = (folder / "urls").read_text().strip()
    return ["sh", "-c", f"curl -sf -o got {url} && cp got copied && sync got copied"]


def rclone() -> str:
    """Return the path of rclone; an empty string if it is not installed."""
    beside = Path(sysconfig.get_path("scripts")) / "rclone"
    return str(beside) if beside.exists() else shutil.which("rclone") or ""


def measured(
    work: Work,
    ours: Callable[[Path], list[str]],
    peer: Callable[[Path], list[str]],
    tidy: Callable[[], None] = lambda: None,
    **env: str,
) -> Target:
    """Let the squirrel and a peer do the same work in turns, and call `tidy` after each."""
    with temporary() as folder, in_process(serve, work.size, work.delay) as url:
        urls = [f"{url}/resource-{number}" for number in range(work.number)]
        (folder / "urls").write_text("\n".join(urls))
        times: list[list[Taken]] = [[], []]
        for _ in range(work.rounds):
            for all_taken, words in zip(times, (ours, peer), strict=True):
                all_taken.append(taken(words(folder), folder, **env))
                for made in folder.iterdir():
                    if made.is_dir():
                        shutil.rmtree(made)
                tidy()
                os.sync()
    mine, theirs = (Taken(*map(median, zip(*each, strict=True))) for each in times)
    ratio = mine.clock / theirs.clock
    return Target(work.name, ratio, work.bound, False, f"{mine}, {theirs}")


def growth(work: Work) -> Target:
    """Compare the peak memory with that for a tenth of the resources."""
    with temporary() as folder, in_process(serve, work.size, work.delay) as url:
        found: list[Taken] = []
        for number in (work.number // 10, work.number):
            urls = "\n".join(f"{url}/resource-{one}" for one in range(number))
            (folder / "urls").write_text(urls)
            runs = [taken(sixteen(folder), folder) for _ in range(work.rounds)]
            found.append(Taken(*map(median, zip(*runs, strict=True))))
    few, many = found
    each = (many.cpu - few.cpu) / (work.number - work.number // 10) * 1000
    note = f"{many.memory:.0f} MiB, {few.memory:.0f} MiB; CPU {each:.2f} ms a resource"
    return Target(work.name, many.memory / few.memory, work.bound, False, note)


def to_s3(work: Work, *more: str) -> Target:
    """Copy to S3, beside rclone with the further arguments `more`."""
    import boto3  # type: ignore[import-untyped]

    with ExitStack() as stack:
        url = stack.enter_context(s3_server())
        client = boto3.client(
            "s3",
            endpoint_url=url,
            aws_access_key_id="sesame",
            aws_secret_access_key="opensaysme",  # noqa: S106
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=BUCKET)
        stack.callback(client.close)

        def tidy() -> None:
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
                for each in page.get("Contents", ()):
                    client.delete_object(Bucket=BUCKET, Key=each["Key"])

        remote = f":s3,provider=Other,env_auth,endpoint='{url}',force_path_style=true:{BUCKET}"

        def peer(folder: Path) -> list[str]:
            urls = (folder / "urls").read_text().split()
            words = [rclone(), "copyurl", "-q", *more]
            if len(urls) == 1:
                return [*words, urls[0], f"{remote}/copied"]
            rows = (f"{url},{number}\n" for number, url in enumerate(urls))
            (folder / "rows").write_text("".join(rows))
            return [*words, "--transfers", "16", "--urls", "rows", f"{remote}/copied"]

        store = ["--store", f"s3://{BUCKET}/kept", "--endpoint", url, "--jobs", "16"]
        return measured(work, lambda folder: squirrel(folder, *store), peer, tidy, **CREDENTIALS)


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # remove the folder then, too
    missed = 0
    in_s3 = rclone() or "rclone"
    works: list[tuple[Work, str, Callable[[Work], Target]]] = [
        (MANY, "aria2c", lambda work: measured(work, squirrel, aria2c)),
        (AWAY, "aria2c", lambda work: measured(work, sixteen, aria2c)),
        (ONE, "curl", lambda work: measured(work, squirrel, curl)),
        (ONE_TO_S3, in_s3, to_s3),
        (MEDIUM_TO_S3, in_s3, to_s3),
        (IN_PARTS, in_s3, lambda work: to_s3(work, "--s3-upload-cutoff", "0")),
        (MANY_TO_S3, in_s3, to_s3),
        (MEMORY, sys.executable, growth),
    ]
    for work, peer, measure in works:
        if sys.argv[1:] and not any(word in work.name for word in sys.argv[1:]):
            continue
        if shutil.which(peer) is None:
            print(f"left out, because {peer} is not installed: {work.name}")
            continue
        target = measure(work)
        print(target, flush=True)
        missed += not target.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
