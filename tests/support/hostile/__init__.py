"""Hostile answers of web servers, the servers that give them, and what clients do."""
