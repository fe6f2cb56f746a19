"""Durable runs: engines, journals, and workers in processes of their own."""
