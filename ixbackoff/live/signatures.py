"""URLs of S3 for requests that the store library cannot make, with AWS's signature version 4."""

from __future__ import annotations

import hmac
import inspect
import os
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from obstore.store import S3Store

LASTS = timedelta(minutes=5)
SAFE = "-_.~"


class Signer(NamedTuple):
    place: str  # the scheme and the host
    bucket: str  # the path of the bucket
    key: str
    query: Mapping[str, str]  # the parameters of each signed URL: the time, the access key and more
    secret: str

    @property
    def path(self) -> str:
        return self.bucket + quote(self.key, safe=f"{SAFE}/")

    def listing(self) -> str:
        """Return the URL that lists the unfinished uploads whose keys begin with `key`."""
        return self.signed("GET", self.bucket, {"uploads": "", "prefix": self.key})

    def aborting(self, upload: str) -> str:
        """Return the URL that aborts an unfinished upload of `key`, by its identifier."""
        return self.signed("DELETE", self.path, {"uploadId": upload})

    def signed(self, method: str, path: str, parameters: Mapping[str, str]) -> str:
        pairs = sorted({**self.query, **parameters}.items())
        query = "&".join(
            f"{quote(name, safe=SAFE)}={quote(value, safe=SAFE)}" for name, value in pairs
        )
        host = urlsplit(self.place).netloc
        request = f"{method}\n{path}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
        scope = self.query["X-Amz-Credential"].partition("/")[2]
        hashed = sha256(request.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{self.query['X-Amz-Date']}\n{scope}\n{hashed}"
        secret = f"AWS4{self.secret}".encode()
        for word in [*scope.split("/"), text]:
            secret = hmac.digest(secret, word.encode(), "sha256")
        return f"{self.place}{path}?{query}&X-Amz-Signature={secret.hex()}"


async def signer_of(store: S3Store, key: str) -> Signer | None:
    """Return a signer for the bucket of an object; `None` if the secret key is unknown.

    A URL that the store library signs contains everything but the secret key. A key is the right
    one if it produces the same signature.
    """
    import obstore
    from obstore.exceptions import BaseError

    from .threads import from_store

    try:
        url = urlsplit(await from_store(obstore.sign_async(store, "PUT", key, LASTS)))
        secret = await secret_of(store)
    except BaseError:
        return None
    query = dict(parse_qsl(url.query))
    signature = query.pop("X-Amz-Signature", "")
    name = str(store.config.get("bucket", ""))
    inside = url.netloc.startswith(f"{name}.") or not url.path.startswith(f"/{name}/")
    bucket = "/" if inside else f"/{name}/"
    place = f"{url.scheme}://{url.netloc}"
    signer = Signer(place, bucket, unquote(url.path.removeprefix(bucket)), query, secret)
    own = signer.signed("PUT", url.path, {}).rpartition("=")[2]
    return signer if hmac.compare_digest(own, signature) else None


async def secret_of(store: S3Store) -> str:
    """Return the secret key of a store, or an empty string if it was not given."""
    provider = store.credential_provider
    if provider is not None:
        answer = provider()
        credentials = await answer if inspect.isawaitable(answer) else answer
        return credentials["secret_access_key"]
    return str(store.config.get("secret_access_key") or os.environ.get("AWS_SECRET_ACCESS_KEY", ""))
