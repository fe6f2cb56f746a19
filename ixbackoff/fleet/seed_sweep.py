"""`each_seed`: calls a function with many seeds, in processes, on a cluster, or in this process."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from traceback import format_exception
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .._words.commands import Misuse
from .._words.notes import NOTE
from .seed_results import Sample

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

A = TypeVar("A")
R = TypeVar("R")

SEEDS = 40  # by default: with fewer, a share such as "recovers in 90 %" says little
ROUND = 1.0  # seconds between two checks of the workers


def each_seed(
    function: Callable[[int], R],
    seeds: int | Iterable[int] = SEEDS,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    watch: Callable[[int, R], None] | None = None,
) -> Sample[R]:
    """Call `function` with each seed, in many processes, and collect its results.

    Let the function make every object with a state, such as a budget that all clients share: then
    each seed has its own.

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

    The function is sent to the workers by pickle, which sends functions and classes by their names.
    So `function`, and each function that `functools.partial` passes to it, has to be at the top
    level of a module. On Windows and macOS, and in processes with threads, a script needs its
    `if __name__ == "__main__":`, as for any process pool.

    Args:
        function: a function of the seed, which returns the same result for the same seed.
        seeds: the number of seeds, counted from 0, or the seeds themselves.
        jobs: the number of worker processes, by default the number of processors. With 1, this
            process calls the function, and nothing is pickled.
        executor: a `concurrent.futures.Executor` instead of worker processes, such as
            `Client(...).get_executor()` of Dask or `MPIPoolExecutor()` of mpi4py. It is not shut
            down.
        watch: called with each seed and its result as they arrive, in any order.

    Raises:
        ValueError: there is no seed, or a seed is given twice; `jobs` is less than 1; or `jobs` is
            given with an executor.
        Misuse: the function or its result cannot be pickled.
        concurrent.futures.BrokenExecutor: a worker has ended too early.
        Exception: the exception of the function, with a note that names the seed; a RuntimeError
            with the repr of that exception if a worker cannot pickle it.
    """
    numbers = checked_seeds(seeds)
    many = checked_jobs(jobs, executor, len(numbers))
    results: dict[int, R] = {}

    def keep(seed: int, result: R) -> None:
        results[seed] = result
        if watch is not None:
            watch(seed, result)

    if executor is not None:
        call_in_workers(function, numbers, nullcontext(executor), keep)
    elif many == 1:
        call_here(function, numbers, keep)
    else:
        from .worker_pool import worker_pool  # here: some platforms have no processes

        with explained_errors(numbers[0]):
            pickle.dumps(function)  # before workers start in vain
        call_in_workers(function, numbers, worker_pool(many), keep, own=True)
    return Sample(numbers, tuple(results[seed] for seed in numbers))


def call_here(
    function: Callable[[int], R], seeds: Iterable[int], keep: Callable[[int, R], None]
) -> None:
    for seed in seeds:
        try:
            result = function(seed)
        except Exception as error:
            error.add_note(note_of(seed))
            raise
        keep(seed, result)


def call_in_workers(
    function: Callable[[int], R],
    seeds: Iterable[int],
    workplace: AbstractContextManager[Executor],
    keep: Callable[[int, R], None],
    own: bool = False,
) -> None:
    """Call the function in the workers of an executor, which is a `worker_pool` if `own`."""
    futures: dict[Future[R | Failed], int] = {}
    try:
        with workplace as executor:
            for seed in seeds:
                with explained_errors(seed):
                    future = executor.submit(called, function, seed)
                futures[future] = seed
            for future in completed(futures, executor if own else None):
                seed = futures[future]
                with explained_errors(seed):
                    result = future.result()
                if isinstance(result, Failed):
                    result.error.add_note(note_of(seed))
                    result.error.add_note(f"{NOTE} in a worker:\n{result.where}")
                    raise result.error
                keep(seed, result)
    finally:  # not inside the `with`: the thread of our own pool fails on cancelled futures
        for future in futures:
            future.cancel()


def completed(futures: Iterable[Future[A]], own: Executor | None) -> Iterator[Future[A]]:
    """Yield futures as they complete; check the workers of `own` about once a second."""
    from concurrent.futures import as_completed

    left = {*futures}
    while left:
        with suppress(TimeoutError):
            for future in as_completed(left, ROUND):
                left.discard(future)
                yield future
        if left and own is not None:
            from .worker_pool import check_alive

            check_alive(own)


class Failed(NamedTuple):
    """An exception from a worker, and the text of its traceback, which pickle would drop."""

    error: Exception
    where: str


def called(function: Callable[[int], R], seed: int) -> R | Failed:
    """Return the result or the failure, so that an executor raises only exceptions of its own."""
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
def explained_errors(seed: int) -> Generator[None]:
    """Explain a broken executor or a pickling error; add a note with the seed to other errors."""
    from concurrent.futures import BrokenExecutor

    try:
        yield
    except BrokenExecutor as error:
        raise BrokenExecutor(
            f"A worker ended before it was done with seed={seed}: it was killed, had no memory "
            "left, returned an object that pickle can write but not read, or could not import the "
            'function, because its script has no if __name__ == "__main__"; give fewer jobs=, or '
            "jobs=1 to see the error itself."
        ) from error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Misuse(
            f"The function or its result cannot be sent to a worker and back ({error!r}): pickle "
            "can send functions and classes at the top of a module, but no lambdas, functions in "
            "functions or locks; give each_seed a function of the seed that makes these itself, "
            "or jobs=1, which sends nothing."
        ) from error
    except Exception as error:
        error.add_note(note_of(seed))
        raise


def note_of(seed: int) -> str:
    return f"{NOTE} with seed={seed}"


def checked_seeds(seeds: object) -> tuple[int, ...]:
    given: object = range(seeds) if isinstance(seeds, int) else seeds
    numbers: list[object] = [*given] if isinstance(given, Iterable) else []
    whole = [number for number in numbers if isinstance(number, int)]
    if not whole or len({*whole}) < len(numbers):
        raise ValueError(
            f"seeds={seeds!r}: give a number of seeds, 1 or more, or distinct whole numbers, such "
            "as range(100, 140)."
        )
    return tuple(whole)


def checked_jobs(jobs: object, executor: object, seeds: int) -> int:
    if jobs is None:
        return min(processors(), seeds)
    if not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs={jobs!r}: give a whole number, 1 or more.")
    if executor is not None:
        raise ValueError(f"jobs={jobs!r}: the executor has its own workers; leave out jobs=.")
    return min(jobs, seeds)


def processors() -> int:
    """Return the number of processors for this process; 1 in a browser, which has no processes."""
    if sys.platform == "emscripten":
        return 1
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
