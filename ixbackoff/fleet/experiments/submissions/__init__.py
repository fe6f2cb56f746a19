"""Submitters of jobs share the file descriptors of one machine."""
