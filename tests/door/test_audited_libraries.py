"""What `audit` says of each library, and what the real library does at a server that fails."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import pytest

from ixbackoff._door.audit.layers import LayerTable
from ixbackoff.known.inner_retries import LOOPS
from ixbackoff.testing.web import Origin, Status

from ..support.audited import audited, closing, counted

__all__ = ["closing"]  # a fixture

HEAD = """
import os, time, asyncio, functools
import backoff, httpx, requests, stamina, tenacity, urllib3
from ixbackoff import N1, N2, N3, at, call
from ixbackoff import backoff as ours
URL = os.environ.get("ORIGIN", "") + "/a"
def get():
    requests.get(URL).raise_for_status()
def thrice(function):
    for attempt in range(3):
        try:
            return function()
        except Exception:
            if attempt == 2:
                raise
            time.sleep(1)
"""
CASES = {
    "tenacity": (
        """
@tenacity.retry(stop=tenacity.stop_after_attempt(4), reraise=True)
def inner(): get()
def main(): thrice(inner)""",
        12,
    ),
    "tenacity: RetryError": (
        """
@tenacity.retry(stop=tenacity.stop_after_attempt(4), wait=tenacity.wait_none())
def inner(): get()
KIND = tenacity.retry_if_exception_type(tenacity.RetryError)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), retry=KIND)
def main(): inner()""",
        8,
    ),
    "tenacity: one of two stops": (
        """
STOP = tenacity.stop_after_attempt(4) | tenacity.stop_after_delay(60)
@tenacity.retry(stop=STOP, reraise=True)
def inner(): get()
def main(): thrice(inner)""",
        12,
    ),
    "tenacity: the failure itself": (
        """
@tenacity.retry(stop=tenacity.stop_after_attempt(4), reraise=True)
def inner(): get()
KIND = tenacity.retry_if_exception_type(requests.HTTPError)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), retry=KIND)
def main(): inner()""",
        8,
    ),
    "tenacity: a block": (
        """
def inner():
    for attempt in tenacity.Retrying(stop=tenacity.stop_after_attempt(4), reraise=True):
        with attempt:
            get()
def main(): thrice(inner)""",
        12,
    ),
    "tenacity: a call": (
        """
def main():
    thrice(lambda: tenacity.Retrying(stop=tenacity.stop_after_attempt(2), reraise=True)(get))""",
        6,
    ),
    "stamina": (
        """
@stamina.retry(on=requests.HTTPError, attempts=2)
def inner(): get()
def main(): thrice(inner)""",
        6,
    ),
    "stamina's default": (
        """
@stamina.retry(on=requests.HTTPError, timeout=None)
def inner(): get()
def main(): thrice(inner)""",
        30,
    ),
    "backoff": (
        """
@backoff.on_exception(backoff.expo, requests.RequestException, max_tries=2)
def inner(): get()
def main(): thrice(inner)""",
        6,
    ),
    "ixbackoff": (
        """
@ours(N2)
def inner(): get()
def main(): thrice(inner)""",
        9,
    ),
    "ixbackoff: a block": (
        """
patiently = ours(N3).replace(within=60)
def inner():
    for one_try in patiently:
        with one_try:
            get()
def main(): thrice(inner)""",
        12,
    ),
    "ixbackoff: a call": (
        """
def main(): thrice(lambda: ours(N1).call(get))""",
        6,
    ),
    "ixbackoff: a program": (
        """
from ixbackoff.live import live
def main(): thrice(lambda: at(N1).retry(call(get)).run(live()))""",
        6,
    ),
    "requests: an adapter": (
        """
from requests.adapters import HTTPAdapter
def session():
    one = requests.Session()
    one.mount("http://", HTTPAdapter(max_retries=urllib3.Retry(total=2, status_forcelist=[503])))
    return one
def main(): thrice(lambda: session().get(URL))""",
        9,
    ),
    "requests: an adapter of a session in an attribute": (
        """
class Client:
    def __init__(self, retries=2):
        self.session = requests.Session()
        retry = urllib3.util.Retry(retries, status_forcelist=[503])
        self.session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
    def get(self): self.session.get(URL).raise_for_status()
def main(): thrice(Client().get)""",
        9,
    ),
    "httpx": (
        """
@ours(N2)
def inner(): httpx.get(URL).raise_for_status()
def main(): thrice(inner)""",
        9,
    ),
    "urllib3": (
        """
RETRY = urllib3.Retry(2, status_forcelist=[503])
def main(): thrice(lambda: urllib3.PoolManager(retries=RETRY).request("GET", URL))""",
        9,
    ),
}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")


@pytest.mark.parametrize("name", CASES)
def test_the_product_is_that_of_the_real_library(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, requests = CASES[name]
    [found] = audited(HEAD + text, tmp_path)
    assert (found.tries, found.unknown) == (requests, 0)
    with Origin({}, {"/a": repeat(Status(503))}) as origin:
        counted(tmp_path, monkeypatch, origin.url)
        assert len(origin.requests) == requests


BOTO3 = """
import boto3
def main():
    s3 = boto3.client("s3", endpoint_url=URL{config})
    thrice(lambda: s3.get_object(Bucket="nuts", Key="acorn"))
"""
CONFIG = ', config=boto3.session.Config(retries={"total_max_attempts": 2})'


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(("config", "requests"), [("", 9), (CONFIG, 6)])
def test_boto3(config: str, requests: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [found] = audited(HEAD + BOTO3.format(config=config), tmp_path)
    assert found.tries == requests
    with Origin({}, {"/a/nuts/acorn": repeat(Status(503))}) as origin:
        counted(tmp_path, monkeypatch, origin.url)
        assert len(origin.requests) == requests


def test_a_config_that_is_not_known_is_not_the_default(tmp_path: Path) -> None:
    text = BOTO3.replace("main()", "main(more)")
    config = ", config=boto3.session.Config(retries=more)"
    assert audited(HEAD + text.format(config=config), tmp_path) == []


REDIS = """
import redis, urllib.parse
HOST = urllib.parse.urlparse(os.environ.get("ORIGIN", ""))
@ours(N3)
def ping():
    redis.Redis(HOST.hostname, HOST.port{retry}).ping()
def main(): ping()
"""


@pytest.mark.parametrize(
    ("retry", "connections"),
    [("", 44), (", retry=redis.retry.Retry(redis.backoff.NoBackoff(), 1)", 8)],
)
def test_redis(
    retry: str,
    connections: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    closing: tuple[str, list[None]],
) -> None:
    [found] = audited(HEAD + REDIS.format(retry=retry), tmp_path)
    assert found.tries == connections
    monkeypatch.setattr("redis.retry.sleep", lambda _: None)  # it took `time.sleep` for itself
    url, accepted = closing
    counted(tmp_path, monkeypatch, url)
    assert len(accepted) == connections


def test_urllib3_retries_what_has_no_answer_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: tuple[str, list[None]]
) -> None:
    text = 'def main(): thrice(lambda: urllib3.PoolManager().request("GET", URL))'
    [found] = audited(HEAD + text, tmp_path)
    url, accepted = closing
    counted(tmp_path, monkeypatch, url.replace("redis", "http"))
    assert len(accepted) == found.tries == 12


def test_the_retries_of_google_have_a_time_and_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
from google.api_core import exceptions, retry
@retry.Retry(predicate=retry.if_exception_type(requests.HTTPError), timeout=0.2, initial=0.01)
def inner(): get()
def main(): thrice(inner)"""
    assert audited(HEAD + text, tmp_path) == []  # its predicate is not known
    with Origin({}, {"/a": repeat(Status(503))}) as origin:
        counted(tmp_path, monkeypatch, origin.url)
        assert len(origin.requests) > 6


def test_an_adapter_without_retries_is_no_layer(tmp_path: Path) -> None:
    text = """
SESSION = requests.Session()
SESSION.mount("http://", requests.adapters.HTTPAdapter(20, 20{more}))
def main(): thrice(lambda: SESSION.get(URL))"""
    assert audited(HEAD + text.format(more=""), tmp_path) == []
    [found] = audited(HEAD + text.format(more=", 4"), tmp_path)
    assert found.tries == 15


def test_unknown_arguments_of_a_request_leave_the_count_of_its_client(tmp_path: Path) -> None:
    text = """
import openai
def main(**more):
    client = openai.OpenAI({given})
    thrice(lambda: client.chat.completions.create(**more))
    thrice(lambda: openai.chat.completions.create(**more))
    thrice(lambda: requests.get("a", **more))"""
    assert [one.tries for one in audited(HEAD + text.format(given=""), tmp_path)] == [9, 9]
    assert len(audited(HEAD + text.format(given="**more"), tmp_path)) == 1
    assert len(audited(HEAD + text.format(given="max_retries=-1"), tmp_path)) == 1
    text = "import litellm\ndef main(**more): thrice(lambda: litellm.completion('m', **more))"
    assert audited(HEAD + text, tmp_path) == []


def test_one_kind_of_what_a_client_gives_up_with_is_tried_again(tmp_path: Path) -> None:
    text = """
import openai
def main():
    for attempt in range(3):
        try:
            return openai.OpenAI().chat.completions.create(model="m")
        except openai.APITimeoutError:
            time.sleep(1)"""
    assert [one.tries for one in audited(HEAD + text, tmp_path)] == [9]


@pytest.mark.parametrize(
    ("spared", "tries"), [("openai.AuthenticationError", [9]), ("openai.OpenAIError", [])]
)
def test_tenacity_but_for_some_exceptions(spared: str, tries: list[int], tmp_path: Path) -> None:
    text = f"""
import openai
@tenacity.retry(
    stop=tenacity.stop_after_attempt(3), retry=tenacity.retry_if_not_exception_type(({spared},))
)
def main():
    return openai.OpenAI().chat.completions.create(model="m")"""
    assert [one.tries for one in audited(HEAD + text, tmp_path)] == tries


@pytest.mark.parametrize(
    ("call", "tries"),
    [
        ("get_object()", [9]),
        ("get_paginator('list_objects').paginate()", [9]),
        ("generate_presigned_url('get_object')", []),  # these ask nobody
        ("get_paginator('list_objects')", []),
    ],
)
def test_calls_of_boto3_that_ask_the_service(call: str, tries: list[int], tmp_path: Path) -> None:
    text = f"""
import boto3
from botocore.config import Config
def main(**more):
    client = boto3.client("s3", config=Config(**more) if more else None)
    thrice(lambda: boto3.client("s3", config=None).{call})
    return thrice(lambda: client.{call})"""
    assert [one.tries for one in audited(HEAD + text, tmp_path)] == tries * 2


@pytest.mark.parametrize(("tries", "flags"), [(2, ()), (3, ("no delay",))])
def test_tenacity_without_a_wait(tries: int, flags: tuple[str, ...], tmp_path: Path) -> None:
    text = f"""
@tenacity.retry(stop=tenacity.stop_after_attempt({tries}))
def inner(): get()
def main(): thrice(inner)"""
    [found] = audited(HEAD + text, tmp_path)
    assert found.layers[1].flags == flags


def test_no_try_at_all_is_no_count(tmp_path: Path) -> None:
    text = """
@tenacity.retry(stop=tenacity.stop_after_attempt(0))
def inner(): get()
def main(): thrice(inner)"""
    [found] = audited(HEAD + text, tmp_path)
    assert found.layers[1].tries is None


def test_each_row_says_where_it_is_measured() -> None:
    root = Path(__file__).parents[2]
    rows = LayerTable(None, []).rows
    assert rows
    for _, row in rows:
        text = (root / row["measured"]).read_text()
        assert row["library"].partition("-")[0] in text


def test_the_log_and_the_page_say_the_same_as_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "known.md").read_text()
    page = page.partition("its own retries by default")[2]
    table = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    for _, row in LayerTable(None, []).rows:
        library = "botocore" if row["library"] == "boto3" else row["library"]
        remedies = {loop.remedy for loop in LOOPS.values() if loop.library == library}
        assert all(row["off"] in one for one in remedies), library
        lines = [one for one in table if library in one[0].strip("| ").split(", ")]
        for _, _, own, *_ in lines[:1]:
            if 1 < row.get("tries", 1) < 10 or library == "redis":
                assert str(row["tries"] - 1) in own, library


STACKS = {
    "an inner layer without an end": (
        """
@backoff.on_exception(backoff.expo, requests.ConnectionError)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def inner(): get()
def main(): thrice(inner)""",
        6,
    ),
    "a mode that is not taken": (
        """
def inner(mode):
    if mode == "direct":
        return get()
    elif mode in ("retried", "patient"):
        return thrice(get)
def middle(mode): return inner(mode)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def main(): middle(mode="direct")""",
        2,
    ),
    "a model that is taken": (
        """
def inner(model):
    if not model.startswith("nut"):
        return get()
    return thrice(get)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def main(): inner("nut-1")""",
        6,
    ),
    "a model that is left early": (
        """
def inner(model):
    if "nut" in model:
        return get()
    return thrice(get)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def main(): inner("nut-1")""",
        2,
    ),
    "a predicate that gives up": (
        """
@backoff.on_exception(backoff.expo, requests.HTTPError, max_tries=3, giveup=lambda _: True)
def inner(): get()
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def main(): inner()""",
        2,
    ),
    "an argument that is not taken": (
        """
def inner(text): thrice(get)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def main(): inner("text", 3)""",
        0,
    ),
    "a coroutine that is returned": (
        """
async def inner(): thrice(get)
def middle():
    for attempt in range(2):
        try:
            return inner()
        except Exception:
            time.sleep(1)
def main(): asyncio.run(middle())""",
        3,
    ),
    "a client in a pair": (
        """
def client():
    session = requests.Session()
    retry = urllib3.Retry(2, status_forcelist=[503])
    session.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
    return session, "nut-1"
def main():
    session, model = client()
    thrice(lambda: session.get(URL))""",
        9,
    ),
}


def test_the_state_of_an_object_decides_nothing_that_is_sure(tmp_path: Path) -> None:
    text = """
class Client:
    def get(self):
        if self.mode.kind == "patient":
            thrice(get)
@tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
def main(): Client().get()"""
    assert audited(HEAD + text, tmp_path) == []
    text = text.replace("self.mode.kind", "URL")
    assert [one.tries for one in audited(HEAD + text, tmp_path)] == [6]


@pytest.mark.parametrize("name", STACKS)
def test_only_what_is_run_is_sure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest sure stack of `main` is what the run counts; one layer is no stack."""
    text, requests = STACKS[name]
    found = [one.tries for one in audited(HEAD + text, tmp_path) if one.way[:1] == ("main",)]
    assert max(found, default=0) == (requests if requests > 3 else 0)
    with Origin({}, {"/a": repeat(Status(503))}) as origin:
        counted(tmp_path, monkeypatch, origin.url)
        assert len(origin.requests) == requests
