"""Many clients update one row of a database, with every kind of jitter."""
