"""Handlers of `Reserve`: they store turns (times when a try may begin) in memory or on a server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager as AsyncContextManager
from contextlib import AbstractContextManager as ContextManager
from typing import Any, Protocol

from .._limits.deadlines import time_limit
from .._limits.gate_base import out_of_line, too_late
from .._limits.rate_limiter import Turns
from .._running.tasks_and_timeouts import now
from .._words.commands import AsyncInterpreter, Interpreter
from .._words.standard_commands import Reserve

KEY = "ixbackoff:turns:"
SCRIPT = """
local time = redis.call("TIME")
local now = time[1] + time[2] / 1e6
local each, ahead, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local own = math.max(tonumber(redis.call("GET", KEYS[1]) or now), now)
local wait = math.max(own - ahead - now, 0)
if wait <= longest then
  local kept = math.max(math.ceil((own + each - now) * 1000), 1)
  redis.call("SET", KEYS[1], string.format("%.17g", own + each), "PX", kept)
end
return string.format("%.17g", wait)
"""

NOW = "extract(epoch FROM clock_timestamp())::float8"
TURN = f"""
WITH turn AS (
  INSERT INTO ixbackoff_turns AS old (name, next) VALUES (%(name)s, {NOW} + %(each)s)
  ON CONFLICT (name) DO UPDATE SET next = greatest(old.next, {NOW}) + %(each)s
  WHERE old.next - %(ahead)s - {NOW} <= %(longest)s
  RETURNING greatest(next - %(each)s - %(ahead)s - {NOW}, 0) AS wait
), refused AS (
  SELECT greatest(next - %(ahead)s - {NOW}, %(longest)s + 1e-6) AS wait
  FROM ixbackoff_turns WHERE name = %(name)s
)
SELECT coalesce((SELECT wait FROM turn), (SELECT wait FROM refused), %(longest)s + 1e-6)
"""  # noqa: S608


class Scripting(Protocol):
    """The method of a Redis client, such as `redis.Redis`, that the handlers need."""

    def register_script(self, script: Any) -> Any: ...


def turns() -> Interpreter[Reserve]:
    """Make a handler of `Reserve` that stores turns in memory; use one handler in a whole process.

    >>> from ixbackoff import N0, Reserve, at, call, do
    >>> from ixbackoff.live import live, turns
    >>> page = do(call(len, "page")).through(Reserve("api", 100, line=5))
    >>> interpreter = live() | turns()
    >>> at(N0).do(page).run(interpreter)
    4
    """
    return Reserve.handled_by(Turns(now))


def turns_in_redis(client: Scripting) -> Interpreter[Reserve]:
    """Make a handler of `Reserve` that stores turns in Redis 5 or later, by the server's clock.

    A failure of Redis fails the try. The key `ixbackoff:turns:{name}` expires after the last turn.

    >>> import redis
    >>> interpreter = turns_in_redis(redis.Redis("localhost", socket_timeout=5))
    """
    ask = client.register_script(SCRIPT)

    def handler(reserve: Reserve) -> float:
        name, *given = parameters(reserve).values()
        return checked_wait(reserve, given[-1], ask([KEY + name], given))

    return Reserve.handled_by(handler)


def turns_in_redis_async(client: Scripting) -> AsyncInterpreter[Reserve]:
    """Do what `turns_in_redis` does, for `run_async`, with a client of `redis.asyncio`.

    >>> import redis.asyncio
    >>> interpreter = turns_in_redis_async(redis.asyncio.Redis(host="localhost"))
    """
    ask = client.register_script(SCRIPT)

    async def handler(reserve: Reserve) -> float:
        name, *given = parameters(reserve).values()
        return checked_wait(reserve, given[-1], await ask([KEY + name], given))

    return Reserve.awaited_by(handler)


def turns_in_postgresql(connect: Callable[[], ContextManager[Any]]) -> Interpreter[Reserve]:
    """Make a handler of `Reserve` that stores turns in PostgreSQL, by the server's clock.

    A failure of the database fails the try. Create the table once; it has a row for each name:
    `CREATE UNLOGGED TABLE ixbackoff_turns (name text PRIMARY KEY, next float8 NOT NULL)`.

    >>> import psycopg
    >>> interpreter = turns_in_postgresql(lambda: psycopg.connect("host=localhost"))

    Args:
        connect: a function, such as the method `connection` of psycopg's pool, that returns a
            connection of psycopg 3 for a `with` block, at whose end the transaction ends.
    """

    def handler(reserve: Reserve) -> float:
        given = parameters(reserve)
        with connect() as connection:
            (wait,) = connection.execute(TURN, given).fetchone()
        return checked_wait(reserve, given["longest"], wait)

    return Reserve.handled_by(handler)


def turns_in_postgresql_async(
    connect: Callable[[], AsyncContextManager[Any]],
) -> AsyncInterpreter[Reserve]:
    """Do what `turns_in_postgresql` does, for `run_async`, with connections that are awaited.

    >>> import psycopg_pool
    >>> pool = psycopg_pool.AsyncConnectionPool("host=localhost", open=False)
    >>> interpreter = turns_in_postgresql_async(pool.connection)
    """

    async def handler(reserve: Reserve) -> float:
        given = parameters(reserve)
        async with connect() as connection:
            (wait,) = await (await connection.execute(TURN, given)).fetchone()
        return checked_wait(reserve, given["longest"], wait)

    return Reserve.awaited_by(handler)


def parameters(reserve: Reserve) -> dict[str, Any]:
    """Return the parameters of `TURN`, in the order of the arguments of `SCRIPT`."""
    left, each = time_limit(), reserve.per / reserve.tries
    longest = reserve.line if left is None else min(reserve.line, left)
    ahead = (reserve.burst - 1) * each
    return {"name": reserve.name, "each": each, "ahead": ahead, "longest": longest}


def checked_wait(reserve: Reserve, longest: float, wait: Any) -> float:
    seconds = float(wait)
    if seconds <= longest:
        return seconds
    late = longest < reserve.line
    raise too_late(seconds, 0.0, longest) if late else out_of_line(seconds, longest)
