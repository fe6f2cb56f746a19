"""Clients of a service that is down, with circuit breakers and without."""
