"""One call of each SDK of a web service, without the retries of the SDK itself."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlparse

PROMPT: Any = [{"role": "user", "content": "Where are the acorns?"}]


def ask_azure(url: str) -> Any:
    from azure.core import PipelineClient
    from azure.core.pipeline.policies import RetryPolicy
    from azure.core.rest import HttpRequest

    with PipelineClient(url, retry_policy=RetryPolicy(retry_total=0)) as client:
        client.send_request(HttpRequest("GET", f"{url}/nuts")).raise_for_status()


def ask_azure_blob(url: str) -> Any:
    from azure.storage.blob import BlobClient

    with BlobClient(f"{url}/tree", "hoard", "nut", retry_total=0) as client:
        return client.download_blob().readall()


def ask_clickhouse(url: str) -> Any:
    import clickhouse_connect

    return clickhouse_connect.get_client(host="127.0.0.1", port=urlparse(url).port)


def ask_cohere(url: str) -> Any:
    import cohere

    client = cohere.ClientV2(api_key="sesame", base_url=url)
    return client.chat(model="m", messages=PROMPT, request_options={"max_retries": 0})


def ask_elasticsearch(url: str) -> Any:
    from elasticsearch import Elasticsearch

    with Elasticsearch(url, max_retries=0) as client:
        return client.get(index="nuts", id="1")


def ask_genai(url: str) -> Any:
    from google.genai import Client

    with Client(api_key="sesame", http_options={"base_url": url}) as client:
        return client.models.generate_content(model="m", contents="Where are the acorns?")


def ask_googleapiclient(url: str) -> Any:
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
    with build_from_document(document, http=httplib2.Http()) as service:
        return service.nuts().get().execute()


def ask_huggingface(url: str) -> Any:
    from huggingface_hub import HfApi

    return HfApi(endpoint=url).model_info("nuts/acorn")


def ask_hvac(url: str) -> Any:
    import hvac

    vault = hvac.Client(url=url, token="sesame").secrets.kv.v2  # noqa: S106
    return vault.read_secret_version(path="nuts", raise_on_deleted_version=True)


def ask_influxdb(url: str) -> Any:
    from influxdb_client import InfluxDBClient

    with InfluxDBClient(url, token="sesame", org="nuts", retries=False) as client:  # noqa: S106
        return client.query_api().query("acorns")


def ask_instructor(url: str) -> Any:
    import instructor
    import openai
    from pydantic import BaseModel

    class Nut(BaseModel):
        weight: int

    with openai.OpenAI(base_url=url, api_key="sesame", max_retries=0) as client:
        patient = instructor.from_openai(client)
        return patient.chat.completions.create(
            model="m", response_model=Nut, messages=PROMPT, max_retries=1
        )


def ask_kubernetes(url: str) -> Any:
    from kubernetes import client

    settings = client.Configuration(host=url)
    settings.retries = 0
    with client.ApiClient(settings) as made:
        return client.CoreV1Api(made).list_namespace()


def ask_langchain(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="m", base_url=url, api_key="sesame", max_retries=0).invoke("acorns?")


def ask_litellm(url: str) -> Any:
    import litellm

    litellm.suppress_debug_info = True
    return litellm.completion(
        model="openai/m", messages=PROMPT, api_base=url, api_key="sesame", max_retries=0
    )


def ask_mistral(url: str) -> Any:
    from mistralai.client import Mistral

    with Mistral(api_key="sesame", server_url=url) as client:
        return client.chat.complete(model="m", messages=PROMPT)


def ask_opensearch(url: str) -> Any:
    from opensearchpy import OpenSearch

    with OpenSearch(url, max_retries=0) as client:
        return client.get(index="nuts", id="1")


def ask_s3fs(url: str) -> Any:
    import s3fs

    files = s3fs.S3FileSystem(
        key="sesame",
        secret="opensaysme",  # noqa: S106
        endpoint_url=url,
        client_kwargs={"region_name": "us-east-1"},
        config_kwargs={"retries": {"total_max_attempts": 1}},
        skip_instance_cache=True,
    )
    return files.cat("nuts/acorn")


def ask_slack(url: str) -> Any:
    from slack_sdk import WebClient

    client = WebClient(token="sesame", base_url=f"{url}/", retry_handlers=[])  # noqa: S106
    return client.chat_postMessage(channel="nuts", text="acorns?")


def ask_stripe(url: str) -> Any:
    import stripe

    client = stripe.StripeClient("sesame", base_addresses={"api": url}, max_network_retries=0)
    return client.v1.customers.list()


def ask_twilio(url: str) -> Any:
    from twilio.http.http_client import TwilioHttpClient
    from twilio.rest import Client

    transport = TwilioHttpClient()
    request = transport.request
    transport.request = lambda method, uri, **given: request(
        method, uri.replace("https://api.twilio.com", url), **given
    )
    client = Client("AC", "sesame", http_client=transport)
    return client.messages.create(to="+1", from_="+2", body="acorns?")
