"""Measurements as ratios, each taken in one run: `make bench`."""
