"""Failures of redis-py, from a real Redis server."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Thread
from typing import Any, TypeAlias

import pytest
import redis
import redis.asyncio
from redis.exceptions import RedisClusterException

from ixbackoff import known

from ..support.clients.tries import run_tried, tried
from ..support.servers.ports import free_port, silence
from ..support.servers.proxies import AFTER, BEFORE, cutting
from ..support.servers.redis import always_answering, redis_server

Client: TypeAlias = Any
"""A client of redis-py, whose methods are only partly typed."""


@contextmanager
def connected(port: int, **options: Any) -> Generator[Client]:
    """Make a client that tries nothing again by itself."""
    settings: dict[str, Any] = {"host": "127.0.0.1", "socket_timeout": 5, "retry": None}
    with redis.Redis(port=port, **{**settings, **options}) as client:
        yield client


@pytest.fixture
def port() -> Generator[int]:
    with redis_server() as port:
        yield port


@pytest.fixture
def client(port: int) -> Generator[Client]:
    with connected(port) as client:
        yield client


def pinging(port: int, **options: Any) -> Callable[[], None]:
    def work() -> None:
        with connected(port, **options) as client:
            client.ping()

    return work


def test_nobody_at_the_port_is_tried_again() -> None:
    assert tried(pinging(free_port())).tries == 4


def test_a_server_that_does_not_answer_is_tried_again() -> None:
    with silence() as port:
        result = tried(pinging(port, socket_timeout=0.01))
    assert (result.tries, type(result.failure)) == (4, redis.TimeoutError)


def test_a_host_that_is_not_known_is_tried_once() -> None:
    result = tried(pinging(6379, host="nobody.invalid"))
    assert result.tries == 1
    assert result.why == "redis.ConnectionError: the name of the host is not known"


def test_a_wrong_url_is_tried_once() -> None:
    assert tried(lambda: redis.Redis.from_url("nonsense://nowhere")).tries == 1


@pytest.mark.parametrize(
    ("word", "when", "number"), [(b"", BEFORE, 0), (b"INCR", BEFORE, 0), (b"INCR", AFTER, 4)]
)
def test_a_connection_that_is_cut_off_is_tried_again_as_redis_py_does(
    port: int, client: Client, word: bytes, when: str, number: int
) -> None:
    with cutting(port, word, when) as proxy:

        def work() -> None:
            with connected(proxy.port) as cut_off:
                cut_off.incr("nuts")

        assert (tried(work).tries, proxy.cuts) == (4, 4)
    assert client.incr("nuts") == number + 1


def test_a_wrong_password_is_tried_once(port: int, client: Client) -> None:
    client.config_set("requirepass", "opensaysme")
    for options in ({}, {"password": "whisper"}):
        result = tried(pinging(port, **options))
        assert (result.tries, type(result.failure)) == (1, redis.AuthenticationError)
        assert "whisper" not in result.why


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["NONSENSE"], "ResponseError"),
        (["SELECT", "99"], "ResponseError"),
        (["LPUSH", "text", "acorn"], "ResponseError"),
        (["EVALSHA", "0" * 40, "0"], "exceptions.NoScriptError"),
        (["SET", "text", object()], "DataError"),
    ],
)
def test_what_would_fail_again_is_tried_once(client: Client, command: list[Any], kind: str) -> None:
    client.set("text", "acorn")
    result = tried(lambda: client.execute_command(*command))
    assert result.tries == 1
    assert result.why == f"redis.{kind} is not known to pass by itself"


def test_what_a_user_may_not_do_is_tried_once(port: int, client: Client) -> None:
    client.acl_setuser("sesame", enabled=True, nopass=True, commands=["+ping"])
    with connected(port, username="sesame", password="any") as sesame:  # noqa: S106
        result = tried(lambda: sesame.get("nuts"))
    assert (result.tries, type(result.failure)) == (1, redis.exceptions.NoPermissionError)


@pytest.mark.parametrize(
    ("setting", "value", "times"),
    [("min-replicas-to-write", 1, 4), ("maxmemory", 1, 1)],
)
def test_a_server_without_replicas_is_tried_again_and_one_without_memory_is_not(
    client: Client, setting: str, value: int, times: int
) -> None:
    client.config_set(setting, value)
    assert tried(lambda: client.set("nuts", 1)).tries == times


def test_a_replica_and_one_that_lost_its_master_are_tried_again(client: Client) -> None:
    client.replicaof("127.0.0.1", str(free_port()))
    result = tried(lambda: client.set("nuts", 1))
    assert (result.tries, type(result.failure)) == (4, redis.ReadOnlyError)
    client.config_set("replica-serve-stale-data", "no")
    result = tried(lambda: client.get("nuts"))
    assert (result.tries, type(result.failure)) == (4, redis.exceptions.MasterDownError)


def test_a_full_server_is_tried_again(port: int, client: Client) -> None:
    client.config_set("maxclients", 1)
    result = tried(pinging(port))
    assert (result.tries, str(result.failure)) == (4, "max number of clients reached")


@pytest.mark.parametrize("kind", [redis.ConnectionPool, redis.BlockingConnectionPool])
def test_a_full_pool_is_tried_again(port: int, kind: type[redis.ConnectionPool]) -> None:
    waits: dict[str, Any] = {"timeout": 0.01} if kind is redis.BlockingConnectionPool else {}
    pool = kind(host="127.0.0.1", port=port, max_connections=1, **waits)
    taken = pool.get_connection()
    assert tried(pool.get_connection).tries == 4
    pool.release(taken)
    pool.disconnect()


def test_a_server_that_runs_a_script_is_tried_again(port: int, client: Client) -> None:
    client.config_set("lua-time-limit", 1)

    def run_script() -> None:
        with connected(port) as other, suppress(redis.ResponseError):
            other.eval("while true do end", 0)

    running = Thread(target=run_script)
    running.start()
    while known_answer(client).partition(" ")[0] != "BUSY":
        time.sleep(0.001)
    assert tried(lambda: client.set("nuts", 1)).tries == 4
    client.script_kill()
    running.join()


def known_answer(client: Client) -> str:
    """Ask something, and return what the server says instead of an answer, if it does."""
    try:
        client.get("nuts")
    except redis.RedisError as failure:
        return str(failure)
    return ""


def test_a_transaction_whose_key_was_changed_is_tried_again(client: Client) -> None:
    def work() -> None:
        with client.pipeline() as pipeline:
            pipeline.watch("nuts")
            client.incr("nuts")
            pipeline.multi()
            pipeline.set("nuts", 0)
            pipeline.execute()

    result = tried(work)
    assert (result.tries, type(result.failure)) == (4, redis.WatchError)
    assert client.get("nuts") == b"4"


def test_a_failure_in_a_pipeline_is_judged_as_the_command_that_failed(client: Client) -> None:
    def work() -> None:
        with client.pipeline() as pipeline:
            pipeline.execute_command("NONSENSE")
            pipeline.execute()

    assert tried(work).tries == 1


def test_a_lock_that_another_holds_is_tried_again_and_one_that_none_holds_is_not(
    client: Client,
) -> None:
    def acquire() -> None:
        with client.lock("squirrel", blocking_timeout=0.001, sleep=0.001):
            pass

    with client.lock("squirrel"):
        assert tried(acquire).tries == 4
    assert tried(client.lock("squirrel").release).tries == 1


def test_a_cluster_that_is_down_is_tried_again() -> None:
    with redis_server("--cluster-enabled", "yes") as port, connected(port) as client:
        result = tried(lambda: client.get("nuts"))
        assert (result.tries, type(result.failure)) == (4, redis.exceptions.ClusterDownError)
        assert tried(lambda: redis.RedisCluster("127.0.0.1", port)).tries == 4


ANSWERS = {
    "-LOADING Redis is loading the dataset in memory": (4, redis.BusyLoadingError),
    "-TRYAGAIN Multiple keys request during rehashing of slot": (4, redis.exceptions.TryAgainError),
    "-MOVED 866 127.0.0.1:1": (1, redis.exceptions.MovedError),
    "-ASK 866 127.0.0.1:1": (1, redis.exceptions.AskError),
    "-CROSSSLOT Keys in request don't hash to the same slot": (
        1,
        redis.exceptions.ClusterCrossSlotError,
    ),
    "-MISCONF Redis is configured to save RDB snapshots": (1, redis.ResponseError),
    "nonsense": (1, redis.InvalidResponse),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_takes_a_real_server_too_long_is_answered_in_its_words(answer: str) -> None:
    """A server loads for a moment only, and a cluster takes seconds to move a slot."""
    with always_answering(answer) as server:

        def work() -> None:
            # without a handshake, so that the answer is the one to the command
            with connected(server.port, protocol=2, driver_info=None) as client:
                client.get("nuts")

        result = tried(work)
    times, kind = ANSWERS[answer]
    assert (result.tries, type(result.failure), server.asked) == (times, kind, times)


def test_a_cluster_is_judged_as_what_its_nodes_say(port: int, client: Client) -> None:
    def reach(port: int, **options: Any) -> Callable[[], object]:
        return lambda: redis.RedisCluster("127.0.0.1", port, **options)

    result = tried(reach(free_port()))
    assert (result.tries, type(result.failure)) == (4, RedisClusterException)
    assert tried(reach(port)).tries == 1  # cluster mode is off
    client.config_set("requirepass", "opensaysme")
    assert tried(reach(port, password="whisper")).tries == 1  # noqa: S106


def test_async_clients_are_judged_alike(port: int) -> None:
    async def work(port: int, *command: str, **options: Any) -> None:
        settings: dict[str, Any] = {"retry": None, **options}
        client: Any
        async with redis.asyncio.Redis(host="127.0.0.1", port=port, **settings) as client:
            await client.execute_command(*command)

    assert run_tried(lambda: work(free_port(), "PING")).tries == 4
    with silence() as silent:
        assert run_tried(lambda: work(silent, "PING", socket_timeout=0.01)).tries == 4
    with cutting(port, b"INCR", AFTER) as proxy:
        assert run_tried(lambda: work(proxy.port, "INCR", "nuts")).tries == 4
    assert run_tried(lambda: work(port, "NONSENSE")).tries == 1
    with redis_server("--requirepass", "opensaysme") as locked:
        assert run_tried(lambda: work(locked, "PING", password="whisper")).tries == 1  # noqa: S106


def test_each_class_has_a_verdict() -> None:
    kinds: set[type[Exception]] = set()
    for module in ("redis.exceptions", "redis.sentinel", "redis.multidb.exception"):
        for value in vars(import_module(module)).values():
            if isinstance(value, type) and issubclass(value, Exception):
                kinds.add(value)
    passing = {kind.__name__ for kind in kinds if known.is_transient(kind.__new__(kind))}
    assert len(kinds) > 40
    assert passing == {
        *("ConnectionError", "TimeoutError", "BusyLoadingError", "MaxConnectionsError"),
        *("MasterNotFoundError", "SlaveNotFoundError", "TemporaryUnavailableException"),
        *("ClusterDownError", "ClusterError", "MasterDownError", "SlotNotCoveredError"),
        *("ReadOnlyError", "TryAgainError", "WatchError"),
    }
