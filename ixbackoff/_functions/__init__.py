"""`backoff`: programs around plain functions and blocks of code."""
