"""Functions that fail as the libraries of others do: by real clients, against servers on loopback.

Where no server is at hand (PostgreSQL, a name server), the library's own classes are raised.
"""

from __future__ import annotations

import asyncio
import ftplib
import smtplib
import socket
import sqlite3
import ssl
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import asyncpg
import boto3  # type: ignore[import-untyped]
import google.api_core.exceptions
import grpc  # type: ignore[import-untyped]
import grpc.aio  # type: ignore[import-untyped]
import psycopg
import psycopg.errors
import redis
import requests
import sqlalchemy
from botocore.config import Config  # type: ignore[import-untyped]
from obstore.store import S3Store
from pymongo import MongoClient
from pymongo.server_api import ServerApi

from ixbackoff import Transient, known
from ixbackoff.testing.web import Dropped, Fault, Hang, Origin, Status, Truncated

from ..servers.grpc import serving
from ..servers.mongodb import Drop, mongo_server
from ..servers.ports import free_port
from ..servers.redis import always_answering
from ..servers.replies import talking
from . import web
from .tries import failure_of

Function: TypeAlias = Callable[[], object]


SOON = 0.01  # seconds in which a server that never answers has not answered
ONCE: Any = None
"""What redis-py takes for no retries, unlike its types."""


class Servers(NamedTuple):
    """Where to fail: the server of the web, and the ports and places of the others.

    A client of boto3 is here too, since to make one takes longer than a hundred requests.
    """

    url: str
    refusing: int
    mail: int
    files: int
    mongo: int
    redis: int
    grpc: str
    database: str
    s3: Any
    refusing_s3: Any


FUNCTIONS: dict[str, Callable[[Servers], object]] = {}
"""The functions by names of what fails, and how."""

FAULTS: dict[str, Fault] = {
    "busy": Status(503, retry_after=1),
    "busy/acorn": Status(503, retry_after=1),
    "missing": Status(404),
    "missing/acorn": Status(404),
    "broken": Status(500),
    "lost": Dropped(),
    "slow": Hang(),
    "cut": Truncated(3),
}


@contextmanager
def failing(folder: Path) -> Generator[dict[str, Function]]:
    """Run the servers; the functions by their names."""
    with ExitStack() as stack:
        enter = stack.enter_context
        paths = {f"/{path}": b"acorns" for path in FAULTS}
        faults = {f"/{path}": repeat(fault) for path, fault in FAULTS.items()}
        mongo = enter(mongo_server())
        mongo.answers["find"] = Drop()
        mongo.answers["insert"] = {"n": 0, "writeErrors": [{"index": 0, "code": 11000}]}
        database = str(folder / "held.db")
        holder = enter(closing(sqlite3.connect(database, isolation_level=None)))
        holder.execute("CREATE TABLE nuts (name TEXT PRIMARY KEY)")
        holder.execute("BEGIN EXCLUSIVE")
        mail = {"mail FROM:<busy@oak.example>": "450 later", "MAIL": "550 never"}
        url, refusing = enter(Origin(paths, faults)).url, free_port()
        servers = Servers(
            url,
            refusing,
            enter(talking(mail)).port,
            enter(talking({"USER": "230 well", "DELE": "450 busy", "SIZE": "550 none"})).port,
            mongo.port,
            enter(always_answering("-LOADING later")).port,
            enter(serving()).address,
            database,
            enter(closing(s3_at(url))),
            enter(closing(s3_at(f"http://127.0.0.1:{refusing}"))),
        )
        yield {name: bound(function, servers) for name, function in FUNCTIONS.items()}


def bound(function: Callable[[Servers], object], servers: Servers) -> Function:
    def in_thread() -> object:  # some run an event loop, where one may run already
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(function, servers).result()

    return in_thread


def fails(name: str) -> Callable[[Callable[[Servers], object]], Callable[[Servers], object]]:
    def kept(function: Callable[[Servers], object]) -> Callable[[Servers], object]:
        FUNCTIONS[name] = function
        return function

    return kept


def asks(name: str, ask: Any, path: str, method: str = "GET") -> None:
    """Add a request that fails; one to no path is refused."""

    def asked(servers: Servers) -> object:
        with web.impatience(web.READ_TIMEOUT, SOON) if path == "slow" else nullcontext():
            place = servers.url if path else f"http://127.0.0.1:{servers.refusing}"
            answer = ask(method, f"{place}/{path}", {})
            return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer

    FUNCTIONS[f"{name} {method} {path or 'refused'}"] = asked


for client, ask in {
    "httpx": web.by_httpx,
    "httpx async": web.by_httpx_async,
    "httpx2": web.by_httpx2,
    "requests": web.by_requests,
    "urllib": web.by_urllib,
    "aiohttp": web.by_aiohttp,
}.items():
    asks(client, ask, "busy")
    asks(client, ask, "")
asks("httpx", web.by_httpx, "slow")
asks("httpx", web.by_httpx, "missing")
asks("httpx", web.by_httpx, "broken", "POST")
asks("httpx2", web.by_httpx2, "cut")
asks("httpcore", web.by_httpcore, "")
asks("requests", web.by_requests, "slow")
asks("requests", web.by_requests, "lost", "POST")
asks("http.client", web.by_http_client, "lost")
asks("urllib3", web.by_urllib3, "")
asks("urllib3", web.by_urllib3_with_retries, "cut")
asks("aiohttp", web.by_aiohttp, "lost")
asks("aiohttp", web.by_aiohttp, "missing")


def mail_from(servers: Servers, sender: str) -> object:
    with smtplib.SMTP("127.0.0.1", servers.mail, local_hostname="oak", timeout=5.0) as server:
        return server.sendmail(f"{sender}@oak.example", ["jay@oak.example"], "Nuts!")


@fails("smtplib 450")
def mail_later(servers: Servers) -> object:
    return mail_from(servers, "busy")


@fails("smtplib 550")
def mail_never(servers: Servers) -> object:
    return mail_from(servers, "jay")


@fails("ftplib 450")
def delete(servers: Servers) -> object:
    with ftplib.FTP(timeout=5.0) as server:  # noqa: S321
        server.connect("127.0.0.1", servers.files)
        server.login("squirrel", "sesame")
        return server.delete("acorn")


@fails("ftplib 550")
def size(servers: Servers) -> object:
    with ftplib.FTP(timeout=5.0) as server:  # noqa: S321
        server.connect("127.0.0.1", servers.files)
        server.login("squirrel", "sesame")
        return server.sendcmd("SIZE acorn")


@fails("boto3 503")
def boto3_busy(servers: Servers) -> object:
    return servers.s3.get_object(Bucket="busy", Key="acorn")


@fails("boto3 404")
def boto3_missing(servers: Servers) -> object:
    return servers.s3.get_object(Bucket="missing", Key="acorn")


@fails("boto3 refused")
def boto3_refused(servers: Servers) -> object:
    return servers.refusing_s3.get_object(Bucket="busy", Key="acorn")


def s3_at(url: str) -> Any:
    once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, proxies={})
    keys = {"aws_access_key_id": "acorn", "aws_secret_access_key": "oak"}
    return boto3.client("s3", endpoint_url=url, region_name="us-east-1", config=once, **keys)


def obstore_get(servers: Servers, bucket: str) -> object:
    return S3Store(
        bucket,
        endpoint=servers.url,
        region="us-east-1",
        access_key_id="acorn",
        secret_access_key="oak",  # noqa: S106
        client_options={"allow_http": True, "timeout": timedelta(seconds=5)},
        retry_config={"max_retries": 0},
    ).get("acorn")


@fails("grpc UNAVAILABLE")
def unavailable(servers: Servers) -> object:
    with grpc.insecure_channel(servers.grpc) as channel:
        return channel.unary_unary("/nuts/UNAVAILABLE")(b"acorn", timeout=5.0)


@fails("grpc NOT_FOUND")
def not_found(servers: Servers) -> object:
    with grpc.insecure_channel(servers.grpc) as channel:
        return channel.unary_unary("/nuts/NOT_FOUND")(b"acorn", timeout=5.0)


@fails("grpc.aio UNAVAILABLE")
def unavailable_async(servers: Servers) -> object:
    async def called() -> object:
        async with grpc.aio.insecure_channel(servers.grpc) as channel:
            return await channel.unary_unary("/nuts/UNAVAILABLE")(b"acorn", timeout=5.0)

    return asyncio.run(called())


def by_google(servers: Servers, path: str) -> object:
    exceptions: Any = google.api_core.exceptions
    answer = requests.get(f"{servers.url}/{path}", timeout=5.0)
    raise exceptions.from_http_response(answer)


@fails("google-api-core 503")
def google_busy(servers: Servers) -> object:
    return by_google(servers, "busy")


@fails("google-api-core 404")
def google_missing(servers: Servers) -> object:
    return by_google(servers, "missing")


@fails("redis LOADING")
def loading(servers: Servers) -> object:
    with redis.Redis(port=servers.redis, retry=ONCE, socket_timeout=5.0) as client:
        return client.get("acorn")


@fails("redis refused")
def redis_refused(servers: Servers) -> object:
    with redis.Redis(port=servers.refusing, retry=ONCE) as client:
        return client.get("acorn")


@fails("psycopg refused")
def psycopg_refused(servers: Servers) -> object:
    return psycopg.connect(f"postgresql://127.0.0.1:{servers.refusing}/nuts")


@fails("psycopg 40001")
def psycopg_serialization(_: Servers) -> NoReturn:
    raise psycopg.errors.SerializationFailure("could not serialize access")


@fails("asyncpg refused")
def asyncpg_refused(servers: Servers) -> object:
    async def connect() -> object:
        return await asyncpg.connect(f"postgresql://127.0.0.1:{servers.refusing}/nuts")

    return asyncio.run(connect())


@fails("asyncpg 40P01")
def asyncpg_deadlock(_: Servers) -> NoReturn:
    raise asyncpg.DeadlockDetectedError("deadlock detected")


def in_mongo(servers: Servers) -> Any:
    return MongoClient(
        "127.0.0.1",
        servers.mongo,
        server_api=ServerApi("1"),
        serverSelectionTimeoutMS=5000,
        retryReads=False,
    )


@fails("pymongo dropped")
def mongo_dropped(servers: Servers) -> object:
    with in_mongo(servers) as client:
        return client.park.nuts.find_one()


@fails("pymongo 11000")
def mongo_twice(servers: Servers) -> object:
    with in_mongo(servers) as client:
        return client.park.nuts.insert_one({})


@fails("sqlite3 locked")
def sqlite3_locked(servers: Servers) -> object:
    with closing(sqlite3.connect(servers.database, timeout=0)) as connection:
        return connection.execute("SELECT * FROM nuts")


@fails("sqlite3 wrong")
def sqlite3_wrong(_: Servers) -> object:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELEC")


@fails("sqlalchemy locked")
def sqlalchemy_locked(servers: Servers) -> object:
    engine = sqlalchemy.create_engine(f"sqlite:///{servers.database}", connect_args={"timeout": 0})
    with engine.connect() as connection:
        return connection.execute(sqlalchemy.text("SELECT * FROM nuts"))


@fails("sqlalchemy wrong")
def sqlalchemy_wrong(_: Servers) -> object:
    with sqlalchemy.create_engine("sqlite://").connect() as connection:
        return connection.execute(sqlalchemy.text("SELEC"))


@fails("obstore 503")
def obstore_busy(servers: Servers) -> object:
    return obstore_get(servers, "busy")


@fails("obstore 404")
def obstore_missing(servers: Servers) -> object:
    return obstore_get(servers, "missing")


@fails("socket EAI_AGAIN")
def nameless_now(_: Servers) -> NoReturn:
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


@fails("ssl untrusted")
def untrusted(_: Servers) -> NoReturn:
    raise ssl.SSLCertVerificationError(1, "certificate verify failed")


@fails("group that passes")
def several(servers: Servers) -> NoReturn:
    busy = failure_of(lambda: web.by_httpx("GET", f"{servers.url}/busy", {}))
    raise ExceptionGroup("several", [ExceptionGroup("one", [busy]), ConnectionResetError()])


@fails("group that does not")
def several_with_one(servers: Servers) -> NoReturn:
    missing = failure_of(lambda: web.by_httpx("GET", f"{servers.url}/missing", {}))
    raise ExceptionGroup("several", [missing, ConnectionResetError()])


class Holding(Transient):
    """A failure of one's own, with something that cannot be recorded."""

    def __init__(self, client: object) -> None:
        super().__init__("held", retry_after=1)
        self.client = client


@fails("Transient with a client")
def holding(_: Servers) -> NoReturn:
    raise Holding(web.TRUSTED)


def registered() -> type[Exception]:
    class Local(Exception):
        pass

    known.register(Local, lambda _: known.Verdict(True, 1.0))
    return Local


LOCAL = registered()


@fails("registered, in a function")
def local(_: Servers) -> NoReturn:
    raise LOCAL("of a function")
