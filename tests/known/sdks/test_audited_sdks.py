"""What `audit` says of SDKs, and of programs like those of which people reported a product.

Each program is audited, and then run against a server that fails, which counts its requests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbackoff.testing.web import Status

from ...support.audited import audited, closing, counted
from .trying import FailingEverywhere

__all__ = ["closing"]  # a fixture

HEAD = """
import asyncio, os, random, time
import aioboto3, anthropic, boto3, instructor, litellm, openai, tenacity
from botocore.config import Config
from langchain_anthropic import ChatAnthropic
from langchain_aws import ChatBedrockConverse
from langchain_openai import ChatOpenAI
URL = os.environ.get("ORIGIN", "")
def client(**settings):
    return openai.OpenAI(api_key="sesame", base_url=URL, **settings)
TEXT = [{"role": "user", "content": "Where are the acorns?"}]
def ask(of):
    return of.chat.completions.create(model="m", messages=TEXT)
def thrice(function):
    for attempt in range(3):
        try:
            return function()
        except Exception:
            time.sleep(2 ** attempt)
"""
BEDROCK = """
def main():
    keys = {{"aws_access_key_id": "a", "aws_secret_access_key": "a"}}
    one = ChatBedrockConverse(model="m", region_name="a", base_url=URL, **keys{config})
    thrice(lambda: one.invoke("a"))
"""
SDKS: dict[str, tuple[str, int | None]] = {
    "openai": ("def main(): thrice(lambda: ask(openai.OpenAI(api_key='a', base_url=URL)))", 9),
    "openai: max_retries": (
        "def main(): thrice(lambda: ask(openai.OpenAI(api_key='a', base_url=URL, max_retries=1)))",
        6,
    ),
    "openai: with_options": (
        """
def main():
    one = openai.OpenAI(api_key='a', base_url=URL).with_options(max_retries=3)
    thrice(lambda: ask(one))""",
        12,
    ),
    "openai: responses": (
        "def main(): thrice(lambda: openai.OpenAI(api_key='a', base_url=URL)"
        ".responses.create(model='m', input='a'))",
        9,
    ),
    "openai: embeddings": (
        "def main(): thrice(lambda: openai.OpenAI(api_key='a', base_url=URL)"
        ".embeddings.create(model='m', input='a'))",
        9,
    ),
    "openai: its own client": (
        """
def main():
    openai.api_key, openai.base_url = "a", URL
    thrice(lambda: ask(openai))""",
        9,
    ),
    "anthropic": (
        "def main(): thrice(lambda: anthropic.Anthropic(api_key='a', base_url=URL)"
        ".messages.create(model='m', messages=TEXT, max_tokens=9))",
        9,
    ),
    "litellm": (
        "def main(): thrice(lambda: litellm.completion('openai/m', TEXT, api_base=URL,"
        " api_key='a'))",
        9,
    ),
    "litellm: embeddings, whatever max_retries says": (
        "def main(): thrice(lambda: litellm.embedding('openai/m', ['a'], api_base=URL,"
        " api_key='a', max_retries=0))",
        9,
    ),
    "langchain-openai": (
        "def main(): thrice(lambda: ChatOpenAI(model='m', api_key='a', base_url=URL).invoke('a'))",
        9,
    ),
    "langchain-openai: max_retries": (
        "def main(): thrice(lambda: ChatOpenAI(model='m', api_key='a', base_url=URL, max_retries=1)"
        ".invoke('a'))",
        6,
    ),
    "instructor": (
        "def main(): thrice(lambda: instructor.from_openai("
        "openai.OpenAI(api_key='a', base_url=URL)).chat.completions"
        ".create(model='m', messages=TEXT, response_model=None))",
        9,
    ),
    "langchain-anthropic": (
        "def main(): thrice(lambda: ChatAnthropic(model='m', api_key='a', base_url=URL)"
        ".invoke('a'))",
        9,
    ),
    "langchain-anthropic: max_retries": (
        "def main(): thrice(lambda: ChatAnthropic(model='m', api_key='a', base_url=URL,"
        " max_retries=0).invoke('a'))",
        None,
    ),
    "langchain-aws": (
        BEDROCK.format(config=""),
        15,
    ),
    "langchain-aws: a config": (
        BEDROCK.format(config=", config=Config(retries={'total_max_attempts': 2})"),
        6,
    ),
    "aioboto3": (
        """
async def get():
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "a"}
    async with aioboto3.Session(region_name="a", **keys).client("s3", endpoint_url=URL) as s3:
        await s3.get_object(Bucket="nuts", Key="acorn")
def main(): thrice(lambda: asyncio.run(get()))""",
        15,
    ),
    "boto3": (
        """
def main():
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "a"}
    s3 = boto3.Session(region_name="a", **keys).client("s3", endpoint_url=URL)
    thrice(lambda: s3.get_object(Bucket="nuts", Key="acorn"))""",
        15,
    ),
}
REPORTED: dict[str, tuple[str, int | None]] = {
    "a chat with a retry, by two helpers": (
        """
class Provider:
    DELAYS = (1, 2, 4)
    def __init__(self):
        self._client = openai.AsyncOpenAI(api_key="a", base_url=URL)
    async def chat(self):
        return await self._client.chat.completions.create(model="m", messages=TEXT)
    async def _safe(self, *args):
        try:
            return await self.chat()
        except asyncio.CancelledError:
            raise
    async def chat_with_retry(self):
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._safe()
            except openai.APIError:
                if attempt > len(self.DELAYS):
                    raise
                await asyncio.sleep(self.DELAYS[attempt - 1])
def main(): asyncio.run(Provider().chat_with_retry())""",
        12,
    ),
    "a decorator with arguments": (
        """
import functools
def patient(exceptions, scale=None, max_retries=None):
    def decorator(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            attempt = 0
            while True:
                try:
                    return func(*args, **kwargs)
                except tuple(exceptions):
                    attempt += 1
                    if max_retries is not None and attempt >= max_retries:
                        raise
                    time.sleep(random.uniform(0, scale))
        return wrapper
    return decorator
class Embeddings:
    def __init__(self, one: openai.OpenAI):
        self.one = one
    @patient([openai.RateLimitError, openai.InternalServerError], scale=1, max_retries=12)
    def embed(self):
        return self.one.embeddings.create(model="m", input="a")
def main(): Embeddings(client()).embed()""",
        36,
    ),
    "an outer loop that does not catch what the inner one raises": (
        """
class Rejected(Exception): pass
def answered(limit=3):
    for attempt in range(limit):
        try:
            return ask(openai.OpenAI(api_key="a", base_url=URL))
        except openai.APIError:
            if attempt == limit - 1:
                raise
            time.sleep(1)
def main():
    for attempt in range(5):
        try:
            return answered()
        except Rejected:
            continue""",
        9,
    ),
    "a function that is given to a helper": (
        """
def call_with_retry(function, retries=1):
    last = None
    for attempt in range(retries + 1):
        try:
            return function()
        except openai.OpenAIError as error:
            last = error
            if attempt < retries:
                time.sleep(1.0 * (attempt + 1))
    raise last
def first():
    return ask(openai.OpenAI(api_key="a", base_url=URL))
def main():
    return call_with_retry(lambda: call_with_retry(first))""",
        12,
    ),
    "tenacity around an SDK": (
        """
@tenacity.retry(
    wait=tenacity.wait_random_exponential(min=1, max=60), stop=tenacity.stop_after_attempt(6)
)
def embedded():
    return ask(openai.OpenAI(api_key="a", base_url=URL))
def main(): embedded()""",
        18,
    ),
    "tenacity around a patched client": (
        """
CLIENT = instructor.from_openai(openai.AsyncOpenAI(api_key="a", base_url=URL))
@tenacity.retry(stop=tenacity.stop_after_attempt(3), reraise=True)
async def sitemap():
    return await CLIENT.chat.completions.create(model="m", messages=TEXT, response_model=None)
def main(): asyncio.run(sitemap())""",
        9,
    ),
    "a client whose own retries are off": (
        """
class Author:
    def __init__(self): self.one = client(max_retries=0)
    def write(self): return thrice(lambda: ask(self.one))
def main(): Author().write()""",
        None,
    ),
    "two decorators": (
        """
RUNS = 2
INNER = 1
def retried(times):
    stop = tenacity.stop_after_attempt(times + 1)
    return tenacity.retry(stop=stop, wait=tenacity.wait_fixed(1), reraise=True)
@retried(INNER)
def execute():
    return ask(openai.OpenAI(api_key="a", base_url=URL, max_retries=0))
@retried(RUNS)
def run():
    return execute()
def main(): run()""",
        6,
    ),
    "three layers": (
        """
async def one(of):
    return await of.chat.completions.create(model="m", messages=TEXT)
async def streamed(of, max_retries=5):
    for attempt in range(max_retries + 1):
        try:
            return await one(of)
        except Exception as error:
            if attempt == max_retries:
                raise
            await asyncio.sleep(min(2 ** attempt, 10))
async def agent():
    of = openai.AsyncOpenAI(api_key="a", base_url=URL)
    for attempt in range(3):
        try:
            return await asyncio.wait_for(streamed(of), 60)
        except Exception:
            await asyncio.sleep(1)
def main(): asyncio.run(agent())""",
        54,
    ),
    "a lazy module": (
        """
import importlib
def lazy(): return importlib.import_module("litellm")
def main(): thrice(lambda: lazy().completion("openai/m", TEXT, api_base=URL, api_key="a"))""",
        9,
    ),
}
UNSEEN = {
    "a module by a name that is computed": (
        """
import importlib
def lazy(name): return importlib.import_module(name.lower())
def main():
    of = lazy("LITELLM")
    thrice(lambda: of.completion("openai/m", TEXT, api_base=URL, api_key="a"))""",
        9,
    ),
    "a method that is set later": (
        """
class Client:
    def ask(self): return ask(openai.OpenAI(api_key="a", base_url=URL))
plain = Client.ask
setattr(Client, "ask", lambda self: thrice(lambda: plain(self)))
def main(): Client().ask()""",
        9,
    ),
}


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.mark.parametrize("name", [*SDKS, *REPORTED])
def test_the_product_is_the_number_of_requests(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, requests = {**SDKS, **REPORTED}[name]
    found = audited(HEAD + text, tmp_path)
    assert [(one.tries, one.unknown) for one in found] == ([(requests, 0)] if requests else [])
    assert requests_of(tmp_path, monkeypatch) == (requests or 3)  # no stack: the loop alone


@pytest.mark.parametrize("name", UNSEEN)
def test_what_is_not_seen_is_not_counted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says that these are not seen."""
    text, requests = UNSEEN[name]
    assert audited(HEAD + text, tmp_path) == []
    assert requests_of(tmp_path, monkeypatch) == requests


def requests_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    with FailingEverywhere(Status(503, body=b"{}")) as origin:
        counted(folder, monkeypatch, origin.url)
        return len(origin.requests)


@pytest.mark.parametrize(("retry", "connections"), [("", 16), (", retry=None", None)])
def test_redis_before_8(
    retry: str,
    connections: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    closing: tuple[str, list[None]],
) -> None:
    text = f"""
import os, urllib.parse
import redis
from ixbackoff import N3, backoff
HOST = urllib.parse.urlparse(os.environ.get("ORIGIN", ""))
@backoff(N3)
def main():
    redis.Redis(HOST.hostname, HOST.port{retry}).ping()"""
    found = audited(text, tmp_path)
    assert [one.tries for one in found] == ([connections] if connections else [])
    url, accepted = closing
    counted(tmp_path, monkeypatch, url)
    assert len(accepted) == (connections or 4)
