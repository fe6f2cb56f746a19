"""A process that cannot open another file keeps its failures and retries: imports fail there."""

import subprocess
import sys

import pytest

BEFORE = """
import os, resource
from ixbackoff import CircuitBreaker, Constant, N2, N3, backoff, known
{imports}
fast = backoff(N2, schedule=Constant(0.001))
tries, held = [], []
def fail(failure, of=2):
    tries.append(1)
    if len(tries) > of:
        return "well"
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    raise failure
def end(found):
    for one in held:
        os.close(one)
    print(found, len(tries))
"""

RUNS = {
    "a function": ("", "fast(fail)(ConnectionRefusedError())", "well 3"),
    "it gives up": (
        "",
        "fast(fail)(ConnectionResetError('cut'), 9)",
        "ConnectionResetError('cut') 3",
    ),
    "in asyncio": (
        """
import asyncio
async def awaited(failure):
    return fail(failure)""",
        "asyncio.run(fast(awaited)(ConnectionRefusedError()))",
        "well 3",
    ),
    "in a block": (
        """
def block():
    for one in fast:
        with one:
            return fail(ConnectionRefusedError())""",
        "block()",
        "well 3",
    ),
    "a breaker opens": (
        "breaker = CircuitBreaker(failures=2, within=10, open_for=0.01)",
        "backoff(N3, schedule=Constant(0.001), breaker=breaker)(fail)(ConnectionRefusedError())",
        "well 3",
    ),
    "no judge can be imported": (
        "import httpx",
        "fast(fail)(httpx.ConnectError('no'))",
        "ConnectError('no') 1",
    ),
    "a judge was imported": (
        "import httpx; known.judge(httpx.ConnectError('no'))",
        "fast(fail)(httpx.ConnectError('no'))",
        "well 3",
    ),
    "a group": (
        "import httpx",
        "fast(fail)(ExceptionGroup('two', [TimeoutError(), httpx.ConnectError('no')]))",
        "ExceptionGroup('two', [TimeoutError(), ConnectError('no')]) 1",
    ),
    "a cause": (
        "class Wrapped(Exception): pass",
        "fast(fail)(Wrapped('no'))",
        "Wrapped('no') 1",
    ),
}


@pytest.mark.parametrize(("imports", "run", "result"), RUNS.values(), ids=RUNS)
def test_no_failure_is_lost_or_left_untried(imports: str, run: str, result: str) -> None:
    code = f"""{BEFORE.format(imports=imports)}
try:
    found = {run}
except Exception as failure:
    found = repr(failure)
end(found)
"""
    done = subprocess.run(  # noqa: S603  our own
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == result, done.stderr
