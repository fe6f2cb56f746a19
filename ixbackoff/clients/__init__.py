"""Retries inside HTTP and gRPC clients, for each request that a client sends."""

from .aiohttp_middleware import middleware
from .grpc_interceptor import interceptor
from .httpx_transport import transport
from .requests_adapter import adapter

__all__ = ["transport", "adapter", "middleware", "interceptor"]

for _public in (transport, adapter, middleware, interceptor):
    _public.__module__ = __name__  # as users import it
del _public
