"""Failures of the SDKs of web services, each with a server that fails in the same seven ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from ixbackoff.testing.web import Hang, Reset, Status

from . import calls
from .trying import Outcome, outcome

JSON = {"Content-Type": "application/json"}


class Service(NamedTuple):
    """An SDK: a call of it, and what its failures show.

    Attributes:
        call: makes one request.
        repeats: whether that request may be carried out twice, and its failure shows it.
        repeats_lost: the same for a failure without an answer.
        headers: whether its failure has the headers of the answer.
        class_name: the last name of the class that a status of 404 is raised as.
    """

    call: Callable[..., Any]
    repeats: bool
    repeats_lost: bool
    headers: bool
    class_name: str


NOW, LATER = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:51:07 GMT"
YES, NO = True, False
SERVICES = [
    Service(calls.ask_azure, YES, YES, YES, "HttpResponseError"),
    Service(calls.ask_azure_blob, YES, YES, YES, "ResourceNotFoundError"),
    Service(calls.ask_clickhouse, NO, NO, NO, "DatabaseError"),
    Service(calls.ask_cohere, YES, YES, YES, "NotFoundError"),
    Service(calls.ask_elasticsearch, NO, YES, YES, "NotFoundError"),
    Service(calls.ask_genai, YES, YES, YES, "ClientError"),
    Service(calls.ask_googleapiclient, NO, YES, YES, "HttpError"),
    Service(calls.ask_huggingface, YES, YES, YES, "HfHubHTTPError"),
    Service(calls.ask_hvac, YES, YES, NO, "InvalidPath"),
    Service(calls.ask_influxdb, NO, NO, YES, "ApiException"),
    Service(calls.ask_instructor, YES, YES, YES, "InstructorRetryException"),
    Service(calls.ask_kubernetes, NO, YES, YES, "NotFoundException"),
    Service(calls.ask_langchain, YES, YES, YES, "OpenAIModelNotFoundError"),
    Service(calls.ask_litellm, YES, YES, YES, "NotFoundError"),
    Service(calls.ask_mistral, YES, YES, YES, "SDKError"),
    Service(calls.ask_opensearch, NO, YES, NO, "NotFoundError"),
    Service(calls.ask_s3fs, YES, YES, YES, "FileNotFoundError"),
    Service(calls.ask_slack, NO, YES, YES, "SlackApiError"),
    Service(calls.ask_stripe, NO, YES, YES, "InvalidRequestError"),
    Service(calls.ask_twilio, NO, NO, NO, "TwilioRestException"),
]
each_service = pytest.mark.parametrize(
    "service", SERVICES, ids=lambda service: service.call.__name__.removeprefix("ask_")
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep SDKs from asking others than the server of the test."""
    for name in ("LITELLM_LOCAL_MODEL_COST_MAP", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "True")


def failing(service: Service, status: int, **headers: str) -> Outcome:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = b'{"error": {"message": "no", "type": "api", "code": "no"}}'
    return outcome(service.call, Status(status, headers=JSON | named, body=body))


@each_service
@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_is_busy_is_asked_again_when_it_says(service: Service, status: int) -> None:
    ended = failing(service, status, retry_after="7")
    wait = 7.0 if service.headers else 0.5
    assert (ended.requests, ended.waits) == (3, [wait, wait]), ended


@each_service
@pytest.mark.parametrize("status", [500, 502])
def test_an_answer_that_leaves_it_open(service: Service, status: int) -> None:
    ended = failing(service, status)
    assert len(ended.waits) == (2 if service.repeats else 0), ended
    if not ended.waits and status == 500:
        assert ended.why.endswith(", which may have been carried out")


@each_service
def test_a_missing_page_is_asked_for_once(service: Service) -> None:
    ended = failing(service, 404)
    assert ended.waits == []
    assert ended.failure.__class__.__name__ == service.class_name
    assert service.class_name in ended.why


@each_service
def test_the_service_forbids_another_try(service: Service) -> None:
    if not service.headers:
        return
    for header in ({"x_should_retry": "false"}, {"finagle_http_nonretryable_nack": "true"}):
        ended = failing(service, 503, **header)
        assert ended.waits == []
        assert ended.why.endswith("503: the service says not to try again")


@each_service
def test_no_server(service: Service) -> None:
    ended = outcome(service.call)
    assert ended.waits == [0.5, 0.5], ended


@each_service
def test_a_reset(service: Service) -> None:
    ended = outcome(service.call, Reset())
    assert len(ended.waits) == (2 if service.repeats_lost else 0), ended
    if not ended.waits:
        assert ended.why.endswith(" after a POST, which may have been carried out")


@each_service
def test_an_answer_that_does_not_come(service: Service) -> None:
    ended = outcome(lambda url: service.call(url, timeout=0.3), Hang())
    assert len(ended.waits) == (2 if service.repeats_lost else 0), ended
    if not ended.waits:
        assert ended.why.endswith("which may have been carried out"), ended.why


@each_service
def test_the_service_says_until_when(service: Service) -> None:
    ended = failing(service, 429, Retry_After=LATER, Date=NOW)
    wait = 90.0 if service.headers else 0.5
    assert ended.waits == [wait, wait], ended


def test_google_says_when_in_the_body() -> None:
    info = b'{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}'
    body = b'{"error": {"code": 429, "message": "no", "status": "BUSY", "details": [%s]}}' % info
    ended = outcome(calls.ask_genai, Status(429, headers=JSON, body=body))
    assert ended.waits == [13.5, 13.5]
