"""Clients of the web and of databases: how they fail, and how often they are tried."""
