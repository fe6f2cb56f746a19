"""`each_seed`: one function with many seeds, in processes, on a cluster, or here."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from traceback import format_exception
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .._words.commands import Misuse
from .._words.reasons import NOTE
from .samples import Sample

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

R = TypeVar("R")

SEEDS = 40
"""Seeds by default: with fewer, a share says little."""


def each_seed(
    function: Callable[[int], R],
    seeds: int | Iterable[int] = SEEDS,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int, R], None] | None = None,
) -> Sample[R]:
    """Call `function` with each seed, in many processes, and collect what it returns.

    What has a state, such as a budget that all clients share, is made anew for each seed if the
    function makes it.

    >>> from ixbackoff import RetryBudget, Download, N3, at
    >>> from ixbackoff.fleet import BoundedQueue, simulate
    >>> def gave_up(seed: int) -> int:
    ...     shared = RetryBudget(10)
    ...     page = at(N3).retry(Download("http://localhost:8070/page", "page.html"))
    ...     queue = BoundedQueue(length=5, work=0.2).serves(Download)
    ...     outcome = simulate(
    ...         page, queue, clients=50, think=5, seconds=20, budget=lambda _: shared, seed=seed
    ...     )
    ...     return outcome.gave_up
    >>> each_seed(gave_up, 4, jobs=1)
    Sample(seeds=(0, 1, 2, 3), results=(35, 41, 37, 32))

    The function goes to the workers by pickle, which sends functions and classes by their names: it
    has to stand at the top of a module, and what `functools.partial` binds to it has to be such,
    too. On Windows and macOS, and in processes with threads, a script needs its
    `if __name__ == "__main__":`, as for any process pool.

    Args:
        function: a function of the seed; the same seed, the same result.
        seeds: how many, from 0 on, or the seeds themselves.
        jobs: worker processes, by default as many as there are processors; with 1 all is done in
            this process, and nothing has to be sent.
        executor: in place of worker processes of its own, any `concurrent.futures.Executor`, such
            as `Client(...).get_executor()` of Dask or `MPIPoolExecutor()` of mpi4py. It is not
            shut down.
        watch: called with each seed and its result, as they come, which is in any order.

    Raises:
        ValueError: there is not a seed, or one is given twice; or `jobs` is not 1 or more, or
            given with an executor.
        Misuse: the function or its result cannot be sent to a worker and back.
        concurrent.futures.BrokenExecutor: a worker has ended too early.
        Exception: what the function raised, with a note that names the seed.
    """
    numbers = checked_seeds(seeds)
    many = checked_jobs(jobs, executor, len(numbers))
    results: dict[int, R] = {}

    def keep(seed: int, result: R) -> None:
        results[seed] = result
        if watch is not None:
            watch(seed, result)

    if executor is not None:
        elsewhere(function, numbers, nullcontext(executor), keep)
    elif many == 1:
        here(function, numbers, keep)
    else:
        with carrying(numbers[0]):
            pickle.dumps(function)  # before a worker is begun for nothing
        elsewhere(function, numbers, pool(many), keep)
    return Sample(numbers, tuple(results[seed] for seed in numbers))


def pool(workers: int) -> AbstractContextManager[Executor]:
    """Worker processes of our own; imported here, since some platforms have none."""
    from .processes import processes

    return processes(workers)


def here(
    function: Callable[[int], R], seeds: Iterable[int], keep: Callable[[int, R], None]
) -> None:
    """Call the function with each seed in this process."""
    for seed in seeds:
        try:
            result = function(seed)
        except Exception as error:
            error.add_note(named(seed))
            raise
        keep(seed, result)


def elsewhere(
    function: Callable[[int], R],
    seeds: Iterable[int],
    workplace: AbstractContextManager[Executor],
    keep: Callable[[int, R], None],
) -> None:
    """Call the function with each seed in the workers of an executor."""
    from concurrent.futures import as_completed

    futures: dict[Future[R | Failed], int] = {}
    try:
        with workplace as executor:
            for seed in seeds:
                with carrying(seed):
                    future = executor.submit(called, function, seed)
                futures[future] = seed
            for future in as_completed(futures):
                seed = futures[future]
                with carrying(seed):
                    result = future.result()
                if isinstance(result, Failed):
                    result.error.add_note(named(seed))
                    result.error.add_note(f"{NOTE} in a worker:\n{result.where}")
                    raise result.error
                keep(seed, result)
    finally:  # workers of our own have ended: their pool's thread trips over what is cancelled
        for future in futures:
            future.cancel()


class Failed(NamedTuple):
    """The function failed in a worker.

    Attributes:
        error: its error.
        where: the traceback, as text: pickle does not keep it.
    """

    error: Exception
    where: str


def called(function: Callable[[int], R], seed: int) -> R | Failed:
    """Call the function in a worker.

    A failure is returned, so what an executor raises is its own: that something cannot be sent.
    """
    try:
        return function(seed)
    except Exception as error:
        where = "".join(format_exception(error)).rstrip()
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301
        except Exception:
            return Failed(RuntimeError(repr(error)), where)
        return Failed(error, where)


@contextmanager
def carrying(seed: int) -> Generator[None]:
    """Send to an executor in this block, or get from it; what goes wrong is told in a sentence."""
    from concurrent.futures import BrokenExecutor

    try:
        yield
    except BrokenExecutor as error:
        raise BrokenExecutor(
            f"A worker ended before it was done with seed={seed}: it was killed, had no memory "
            "left, gave what pickle can write and cannot read, or could not import the function, "
            'for which a script has to be guarded by if __name__ == "__main__"; give fewer jobs=, '
            "or jobs=1 to see what happens."
        ) from error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Misuse(
            f"It cannot be sent to a worker and back ({error!r}): functions and classes at the top "
            "of a module can be sent, lambdas, functions in functions and locks cannot; give "
            "each_seed a function of the seed that makes the rest itself, or give jobs=1, which "
            "sends nothing."
        ) from error
    except Exception as error:
        error.add_note(named(seed))
        raise


def named(seed: int) -> str:
    """The note that names a seed.

    >>> named(7)
    'ixbackoff: with seed=7'
    """
    return f"{NOTE} with seed={seed}"


def checked_seeds(seeds: object) -> tuple[int, ...]:
    """Return the seeds.

    >>> checked_seeds(3), checked_seeds(range(7, 9))
    ((0, 1, 2), (7, 8))

    Raises:
        ValueError: there is none, one is not a whole number, or is given twice.
    """
    numbers: list[object] = (
        [*range(seeds)]
        if isinstance(seeds, int)
        else [*seeds]
        if isinstance(seeds, Iterable)
        else []
    )
    whole = [number for number in numbers if isinstance(number, int)]
    if not whole or len({*whole}) < len(numbers):
        raise ValueError(
            f"seeds={seeds!r}: give how many, 1 or more, or different whole numbers, such as "
            "range(100, 140)."
        )
    return tuple(whole)


def checked_jobs(jobs: object, executor: object, seeds: int) -> int:
    """Return how many worker processes there are: not more than seeds.

    >>> checked_jobs(8, None, 3)
    3

    Raises:
        ValueError: it is not a whole number of 1 or more, or there is an executor, too.
    """
    if jobs is None:
        return min(processors(), seeds)
    if not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs={jobs!r}: give a whole number, 1 or more.")
    if executor is not None:
        raise ValueError(f"jobs={jobs!r}: the executor has its own; leave one of them out.")
    return min(jobs, seeds)


def processors() -> int:
    """How many processors this process may use; 1 in a browser, which has no processes."""
    if sys.platform == "emscripten":
        return 1
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
