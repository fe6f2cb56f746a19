"""The retries of each SDK with its default settings: their number, and whether they are seen."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ixbackoff import known
from ixbackoff.testing.web import Answer, Fault, ReceivedRequest, Reset, Status

from ...support.clients.tries import failure_of
from . import calls
from .trying import FailingEverywhere, outcome

PAGE = Path(__file__).parents[3] / "docs" / "known.md"
BODY = b'{"error": {"message": "no", "type": "api", "code": "no"}}'
JSON = {"Content-Type": "application/json"}
FAULTS: dict[str, Fault] = {
    "503": Status(503, headers=JSON, body=BODY),
    "429": Status(429, headers=JSON | {"Retry-After": "1"}, body=BODY),
    "reset": Reset(),
}


class Hub(FailingEverywhere):
    """A hub that knows of a file, and fails when it is downloaded."""

    def carry_out(self, request: ReceivedRequest) -> Answer:  # noqa: ARG002
        return Answer(200, {"ETag": '"1"', "X-Repo-Commit": "1" * 40}, b"{}")


class Own(NamedTuple):
    """The retries of an SDK.

    Attributes:
        call: makes one call.
        library: its name in the table of the page.
        requests: how many requests a call makes, by the fault.
        seen: the libraries that `known.inner` finds, by the fault; with the number of tries.
    """

    call: Callable[..., object]
    library: str
    requests: Mapping[str, int]
    seen: Mapping[str, str]


def download_huggingface(url: str, **_: object) -> object:
    from huggingface_hub import hf_hub_download

    return hf_hub_download("nuts/acorn", "a.txt", endpoint=url, force_download=True)


def ask_stripe_globally(url: str, **_: object) -> object:
    import stripe

    stripe.api_key, stripe.api_base = "sesame", url
    return stripe.Customer.list()


def times(busy: int, limited: int, reset: int) -> dict[str, int]:
    return {"503": busy, "429": limited, "reset": reset}


def everywhere(library: str) -> dict[str, str]:
    return dict.fromkeys(FAULTS, library)


def without_429(library: str) -> dict[str, str]:
    return {"503": library, "reset": library}


SDKS = [
    Own(calls.ask_azure, "azure-core", times(4, 4, 4), {}),
    Own(calls.ask_azure_blob, "azure-storage-blob", times(4, 1, 4), {}),
    Own(calls.ask_clickhouse, "clickhouse-connect", times(1, 1, 2), {}),
    Own(calls.ask_cohere, "cohere", times(3, 3, 1), {}),
    Own(calls.ask_elasticsearch, "elasticsearch", times(4, 4, 4), {}),
    Own(calls.ask_genai, "google-genai", times(1, 1, 1), {}),
    Own(calls.ask_googleapiclient, "googleapiclient", times(1, 1, 1), {}),
    Own(calls.ask_huggingface, "huggingface_hub", times(1, 1, 1), {}),
    Own(download_huggingface, "huggingface_hub", times(1, 6, 1), {}),
    Own(calls.ask_hvac, "hvac", times(1, 1, 1), {}),
    Own(calls.ask_influxdb, "influxdb-client", times(1, 1, 1), {}),
    Own(calls.ask_instructor, "instructor", times(3, 3, 3), everywhere("openai")),
    Own(calls.ask_kubernetes, "kubernetes", times(1, 4, 4), {"reset": "urllib3"}),
    Own(calls.ask_langchain, "langchain-openai", times(3, 3, 3), everywhere("openai")),
    Own(calls.ask_litellm, "litellm", times(3, 3, 3), everywhere("openai")),
    Own(calls.ask_mistral, "mistralai", times(1, 1, 1), {}),
    Own(
        calls.ask_opensearch,
        "opensearch",
        times(4, 1, 4),
        {"503": "opensearch", "reset": "opensearch"},
    ),
    Own(calls.ask_s3fs, "s3fs", times(5, 5, 10), {"503": "botocore", "429": "botocore"}),
    Own(calls.ask_slack, "slack_sdk", times(1, 1, 2), {}),
    Own(calls.ask_stripe, "stripe", times(1, 1, 1), {}),
    Own(ask_stripe_globally, "stripe", times(3, 1, 3), {}),
    Own(calls.ask_twilio, "twilio", times(1, 1, 1), {}),
]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the waits of the SDKs' threads, and keep the SDKs from asking others."""
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.001)))
    for name in ("LITELLM_LOCAL_MODEL_COST_MAP", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "True")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.call.__name__)
def test_the_retries_of_an_sdk(sdk: Own, fault: str) -> None:
    downloads = sdk.call is download_huggingface
    with Hub(None, FAULTS[fault]) if downloads else FailingEverywhere(FAULTS[fault]) as origin:
        failure = failure_of(lambda: sdk.call(origin.url, own=True))
    requests = len(origin.requests) - downloads  # not the one that the hub answers
    assert requests == sdk.requests[fault]
    seen = {one.library: one.tries for one in known.inner(failure)}
    assert seen == ({sdk.seen[fault]: requests} if fault in sdk.seen else {})


REMEDIES = {
    "botocore": 'Config(retries={"total_max_attempts": 1})',
    "openai": "OpenAI(max_retries=0)",
    "opensearch": "max_retries=0",
    "urllib3": "retries=False",
}


@pytest.mark.parametrize("sdk", [sdk for sdk in SDKS if sdk.seen], ids=lambda sdk: sdk.library)
def test_retries_that_are_seen_are_told_with_their_remedy_until_they_are_off(sdk: Own) -> None:
    fault, library = next(iter(sdk.seen.items()))
    tries = sdk.requests[fault]
    assert outcome(lambda url: sdk.call(url, own=True), FAULTS[fault]).told == [
        f"each try is up to {tries} requests, because {library} tries {tries} times inside it "
        f"(turn it off with {REMEDIES[library]})"
    ]
    assert outcome(lambda url: sdk.call(url), FAULTS[fault]).told == []


def test_the_table_says_it() -> None:
    """The row of a library has its greatest number of retries, and whether they are seen."""
    rows = re.findall(r"^\| (.*) \|.*\| (.*) \| ?(.*) \|.*\|$", PAGE.read_text(), re.MULTILINE)
    table = {name: row for row in rows for name in row[0].split(", ")}
    for sdk in SDKS:
        _, retries, seen = table[sdk.library]
        most = max(sdk.requests.values()) - 1
        assert (str(most) if most else "none") in re.findall(r"\w+", retries), sdk.library
        if most:
            assert (seen != "no") == bool(sdk.seen), sdk.library
