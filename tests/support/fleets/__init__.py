"""Simulated clients, and functions of a seed that are sent to workers."""
