"""Readers fetch files from three servers, one of which never answers."""
