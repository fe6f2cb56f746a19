"""`backoff`: retries of plain functions and blocks of code."""
