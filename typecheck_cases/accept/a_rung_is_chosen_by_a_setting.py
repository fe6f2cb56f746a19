"""A setting may choose the rung of a backoff; the program of a call then starts on a rung that nobody knows."""

from typing import assert_type

from ixbackoff import FOREVER, N0, N1, N3, Backoff, Call, Delay, Interpreter, Nat, backoff

production = bool(input())
RUNGS: dict[str, type[Nat]] = {"test": N0, "production": N3, "worker": FOREVER}


@backoff(N3 if production else N1, within=60)
def page(url: str) -> bytes:
    return url.encode()


@backoff(RUNGS[input()], name="page")
async def page_async(url: str) -> bytes:
    return url.encode()


def patient(rung: type[Nat]) -> Backoff[Nat]:
    return backoff(rung, on=OSError)


assert_type(page("http://localhost/a"), bytes)
assert_type(backoff(N3), Backoff[N3])
assert_type(backoff(N3, within=60).replace(within=2), Backoff[N3])
assert_type(backoff(RUNGS["test"] if production else RUNGS[input()]).call(page, "a"), bytes)
chosen = backoff(N3 if production else N1)
listed = backoff([N1, N3][int(input())])


def run(interpreter: Interpreter[Call[bytes] | Delay]) -> None:
    assert_type(patient(RUNGS[input()]).program(page, "a").run(interpreter), bytes)
    assert_type(chosen.program(page, "a").map(len).run(interpreter), int)
    assert_type(listed.program(page, "a").run(interpreter), bytes)
    for one_try in patient(N3):
        with one_try:
            page("http://localhost/a")
