"""`retry_with` takes a function from the number of waits that are left to an effect."""

from typing import assert_type

from ixbackoff import N0, N3, Attempt, Command, Delay, Interpreter, Now, Program, Z, at, do


class GetPage(Command[str]):
    __slots__ = ("seconds",)

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds


def patient(rung: int) -> Attempt[GetPage | Now, str]:
    return do(GetPage(10 - rung)).limit(10 - rung)


assert_type(at(N3).retry_with(lambda rung: GetPage(rung)), Program[N3, Z, str, GetPage | Delay])
assert_type(at(N3).retry_with(GetPage, on=ValueError), Program[N3, Z, str, GetPage | Delay])
assert_type(at(N3).retry_with(patient), Program[N3, Z, str, GetPage | Now | Delay])
assert_type(at(N0).retry_with(patient).map(len), Program[Z, Z, int, GetPage | Now | Delay])


def run(interpreter: Interpreter[GetPage | Now | Delay]) -> str:
    return at(N3).retry_with(patient).run(interpreter)
