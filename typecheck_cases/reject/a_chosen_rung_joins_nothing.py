"""A program whose rung a setting chooses follows no other one, and fits no type that names a rung."""

from ixbackoff import FOREVER, N0, N1, N3, Backoff, Call, Delay, Nat, Program, Rung, at, backoff, reflect

production = bool(input())
RUNGS: dict[str, type[Nat]] = {"test": N0, "production": N3, "worker": FOREVER}


def page(url: str) -> bytes:
    return url.encode()


of_two = backoff(N3 if production else N1)
of_all = backoff(RUNGS[input()])
one = of_two.program(page, "a")
any_of_them = of_all.program(page, "a")

at(N3) >> one  # E: [operator]
at(N1) >> one  # E: [operator]
at(N3) | one  # E: [operator]
at(N3).bind(lambda _: one)  # E: [arg-type] [return-value]
at(N3).or_bind(lambda _: one)  # E: [arg-type] [return-value]
at(N0) >> any_of_them  # E: [operator]
at(N3) >> any_of_them  # E: [operator]
at(FOREVER) >> any_of_them  # E: [operator]
at(N3).bind(lambda _: any_of_them)  # E: [arg-type] [return-value]
one.wait()  # E: [call-arg]
one >> at(N1)  # E: [arg-type]

named: Backoff[N3] = of_two  # E: [assignment]
named_of_all: Backoff[N3] = of_all  # E: [assignment]
starting: Program[N3, N0, bytes, Call[bytes] | Delay] = one  # E: [assignment]
starting_anywhere: Program[N0, N0, bytes, Call[bytes] | Delay] = any_of_them  # E: [assignment]
rung: Rung[Nat] = RUNGS[input()]  # E: [assignment]
at(RUNGS[input()])  # E: [arg-type]
at(RUNGS[input()]) >> at(RUNGS[input()])  # E: [arg-type]
reflect(RUNGS[input()])  # E: [arg-type]
backoff(N3 if production else 3)  # E: [arg-type]
backoff(N3 if production else None)  # E: [arg-type]
backoff(RUNGS)  # E: [arg-type]
backoff(N3 if production else N1, max_tries=3)  # E: [call-arg]
backoff(RUNGS[input()], within="5")  # E: [arg-type]


def of_the_last(rung: type[N3] | type[N1]) -> Backoff[N1]:
    return backoff(rung)  # E: [arg-type]


def of_any(rung: type[Nat]) -> Backoff[N1]:
    return backoff(rung)  # E: [arg-type]
