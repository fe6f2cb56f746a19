"""Retries in nested layers multiply; one layer with a budget does not."""
