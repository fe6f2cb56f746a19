"""The published experiments, over the public fleet; each has one file."""
