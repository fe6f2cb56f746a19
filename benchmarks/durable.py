"""The cost of durable runs: a command beside a step of DBOS, and thousands of runs that wait.

Commands are measured in turns with steps of DBOS alone, in one process and on one database.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, run
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns, process_time
from typing import Any, NamedTuple

import sqlalchemy
from dbos import DBOS

from ixbackoff import (
    N0,
    N1,
    Command,
    Delay,
    Do,
    Interpreter,
    NotReady,
    Program,
    Z,
    at,
    attempt,
)
from ixbackoff.durable import Engine, durable
from ixbackoff.durable.dbos_internals import tables_of
from tests.support.servers.postgresql import running

from .measuring import Target

COMMANDS = 200
ROUNDS = 15
MANY = 10_000
DONE = 100_000
TOGETHER = 500
CONCURRENCY = 100
"""The number of runs that are performed concurrently until they are parked."""
LATER = 30.0
"""Seconds until runs are due together: more than it takes to begin and park them."""
NEVER = 1e6
"""Seconds until runs are due that stay parked."""
POLL = 0.05
KEY = "workflow_uuid"
TABLES = ("workflow_status", "workflow_input", "workflow_output", "operation_outputs")
DATABASES = ("SQLite", "PostgreSQL")


class Ask(Command[int]):
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Knock(Command[None]):
    __slots__ = ()


@attempt
def asking() -> Do[Ask, int]:
    total = 0
    for number in range(COMMANDS + 1):
        total += yield from Ask(number)
    return total


@durable(name="ask")
def ask() -> Program[Z, Z, int, Ask]:
    return at(N0).do(asking())


@durable(name="knock")
def knock(number: int) -> Program[N1, Z, None, Knock | Delay]:  # noqa: ARG001
    return at(N1).retry(Knock())


class Cost(NamedTuple):
    """Microseconds for one command: of CPU, and by the clock."""

    cpu: float
    elapsed: float


class Marks:
    """The times at the first and the last of many commands."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []

    def answer(self, number: int) -> int:
        if number in (0, COMMANDS):
            self.marks.append((process_time(), perf_counter()))
        return number

    async def answer_async(self, number: int) -> int:
        return self.answer(number)

    def cost(self, function: Callable[[], object]) -> Cost:
        """Measure a function that issues the commands."""
        self.marks.clear()
        function()
        (cpu, elapsed), (cpu_after, elapsed_after) = self.marks
        return Cost((cpu_after - cpu) / COMMANDS * 1e6, (elapsed_after - elapsed) / COMMANDS * 1e6)


def costs(database: str, interpreter: Any, marks: Marks) -> dict[str, list[Cost]]:
    """Measure commands beside sync and async steps, in turns."""

    def steps() -> None:
        for number in range(COMMANDS + 1):
            DBOS.run_step(None, marks.answer, number)

    async def steps_async() -> None:
        for number in range(COMMANDS + 1):
            await DBOS.run_step_async(None, marks.answer_async, number)

    with Engine(interpreter, ask, database=database) as engine:
        sync = DBOS.workflow(name="sync")(steps)
        asynchronous = DBOS.workflow(name="async")(steps_async)
        functions: dict[str, Callable[[], object]] = {
            "sync": sync,
            "async": lambda: DBOS.start_workflow(asynchronous).get_result(
                polling_interval_sec=POLL
            ),
            "ours": lambda: engine.start(ask).result(),
        }
        measured: dict[str, list[Cost]] = {name: [] for name in functions}
        for _ in range(ROUNDS):
            for name, function in functions.items():
                measured[name].append(marks.cost(function))
    return measured


def beside(what: str, ours: list[Cost], peer: list[Cost]) -> Iterator[Target]:
    """Compare the rounds of a command with those of a step: by CPU time and by the clock."""
    for kind, number in (("CPU", 0), ("elapsed", 1)):
        pairs = [(own[number], its[number]) for own, its in zip(ours, peer, strict=True)]
        own, its = (median(column) for column in zip(*pairs, strict=True))
        yield Target(
            f"{what}, {kind}",
            median(own / its for own, its in pairs),
            1.3,
            False,
            f"{own:.0f} and {its:.0f} us",
        )


def overhead(name: str, database: str) -> Iterator[Target]:
    """Measure what a command costs beside a step, with handlers in threads and awaited ones."""
    marks = Marks()
    plain = costs(database, Ask.handled_by(lambda ask: marks.answer(ask.number)), marks)
    yield from beside(f"a durable command beside a DBOS step, {name}", plain["ours"], plain["sync"])
    awaited = costs(database, Ask.awaited_by(lambda ask: marks.answer_async(ask.number)), marks)
    what = f"an awaited one beside an async DBOS step, {name}"
    yield from beside(what, awaited["ours"], awaited["async"])


class Knocked:
    """A handler that is not ready at first, and notes when it is asked again.

    Args:
        later: the seconds from now to when it is ready.
    """

    def __init__(self, later: float) -> None:
        self.due = time.time() + later
        self.asked = 0
        self.again: list[float] = []

    def __call__(self, _: Knock) -> None:
        now = time.time()
        if now >= self.due:
            self.again.append(now - self.due)
            return
        self.asked += 1
        raise NotReady("later", retry_after=self.due - now)

    @property
    def interpreter(self) -> Interpreter[Knock | Delay]:
        return Knock.handled_by(self) | Delay.handled_by(lambda wait: None)


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(POLL)


def resident() -> float:
    """Return the resident memory of this process, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def parked(database: str) -> int:
    """Count the runs that are parked."""
    engine = sqlalchemy.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    table = "workflow_status" if engine.dialect.name == "sqlite" else "dbos.workflow_status"
    counted = sqlalchemy.text(f"select count(*) from {table} where status = 'DELAYED'")  # noqa: S608
    try:
        with engine.connect() as connection:
            return int(connection.execute(counted).scalar_one())
    finally:
        engine.dispose()


def start(database: str) -> list[float]:
    """Begin many runs, and park them; return the CPU seconds of both, and the memory after it."""
    with Engine(Knocked(NEVER).interpreter, knock, database=database, worker=False) as starter:
        begun = process_time()
        starter.start_many(knock, {f"many {number}": number for number in range(MANY)})
        started = process_time() - begun
    with Engine(
        Knocked(NEVER).interpreter, knock, database=database, concurrency=CONCURRENCY
    ) as engine:
        begun = process_time()
        until(lambda: parked(database) >= MANY)
        assert engine is not None
        return [started, process_time() - begun, resident()]


def wake(database: str) -> list[float]:
    """Begin runs that are due together; return the last and the median delay, and the CPU."""
    knocked = Knocked(LATER)
    with Engine(knocked.interpreter, knock, database=database, hold=1.0) as engine:
        begun = process_time()
        engine.start_many(knock, {f"due {number}": number for number in range(TOGETHER)})
        until(lambda: len(knocked.again) == TOGETHER)
        assert knocked.asked == TOGETHER, "some were late to begin, and did not wait"
        late = sorted(knocked.again)
        return [late[-1], late[TOGETHER // 2], process_time() - begun]


def work(database: str) -> list[float]:
    """Start a worker; return the seconds until a new run has ended, and the memory after it."""
    begun = perf_counter()
    knocked = Knocked(-1.0)
    with Engine(knocked.interpreter, knock, database=database) as engine:
        engine.start(knock, 0).result()
        taken = perf_counter() - begun
        time.sleep(2.0)  # until each thread of the engine has begun
        return [taken, resident()]


def finish(database: str) -> list[float]:
    """Finish a run, and copy its rows many times; return the seconds of a copy."""
    with Engine(Knocked(-1.0).interpreter, knock, database=database) as engine:
        engine.start_with_id("done", knock, 0).result()
        schema = "" if engine.store.sqlite else "dbos."
        begun = perf_counter()
        with engine.store.engine().begin() as connection:
            for table in tables_of(engine.store._client):
                names = [column.name for column in table.columns]
                if table.name not in TABLES:
                    continue
                copied = [f"{name} || '-' || n" if name == KEY else name for name in names]
                connection.execute(
                    sqlalchemy.text(
                        f"insert into {schema}{table.name} ({', '.join(names)}) "  # noqa: S608
                        "with recursive numbers(n) as "
                        "(select 1 union all select n + 1 from numbers where n < :number) "
                        f"select {', '.join(copied)} from {schema}{table.name}, numbers "
                        f"where {KEY} = 'done'"
                    ),
                    {"number": DONE},
                )
        return [(perf_counter() - begun) / DONE]


def ask_for(database: str) -> list[float]:
    """Return the seconds of `runs`, and of a `result`, in a process without a worker."""
    with Engine(Knocked(-1.0).interpreter, knock, database=database, worker=False) as engine:
        begun = perf_counter()
        assert len(engine.runs()) == 20
        listed = perf_counter()
        engine.run(f"done-{DONE // 2}").result()
        return [listed - begun, perf_counter() - listed]


def command(database: str) -> list[float]:
    """Return the seconds that `ixbackoff durable runs` takes."""
    begun = perf_counter()
    main = "import sys; from ixbackoff.__main__ import main; sys.exit(main(sys.argv[1:]))"
    words = ["durable", "--database", database, "runs"]
    run([sys.executable, "-c", main, *words], check=True, stdout=DEVNULL)  # noqa: S603
    return [perf_counter() - begun]


PARTS = {part.__name__: part for part in (start, wake, work, finish, ask_for, command)}


def apart(part: Callable[[str], list[float]], database: str) -> list[float]:
    """Measure a part in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.durable", part.__name__, database]
    printed = run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    return [float(number) for number in printed.split()]


def waiting(name: str, fresh: Callable[[], str]) -> Iterator[Target]:
    """Measure many runs that wait."""
    empty, full = fresh(), fresh()
    started, parking, after = apart(start, full)
    last, middle, cpu = apart(wake, fresh())
    _, nothing = apart(work, empty)
    taken, memory = apart(work, full)
    yield Target(
        f"begin {MANY} durable runs, CPU s, {name}",
        started,
        60,
        False,
        f"until all are parked {parking:.0f} s more",
    )
    yield Target(
        f"a worker with {MANY} parked runs, MB above one with none, {name}",
        memory - nothing,
        100,
        False,
        f"{memory:.0f} and {nothing:.0f} MB; {after:.0f} MB in the worker that parked them",
    )
    yield Target(
        f"a worker with {MANY} parked runs, s until a new run is performed, {name}",
        taken,
        2,
        False,
        "",
    )
    yield from crowded(name, full, nothing)
    yield Target(
        f"{TOGETHER} parked runs due at once, s until all are awake, {name}",
        last,
        3,
        False,
        f"median {middle:.1f} s; {cpu:.1f} CPU s from their beginning",
    )


def crowded(name: str, database: str, nothing: float) -> Iterator[Target]:
    """Measure with many finished runs, too."""
    apart(finish, database)
    taken, memory = apart(work, database)
    listed, found = apart(ask_for, database)
    (shown,) = apart(command, database)
    among = f"among {DONE} finished runs and {MANY} parked ones"
    yield Target(
        f"a worker {among}, MB above one with none, {name}", memory - nothing, 100, False, ""
    )
    yield Target(f"a worker {among}, s until a new run is performed, {name}", taken, 2, False, "")
    yield Target(f"engine.runs() {among}, s, {name}", listed, 0.5, False, "")
    yield Target(f"the command runs {among}, s, {name}", shown, 3, False, "with its start")
    yield Target(f"result by another process {among}, s, {name}", found, 0.1, False, "")


@contextmanager
def databases(name: str) -> Generator[Callable[[], str]]:
    """Make new databases, while the block lasts."""
    if name == "SQLite":
        with TemporaryDirectory() as folder:
            yield lambda: f"sqlite:///{folder}/{perf_counter_ns()}.sqlite"
        return
    with running(max_connections="80") as server:
        engine = sqlalchemy.create_engine(server.url, isolation_level="AUTOCOMMIT")

        def fresh() -> str:
            made = f"bench{perf_counter_ns()}"
            with engine.connect() as connection:
                connection.execute(sqlalchemy.text(f"create database {made}"))
            return f"{server.url.rpartition('/')[0]}/{made}"

        try:
            yield fresh
        finally:
            engine.dispose()


def targets() -> Iterator[Target]:
    for name in DATABASES:
        with databases(name) as fresh:
            yield from overhead(name, fresh())
            yield from waiting(name, fresh)


def main() -> None:
    if sys.argv[1:]:
        part, database = sys.argv[1:]
        print(*PARTS[part](database))
        return
    for target in targets():
        print(target, flush=True)


if __name__ == "__main__":
    main()
