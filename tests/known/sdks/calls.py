"""One call of each SDK of a web service.

Args of each: `url` of the server; `own`, whether the SDK retries as it does by default; the
`timeout` in seconds.
"""

from __future__ import annotations

from math import ceil
from typing import Any
from urllib.parse import urlparse


def off(own: bool, **settings: Any) -> Any:
    """Return the settings that turn the SDK's own retries off, unless they are wanted."""
    return {} if own else settings


PROMPT: Any = [{"role": "user", "content": "Where are the acorns?"}]


def ask_azure(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from azure.core import PipelineClient
    from azure.core.configuration import Configuration
    from azure.core.pipeline.policies import RetryPolicy
    from azure.core.rest import HttpRequest

    settings: Any = Configuration()
    settings.retry_policy = RetryPolicy(**off(own, retry_total=0))
    with PipelineClient(url, config=settings) as client:
        request = HttpRequest("GET", f"{url}/nuts")
        client.send_request(request, read_timeout=timeout).raise_for_status()


def ask_azure_blob(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from azure.storage.blob import BlobClient

    settings = off(own, retry_total=0) | {"read_timeout": timeout}
    with BlobClient(f"{url}/tree", "hoard", "nut", **settings) as client:
        return client.download_blob().readall()


def ask_clickhouse(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import clickhouse_connect

    settings = off(own, query_retries=0) | {"send_receive_timeout": ceil(timeout)}
    return clickhouse_connect.get_client(host="127.0.0.1", port=urlparse(url).port, **settings)


def ask_cohere(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import cohere

    client = cohere.ClientV2(api_key="sesame", base_url=url, timeout=timeout)
    return client.chat(model="m", messages=PROMPT, request_options=off(own, max_retries=0))


def ask_elasticsearch(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from elasticsearch import Elasticsearch

    with Elasticsearch(url, request_timeout=timeout, **off(own, max_retries=0)) as client:
        return client.get(index="nuts", id="1")


def ask_genai(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from google.genai import Client

    options: Any = {"base_url": url, "timeout": int(timeout * 1000)}
    with Client(api_key="sesame", http_options=options) as client:
        return client.models.generate_content(model="m", contents="Where are the acorns?")


def ask_googleapiclient(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import httplib2
    from googleapiclient.discovery import build_from_document

    method = {"id": "a.nuts.get", "path": "nuts", "httpMethod": "GET", "parameters": {}}
    document = {
        "name": "a",
        "version": "v1",
        "rootUrl": f"{url}/",
        "servicePath": "",
        "baseUrl": f"{url}/",
        "resources": {"nuts": {"methods": {"get": method}}},
    }
    with build_from_document(document, http=httplib2.Http(timeout=timeout)) as service:
        return service.nuts().get().execute()


def ask_huggingface(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from huggingface_hub import HfApi

    return HfApi(endpoint=url).model_info("nuts/acorn", timeout=timeout)


def ask_hvac(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import hvac

    vault = hvac.Client(url=url, token="sesame", timeout=timeout).secrets.kv.v2  # noqa: S106
    return vault.read_secret_version(path="nuts", raise_on_deleted_version=True)


def ask_influxdb(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from influxdb_client import InfluxDBClient

    settings = off(own, retries=False) | {"timeout": int(timeout * 1000)}
    with InfluxDBClient(url, token="sesame", org="nuts", **settings) as client:  # noqa: S106
        return client.query_api().query("acorns")


def ask_instructor(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import instructor
    import openai
    from pydantic import BaseModel

    class Nut(BaseModel):
        weight: int

    settings = off(own, max_retries=0) | {"timeout": timeout}
    with openai.OpenAI(base_url=url, api_key="sesame", **settings) as client:
        patient = instructor.from_openai(client)
        return patient.chat.completions.create(
            model="m", response_model=Nut, messages=PROMPT, **off(own, max_retries=1)
        )


def ask_kubernetes(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from kubernetes import client

    settings = client.Configuration(host=url)
    if not own:
        settings.retries = 0
    with client.ApiClient(settings) as made:
        return client.CoreV1Api(made).list_namespace(_request_timeout=timeout)


def ask_langchain(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from langchain_openai import ChatOpenAI

    settings = off(own, max_retries=0) | {"timeout": timeout}
    return ChatOpenAI(model="m", base_url=url, api_key="sesame", **settings).invoke("acorns?")


def ask_litellm(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import litellm

    litellm.suppress_debug_info = True
    settings = off(own, max_retries=0) | {"timeout": timeout}
    return litellm.completion(
        model="openai/m", messages=PROMPT, api_base=url, api_key="sesame", **settings
    )


def ask_mistral(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from mistralai.client import Mistral

    with Mistral(api_key="sesame", server_url=url, timeout_ms=int(timeout * 1000)) as client:
        return client.chat.complete(model="m", messages=PROMPT)


def ask_opensearch(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from opensearchpy import OpenSearch

    with OpenSearch(url, timeout=timeout, **off(own, max_retries=0)) as client:
        return client.get(index="nuts", id="1")


def ask_s3fs(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import s3fs

    files = s3fs.S3FileSystem(
        key="sesame",
        secret="opensaysme",  # noqa: S106
        endpoint_url=url,
        client_kwargs={"region_name": "us-east-1"},
        config_kwargs=off(own, retries={"total_max_attempts": 1}) | {"read_timeout": timeout},
        skip_instance_cache=True,
    )
    return files.cat("nuts/acorn")


def ask_slack(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from slack_sdk import WebClient

    settings = off(own, retry_handlers=[]) | {"timeout": timeout}
    client = WebClient(token="sesame", base_url=f"{url}/", **settings)  # noqa: S106
    return client.chat_postMessage(channel="nuts", text="acorns?")


def ask_stripe(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    import stripe

    settings = off(own, max_network_retries=0) | {"http_client": stripe.RequestsClient(timeout)}
    client = stripe.StripeClient("sesame", base_addresses={"api": url}, **settings)
    return client.v1.customers.list()


def ask_twilio(url: str, own: bool = False, timeout: float = 20.0) -> Any:
    from twilio.http.http_client import TwilioHttpClient
    from twilio.rest import Client

    transport = TwilioHttpClient(timeout=timeout)
    request = transport.request
    transport.request = lambda method, uri, **given: request(
        method, uri.replace("https://api.twilio.com", url), **given
    )
    client = Client("AC", "sesame", http_client=transport)
    return client.messages.create(to="+1", from_="+2", body="acorns?")
