"""A function that is tried again is called as it was before: its arguments and its answer count."""

from ixbackoff import N3, backoff


@backoff(N3)
def page(url: str, *, limit: int = 10) -> bytes:
    return url.encode()[:limit]


@backoff(N3)
async def page_async(url: str, *, limit: int = 10) -> bytes:
    return url.encode()[:limit]


class Service:
    @backoff(N3)
    def page(self, url: str, *, limit: int = 10) -> bytes:
        return url.encode()[:limit]

    @backoff(N3)
    async def page_async(self, url: str) -> bytes:
        return url.encode()


page(7)  # E: [arg-type]
page()  # E: [call-arg]
page("http://localhost/a", 7)  # E: [call-arg]
page("http://localhost/a", size=7)  # E: [call-arg]
page("http://localhost/a", limit="7")  # E: [arg-type]
text: str = page("http://localhost/a")  # E: [assignment]


async def use(service: Service) -> None:
    await page_async(7)  # E: [arg-type]
    await page_async("http://localhost/a", size=7)  # E: [call-arg]
    words: str = await page_async("http://localhost/a")  # E: [assignment]
    unawaited: bytes = page_async("http://localhost/a")  # E: [assignment]
    await service.page_async(7)  # E: [arg-type]
    of_service: bytes = service.page_async("http://localhost/a")  # E: [assignment]
    service.page(7)  # E: [arg-type]
    service.page("http://localhost/a", size=7)  # E: [call-arg]
    answer: str = service.page("http://localhost/a")  # E: [assignment]
    await page("http://localhost/a")  # E: [misc]
