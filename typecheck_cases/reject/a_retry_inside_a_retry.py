"""A program is no effect, so it cannot be tried inside another, and retries never multiply."""

from ixbackoff import N0, N1, N2, N3, N16, N20, Delay, Download, CommandOrAttempt, Program, at, do

fetch = Download("http://localhost/a", "a")
inner = at(N2).retry(fetch)


def again(_: object) -> Program[N2, N0, None, Download | Delay]:
    return at(N2).retry(fetch)


class Job:
    program = at(N2).retry(fetch)


at(N3).retry(at(N2).retry(fetch))  # E: [arg-type]
at(N3).retry(at(N3).retry(fetch))  # E: [arg-type]
at(N3).retry(inner)  # E: [arg-type]
at(N3).retry(again(None))  # E: [arg-type]
at(N3).retry(Job.program)  # E: [arg-type]
at(N3).retry(at(N0).do(fetch))  # E: [arg-type]
at(N3).retry(at(N3))  # E: [arg-type]
at(N3).resume(inner)  # E: [arg-type]
at(N3).resume(at(N2).resume(fetch))  # E: [arg-type]
at(N3).do(inner)  # E: [arg-type]
at(N3).do(fetch).or_else(inner)  # E: [arg-type]
at(N3).then(lambda _: inner)  # E: [arg-type] [return-value]
at(N3).then(again)  # E: [arg-type]
at(N3).retry(inner if input() else fetch)  # E: [arg-type]
at(N16).retry(at(N16).retry(fetch))  # E: [arg-type]
at(N20).retry(at(N20).retry(fetch))  # E: [arg-type]

do(inner)  # E: [arg-type]
do(fetch).then(lambda _: inner)  # E: [arg-type] [return-value]
do(fetch).then(again)  # E: [arg-type]
do(fetch).or_else(inner)  # E: [arg-type]
at(N3).retry(do(fetch).then(again))  # E: [arg-type]
at(N3).retry(do(inner))  # E: [arg-type]
at(N3).bind(lambda _: at(N3).retry(at(N1).retry(fetch)))  # E: [arg-type]

effect: CommandOrAttempt[Download | Delay, None] = inner  # E: [assignment]
effects: list[CommandOrAttempt[Download, object]] = [fetch, do(fetch), inner]  # E: [list-item]


def as_an_effect() -> CommandOrAttempt[Download | Delay, None]:
    return inner  # E: [return-value]
