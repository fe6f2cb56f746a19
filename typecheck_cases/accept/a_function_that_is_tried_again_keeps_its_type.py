"""`@backoff(...)` keeps the type of a function, a coroutine function or a method."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, assert_type

from ixbackoff import N3, N5, Backoff, RetryBudget, Exponential, backoff

A = TypeVar("A")


@backoff(N3)
def page(url: str, *, limit: int = 10) -> bytes:
    return url.encode()[:limit]


assert_type(page("http://localhost/a"), bytes)
assert_type(page(url="http://localhost/a", limit=3), bytes)
function: Callable[[str], bytes] = page


@backoff(N3)
async def page_async(url: str, /, limit: int = 10) -> bytes:
    return url.encode()[:limit]


async def use() -> None:
    assert_type(await page_async("http://localhost/a", limit=3), bytes)


coroutine_function: Callable[[str], Coroutine[Any, Any, bytes]] = page_async


class Service:
    @backoff(N3)
    def page(self, url: str) -> bytes:
        return url.encode()

    @backoff(N3)
    async def page_async(self, url: str) -> bytes:
        return url.encode()

    @classmethod
    @backoff(N3)
    def made(cls, url: str) -> "Service":
        return cls()

    @staticmethod
    @backoff(N3)
    def length(url: str) -> int:
        return len(url)

    @property
    @backoff(N3)
    def status(self) -> int:
        return 200


async def use_service(service: Service) -> None:
    assert_type(service.page("http://localhost/a"), bytes)
    assert_type(Service.page(service, "http://localhost/a"), bytes)
    assert_type(await service.page_async("http://localhost/a"), bytes)
    assert_type(Service.made("http://localhost/a"), Service)
    assert_type(Service.length(url="http://localhost/a"), int)
    assert_type(service.status, int)


@backoff(N3)
def first(items: list[A]) -> A:
    return items[0]


assert_type(first(["one"]), str)
assert_type(first([1]), int)

polite: Backoff[N5] = backoff(
    N5,
    on=(ConnectionError, KeyError),
    schedule=Exponential(0.1).jittered(),
    within=30,
    budget=RetryBudget(10),
)
length = polite(len)
assert_type(length("four"), int)


@backoff(N3, on=lambda failure: "busy" in str(failure))
def listed(url: str) -> list[str]:
    return [url]


assert_type(listed("http://localhost/a"), list[str])
