"""`or_bind` mirrors `bind`: when the program has failed, it goes on with one made of that."""

from typing import assert_type

from ixbackoff import N0, N1, N2, N3, Command, Delay, Log, Program, ServerError, at


class GetETag(Command[str]):
    __slots__ = ()


class Count(Command[int]):
    __slots__ = ()


def count_later(failure: Exception) -> Program[N2, N1, int, Log | Delay | Count]:
    return at(N2).do(Log(str(failure))).wait().do(Count())


tag = at(N3).do(GetETag()).backoff()
assert_type(tag.or_bind(count_later), Program[N3, N1, str | int, GetETag | Delay | Log | Count])
assert_type(tag.or_bind(lambda _: at(N2).do(GetETag())), Program[N3, N2, str, GetETag | Delay])
assert_type(
    tag.or_bind(lambda failure: at(N2).retry(Log(str(failure))), on=ServerError),
    Program[N3, N0, str | None, GetETag | Delay | Log],
)
