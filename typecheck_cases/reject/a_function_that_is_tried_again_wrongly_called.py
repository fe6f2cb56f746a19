"""`.call`, `.program` and `.program_async` check the arguments against the function."""

from typing import Any

from ixbackoff import N3, N5, Call, CallAsync, Delay, Interpreter, Log, Program, Z, answered_by, backoff

polite = backoff(N3)


def page(url: str, limit: int = 10) -> bytes:
    return url.encode()[:limit]


async def page_async(url: str, limit: int = 10) -> bytes:
    return url.encode()[:limit]


polite.call(page, 7)  # E: [arg-type]
polite.call(page)  # E: [call-arg]
polite.call(page, "http://localhost/a", size=7)  # E: [call-arg]
text: str = polite.call(page, "http://localhost/a")  # E: [assignment]
polite.program(page, 7)  # E: [arg-type]
polite.program(page, "http://localhost/a", size=7)  # E: [call-arg]
wrong: Program[N3, Z, str, Call[bytes] | Delay] = polite.program(page, "http://localhost/a")  # E: [assignment]
higher: Program[N5, Z, bytes, Call[bytes] | Delay] = polite.program(page, "http://localhost/a")  # E: [assignment]
polite.program_async(page_async, 7)  # E: [arg-type]
polite.program_async(page, "http://localhost/a")  # E: [arg-type]


async def use(handlers: Interpreter[Call[Any] | CallAsync[Any]], log: Interpreter[Log]) -> None:
    unawaited: bytes = polite.call(page_async, "http://localhost/a")  # E: [assignment]
    await polite.call(page_async, 7)  # E: [arg-type]
    polite.program(page, "http://localhost/a").run(handlers)  # E: [arg-type]
    with answered_by(log):  # E: [arg-type]
        pass
    with polite:  # E: [attr-defined] [attr-defined]
        pass
    async with polite:  # E: [attr-defined] [attr-defined]
        pass
