"""Failures of libraries that are not listed: by a status, by headers, by a request, by a cause."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import is_transient, known
from ixbackoff.known import language_models
from ixbackoff.known.http_statuses import NOT_CARRIED_OUT, PERHAPS_CARRIED_OUT
from ixbackoff.known.language_models import duration, resets


class SdkError(Exception):
    """A failure of an SDK that nobody knows, with what a test gives it."""

    def __init__(self, **given: Any) -> None:
        super().__init__("hush")
        self.__dict__.update(given)


NAME = f"{__name__}.SdkError"
ANSWERED = httpx.Response(503, request=httpx.Request("GET", "http://nuts.example"))


def why(failure: Exception) -> str:
    verdict = known.judge(failure)
    assert not verdict.transient
    assert "hush" not in verdict.why
    return verdict.why


@given(st.integers(400, 599), st.sampled_from(["GET", "POST"]))
def test_a_status_is_judged_as_that_of_a_web_client(status: int, method: str) -> None:
    request = httpx.Request(method, "http://nuts.example")
    answer = httpx.Response(status, request=request)
    plain = known.judge(httpx.HTTPStatusError("hush", request=request, response=answer))
    for failure in (
        SdkError(response=answer),
        SdkError(status_code=status, request=request),
        SdkError(http_status=status, method=method),
        SdkError(status=status, response=SimpleNamespace(request=request)),
    ):
        found = known.judge(failure)
        assert found.transient == plain.transient
        assert found.why == plain.why.replace("httpx.HTTPStatusError", NAME)


@pytest.mark.parametrize("status", [*NOT_CARRIED_OUT, *PERHAPS_CARRIED_OUT])
def test_an_unknown_request_is_repeated_only_if_it_was_not_carried_out(status: int) -> None:
    failure = SdkError(status_code=status)
    assert is_transient(failure) == (status in NOT_CARRIED_OUT)
    if not is_transient(failure):
        assert why(failure).startswith(f"{NAME} {status} after a request of an unknown method")


def test_services_of_cloudflare_and_anthropic_are_those_of_others() -> None:
    assert {520, 521, 522, 523, 524, 529} <= PERHAPS_CARRIED_OUT


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "7"}, {"retry-after": "7"}, httpx.Headers({"retry-after": "7"})]
)
def test_headers_of_the_failure_or_of_its_answer(headers: Any) -> None:
    assert known.retry_after(SdkError(status=429, headers=headers)) == 7.0
    answer = SimpleNamespace(status=429, headers=headers)
    assert known.retry_after(SdkError(response=answer)) == 7.0


@pytest.mark.parametrize(
    "headers", [{"x-should-retry": "false"}, {"Finagle-Http-Nonretryable-Nack": "true"}]
)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_service_that_forbids_another_try(headers: dict[str, str], status: int) -> None:
    said = f"{status}: the service says not to try again"
    assert why(SdkError(status=status, headers=headers, method="GET")) == f"{NAME} {said}"
    request = httpx.Request("GET", "http://nuts.example")
    answer = httpx.Response(status, request=request, headers=headers)
    failure = httpx.HTTPStatusError("hush", request=request, response=answer)
    assert why(failure) == f"httpx.HTTPStatusError {said}"
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": headers}
    aws: Any = {"Error": {"Code": "SlowDown"}, "ResponseMetadata": metadata}
    if "x-should-retry" in headers:
        assert why(ClientError(aws, "GetObject")).endswith("the service says not to try again")


@pytest.mark.parametrize(
    "given_to",
    [{"code": 503}, {"status_code": "503"}, {"status": 200}, {"status": 1205}, {"args": (503,)}],
)
def test_another_number_is_no_status(given_to: dict[str, Any]) -> None:
    assert why(SdkError(**given_to)) == "SdkError is not known to pass by itself"


@pytest.mark.parametrize("method", [None, 5, "chat.postMessage", "GET /nuts?token=hush"])
def test_another_text_is_no_method(method: Any) -> None:
    failure = SdkError(status=500, method=method)
    assert why(failure) == (
        f"{NAME} 500 after a request of an unknown method, which may have been carried out"
    )


def test_a_mock_of_an_answer_is_judged_by_its_status() -> None:
    assert is_transient(SdkError(status_code=503, response=Mock()))
    assert is_transient(SdkError(response=Mock(status_code=429)))
    assert not is_transient(SdkError(response=Mock(), body=Mock()))
    assert not language_models.judge(SdkError(body=Mock(), details=[Mock()])).transient


def test_a_property_that_raises_tells_nothing() -> None:
    class Odd(Exception):
        @property
        def status_code(self) -> int:
            raise RuntimeError

        inner_exception = response = status_code

    class Request(Exception):
        status_code = 503

        @property
        def request(self) -> object:
            raise RuntimeError

    assert why(Odd()) == f"{Odd.__qualname__} is not known to pass by itself"
    assert is_transient(Request())


def ways_to_show(name: str, value: Any) -> dict[str, Exception]:
    """Make a failure for each way in which Python gives it an attribute."""

    class InDict(Exception):
        pass

    class Slotted(Exception):
        __slots__ = (name,)

    class Computed(Exception):
        def __getattr__(self, asked: str) -> Any:
            if asked == name:
                return value
            raise AttributeError(asked)

    class Intercepted(Exception):
        def __getattribute__(self, asked: str) -> Any:
            return value if asked == name else super().__getattribute__(asked)

    given: Any = {name: value}
    made = {
        "of the instance": InDict(),
        "of the class": type("OfClass", (Exception,), given)(),
        "of a base": type("Derived", (type("Base", (Exception,), given),), {})(),
        "a property": type("Property", (Exception,), {name: property(lambda _: value)})(),
        "a slot": Slotted(),
        "__getattr__": Computed(),
        "__getattribute__": Intercepted(),
    }
    setattr(made["of the instance"], name, value)
    setattr(made["a slot"], name, value)
    return made


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", 429),
        ("http_status", 429),
        ("response", SimpleNamespace(status=503)),
        ("meta", SimpleNamespace(status=503)),
        ("inner_exception", ConnectionRefusedError()),
    ],
)
def test_an_attribute_is_seen_wherever_it_is(name: str, value: Any) -> None:
    unseen = [
        way for way, failure in ways_to_show(name, value).items() if not is_transient(failure)
    ]
    assert unseen == []


def caused(cause: BaseException | None, failure: Exception | None = None) -> Exception:
    made = failure or SdkError()
    made.__cause__ = cause
    return made


def test_a_cause_decides() -> None:
    assert is_transient(caused(ConnectionRefusedError()))
    assert is_transient(caused(caused(caused(SdkError(response=ANSWERED)))))
    assert known.retry_after(caused(SdkError(status=429, headers={"Retry-After": "7"}))) == 7.0
    unknown = "SdkError is not known to pass by itself"
    assert why(caused(KeyError("hush"))) == unknown
    assert why(caused(caused(None))) == unknown
    assert why(caused(KeyboardInterrupt())) == unknown
    assert why(caused(SdkError(status=404))) == f"{NAME}: {NAME} 404"
    lost = httpx.ReadError("hush", request=httpx.Request("POST", "http://nuts.example"))
    assert why(caused(lost)) == (
        f"{NAME}: httpx.ReadError after a POST, which may have been carried out"
    )


def test_a_status_is_nearer_than_a_cause() -> None:
    assert why(caused(ConnectionRefusedError(), SdkError(status=404))) == f"{NAME} 404"


def test_causes_in_a_circle() -> None:
    failure = SdkError()
    assert why(caused(caused(failure), failure)) == "SdkError is not known to pass by itself"


def refused() -> None:
    raise ConnectionRefusedError


def wrapped(failure: Exception) -> None:
    """Fail as a library does that catches the failure of its web client."""
    try:
        refused()
    except ConnectionRefusedError:
        raise failure  # noqa: B904  its context is what is tested


def wrapped_from_none() -> None:
    try:
        refused()
    except ConnectionRefusedError:
        raise SdkError from None


def test_a_failure_that_was_caught_within_the_try() -> None:
    with pytest.raises(SdkError) as caught:
        wrapped(SdkError())
    assert is_transient(caught.value)
    with pytest.raises(SdkError) as caught:
        wrapped_from_none()
    assert not is_transient(caught.value)


def raised(failure: Exception) -> Exception:
    with pytest.raises(type(failure)) as caught:
        raise failure
    return caught.value


def test_a_failure_that_was_caught_around_the_try_is_none_of_its_business() -> None:
    failure: Exception | None = None
    try:
        refused()
    except ConnectionRefusedError:
        failure = raised(SdkError())
    assert failure is not None
    assert isinstance(failure.__context__, ConnectionRefusedError)
    assert not is_transient(failure)


def test_an_error_of_the_system_goes_by_its_cause_only() -> None:
    assert is_transient(caused(SdkError(response=ANSWERED), OSError()))
    assert why(caused(SdkError(status=404), FileNotFoundError())).startswith("FileNotFoundError: ")
    assert not is_transient(OSError("hush"))
    with pytest.raises(FileNotFoundError) as caught:
        wrapped(FileNotFoundError())
    assert not is_transient(caught.value)


def test_bugs_stay_bugs() -> None:
    for bug in (KeyError(), ValueError(), AttributeError(), UnicodeError()):
        assert not is_transient(caused(ConnectionRefusedError(), bug))


def test_a_registered_judge_wins() -> None:
    class Quota(SdkError):
        pass

    known.register(Quota, lambda _: known.Verdict(False, why="the quota has ended"))
    assert why(Quota(status=503)) == "the quota has ended"
    assert why(caused(Quota())) == f"{NAME}: the quota has ended"


@given(st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["h", "m", "s", "ms"])), min_size=1))
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    unit = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    text = "".join(f"{number}{name}" for number, name in parts)
    assert duration(text) == pytest.approx(sum(number * unit[name] for number, name in parts))


@given(st.text(max_size=9), st.text(max_size=9))
def test_no_header_is_too_odd(name: str, value: str) -> None:
    for prefix in ("x-ratelimit-reset-", "anthropic-ratelimit-"):
        headers = {f"{prefix}{name}-reset": value, f"{prefix}{name}-remaining": "0"}
        assert all(seconds >= 0 for seconds in resets(headers))
