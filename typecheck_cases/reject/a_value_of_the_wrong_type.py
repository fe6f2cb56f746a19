"""A value keeps its type through every step, into the next function and out of the run."""

from ixbackoff import N2, N3, Command, Delay, Do, Interpreter, Log, Program, at, attempt, do


class GetETag(Command[str]):
    __slots__ = ()


class Copy(Command[int]):
    __slots__ = ("etag",)

    def __init__(self, etag: str) -> None:
        self.etag = etag


def log_number(number: int) -> Program[N3, N2]:
    return at(N3).do(Log(str(number))).wait()


def of_text(failure: str) -> Program[N3, N3]:
    return at(N3).do(Log(failure))


at(N3).then(Copy)  # E: [arg-type]
at(N3).do(GetETag()).map(abs)  # E: [arg-type]
at(N3).do(GetETag()).map(lambda etag: etag.size)  # E: [attr-defined]
at(N3).do(GetETag()).bind(log_number)  # E: [arg-type]
at(N3).do(GetETag()).or_bind(of_text)  # E: [arg-type]
at(N3).do(Copy("a")).then(lambda number: Copy(number))  # E: [arg-type]
do(Copy("a")).then(Copy)  # E: [arg-type]
do(Copy("a")).map(len)  # E: [arg-type]

tag = at(N3).do(GetETag())
answer: Program[N3, N3, int, GetETag] = at(N3).do(GetETag())  # E: [arg-type]
either: Program[N3, N3, str, GetETag | Copy] = tag.or_else(Copy("a"))  # E: [arg-type]


@attempt
def count() -> Do[GetETag, int]:
    return (yield from GetETag())  # E: [return-value]


@attempt
def annotated() -> Do[GetETag, None]:
    number: int = yield from GetETag()  # E: [assignment]
    print(number)


def run(interpreter: Interpreter[GetETag | Delay]) -> int:
    return at(N3).retry(GetETag()).run(interpreter)  # E: [return-value]


async def run_async(interpreter: Interpreter[GetETag | Delay]) -> int:
    return await at(N3).retry(GetETag()).run_async(interpreter)  # E: [return-value]
