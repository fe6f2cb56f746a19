"""Producers write to a disk that gets full, faster than its files are consumed."""
