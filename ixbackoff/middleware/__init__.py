"""Middleware of services: they try less if their callers retry, and end when their callers do."""

from .._limits.served_requests import apart
from .grpc_server_interceptor import grpc_server
from .http_middleware import asgi, wsgi

__all__ = ["asgi", "wsgi", "grpc_server", "apart"]

for _public in (asgi, wsgi, grpc_server, apart):
    _public.__module__ = __name__  # as users import it
del _public
