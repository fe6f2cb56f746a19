"""A program that has not come down to `N0` cannot be run: end it with `end`, or `retry`."""

from ixbackoff import N1, N2, N3, N16, N20, AsyncInterpreter, Delay, Download, Interpreter, at

fetch = Download("http://localhost/a", "a")


def run(interpreter: Interpreter[Download | Delay]) -> None:
    at(N3).run(interpreter)  # E: [call-arg]
    at(N1).do(fetch).run(interpreter)  # E: [call-arg]
    at(N3).do(fetch).backoff().run(interpreter)  # E: [call-arg]
    at(N3).wait().wait().run(interpreter)  # E: [call-arg]
    at(N16).do(fetch).run(interpreter)  # E: [call-arg]
    at(N20).do(fetch).run(interpreter)  # E: [call-arg]
    (at(N3).wait() >> at(N2).wait()).run(interpreter)  # E: [call-arg]
    at(N3).bind(lambda _: at(N3).wait()).run(interpreter)  # E: [call-arg]


async def run_async(interpreter: AsyncInterpreter[Download | Delay]) -> None:
    await at(N3).run_async(interpreter)  # E: [call-arg]
    await at(N1).do(fetch).run_async(interpreter)  # E: [call-arg]
    await at(N20).do(fetch).run_async(interpreter)  # E: [call-arg]
    await (at(N3).wait() >> at(N2).wait()).run_async(interpreter)  # E: [call-arg]
